import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns a port that nothing uses. */
export async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
