// What cannot be written: the process says so on its standard error, and does not end as if nothing had been found.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

const MAIN = [
  '--require',
  join(__dirname, '../support/run-typescript.cjs'),
  join(__dirname, '../../packages/cli/src/main.ts'),
];
const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

describeOnLinux('a command', () => {
  it.each([[['--help']], [['doctor']]])(
    'ends with 2 if the output of %j does not fit on the disk',
    (args) => {
      const full = openSync('/dev/full', 'w');
      const run = spawnSync(process.execPath, [...MAIN, ...args], {
        stdio: ['ignore', full, 'pipe'],
        encoding: 'utf8',
      });
      closeSync(full);
      expect(run.stderr).toBe(
        'the output cannot be written: ENOSPC: no space left on device, write\n',
      );
      expect(run.status).toBe(2);
    },
  );

  it('does not end with 0 if its reader has gone before it has a result', async () => {
    const child = spawn(process.execPath, [...MAIN, 'doctor'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    const [code] = await once(child, 'exit');
    expect(code).toBeGreaterThan(0);
  });

  it('ends with its exit code if nothing can be written at all', () => {
    const full = openSync('/dev/full', 'w');
    const run = spawnSync(process.execPath, [...MAIN, 'check', '/none'], {
      stdio: ['ignore', full, full],
    });
    closeSync(full);
    expect(run.status).toBe(2);
  });

  it('has no warning of Node.js on its standard error', () => {
    const run = spawnSync(process.execPath, [...MAIN, 'check', '/none'], {
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '1' },
      encoding: 'utf8',
    });
    expect(run.stderr).toBe(
      "/none: cannot be read: ENOENT: no such file or directory, open '/none'\n",
    );
  });
});
