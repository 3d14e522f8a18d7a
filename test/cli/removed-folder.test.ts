import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Built: a hook for TypeScript needs a folder. */
const main = join(__dirname, '../../packages/cli/dist/main.js');

describe('grpc-xds in a folder that was removed', () => {
  /** Runs the command line from a folder that is removed first. */
  const run = (...args: readonly string[]) => {
    const cwd = mkdtempSync(join(tmpdir(), 'removed-'));
    const script = 'rmdir "$PWD" && exec "$@"';
    const command = [process.execPath, main, ...args];
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', ...command], {
      cwd,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    });
    return { status, stdout, stderr };
  };

  it('does what needs no folder', () => {
    expect(run('--version')).toMatchObject({ status: 0, stderr: '' });
  });

  it.each(['migrate', 'doctor'])('ends %s with a line that says what is wrong', (command) => {
    const stderr = 'the current folder has been removed: change to another one\n';
    expect(run(command)).toEqual({ status: 2, stdout: '', stderr });
  });
});
