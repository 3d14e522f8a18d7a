import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  preparePrivateFolder,
  removeStaleSockets,
  threadSocketPath,
} from '../../../packages/relay/src/share/private-folder';
import { leaveSocket } from '../leave-socket';

it('removes the sockets of processes that were killed from the folder of threads, and nothing else', async () => {
  const before = process.env['TMPDIR'];
  const temporary = mkdtempSync(join(tmpdir(), 'sweep-'));
  process.env['TMPDIR'] = temporary;
  try {
    preparePrivateFolder();
    const folder = dirname(threadSocketPath());
    const at = (name: string) => join(folder, name);
    for (const name of ['1-1.sock', '4194303-1.sock-0123abcd', '.0123abcd', 'other.sock']) {
      leaveSocket(at(name));
    }
    leaveSocket(threadSocketPath());
    writeFileSync(at('2-1.sock'), '');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at('3-1.sock'), resolve));
    await removeStaleSockets();
    const own = threadSocketPath().slice(folder.length + 1);
    expect(readdirSync(folder).sort()).toEqual(['2-1.sock', '3-1.sock', own, 'other.sock'].sort());
    server.close();
  } finally {
    rmSync(temporary, { recursive: true });
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
});
