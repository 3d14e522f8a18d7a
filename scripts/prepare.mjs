// What `npm install` and `npm ci` run at the end: builds dist/ with its types, so that an install from git is complete, and
// makes git check commit messages in a clone.
import { spawnSync } from 'node:child_process';

spawnSync('git', ['config', 'core.hooksPath', '.githooks'], { stdio: 'ignore' });
const { status } = spawnSync(process.execPath, ['scripts/ensure-built.mjs', 'types'], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
