// Several test files in one process of Vitest: with their own module instances, and sharing those of packages.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const vitest = join(
  dirname(createRequire(import.meta.url).resolve('vitest/package.json')),
  'vitest.mjs',
);
const cwd = dirname(fileURLToPath(import.meta.url));
for (const isolation of ['--isolate', '--no-isolate']) {
  const args = [vitest, 'run', '--pool=forks', '--maxWorkers=1', isolation, '--no-color'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: 'utf8',
    timeout: 120_000,
  });
  console.log(isolation, stdout, stderr);
  if (status !== 0 || !/Tests +3 passed/.test(stdout)) process.exitCode = 1;
}
