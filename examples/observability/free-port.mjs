import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns a port that nothing uses, below those that a system hands out by itself, so that no other connection takes it first. */
export async function freePort() {
  for (;;) {
    const server = createServer().listen(randomInt(10_000, 32_768), '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      continue;
    }
    const { port } = server.address();
    server.close();
    await once(server, 'close');
    return port;
  }
}
