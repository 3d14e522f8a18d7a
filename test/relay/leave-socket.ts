import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

/** Leaves a socket at a path, as a process that is killed does. */
export function leaveSocket(path: string): void {
  const code = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', code]);
  expect(statSync(path).isSocket()).toBe(true);
}
