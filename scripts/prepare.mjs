// What `npm install` and `npm ci` run at the end: builds dist/ with its types, so that an install from git is complete, and
// makes git check commit messages in a clone. npm runs it twice: the package is linked into its own node_modules, and what is linked is
// prepared, too, before npm has noted what it has installed.
import { spawnSync } from 'node:child_process';

spawnSync('git', ['config', 'core.hooksPath', '.githooks'], { stdio: 'ignore' });
const { status } = spawnSync(process.execPath, ['scripts/ensure-built.mjs', 'types'], {
  stdio: 'inherit',
  env: { ...process.env, GRPC_XDS_INSTALLING: 'true' },
});
process.exitCode = status ?? 1;
