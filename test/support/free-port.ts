import { createServer } from 'node:net';

/** The next port to try, different in each process. */
let nextPort = 10_000 + (process.pid % 200) * 100;

/**
 * Returns a port that nothing uses. It is below those that the system gives to connections and to servers without a port, so that none
 * of them takes it before the caller does.
 */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = nextPort++;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, host, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
