// Several test files in one process of Jest, which ends by itself: open handles would keep it.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const jest = join(
  dirname(createRequire(import.meta.url).resolve('jest/package.json')),
  'bin',
  'jest.js',
);
const args = [jest, '--runInBand', '--config', '{"testMatch":["**/*.test.cjs"]}'];
const cwd = dirname(fileURLToPath(import.meta.url));
const { status, stderr } = spawnSync(process.execPath, args, {
  cwd,
  encoding: 'utf8',
  timeout: 120_000,
});
console.log(stderr);
process.exitCode = status === 0 && /Tests: +3 passed/.test(stderr) ? 0 : 1;
