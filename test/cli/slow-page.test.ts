import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeIo } from './fake-io';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

describe.each([
  ['stops in the middle', '{"schema": 1,'],
  ['does not begin', undefined],
])('a page whose answer %s', (_case, begun) => {
  let server: Server;
  let url: string;
  let collecting: NodeJS.Timeout | undefined;
  let hasCollected = false;
  beforeEach(async () => {
    server = createServer((_request, response) => {
      if (begun !== undefined) response.writeHead(200).write(begun);
      // What nothing holds is gone while the first command waits; all read the page in the same way.
      if (!hasCollected) collecting = setTimeout(collect, 50);
      hasCollected = true;
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/#token=t`;
  });
  afterEach(() => {
    clearTimeout(collecting);
    server.closeAllConnections();
    server.close();
  });

  it.each<readonly [string, ...(readonly string[])]>([
    ['dump', '--page'],
    ['watch', '--once', '--page'],
    ['graph', 'xds:///a', '--page'],
    ['explain', 'xds:///a', 'a.B/C', '--page'],
  ])('is given up after the timeout: %s', async (name, ...args) => {
    const io = new FakeIo();
    expect(await io.run(name, '--timeout', '0.3', ...args, url)).toBe(3);
    expect([...io.errors, ...io.out].join('\n')).toContain('no whole answer within 0.3 s');
  });
});
