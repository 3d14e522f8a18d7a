import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { HttpClient, type HttpResponse } from '../../src/transport/rest/http-client';
import type { Result } from '../../src/util/result';
import type { StreamStatus } from '../../src/xds-client/transport';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const MAX_MESSAGE_BYTES = 1_000_000;

describe('a REST server that speaks HTTP in hostile ways', () => {
  let server: Server;
  let client: HttpClient;
  let clock: FakeClock;
  const sockets = new Set<Socket>();

  afterEach(async () => {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  /**
   * Serves on loopback. No deadline passes unless the test advances the clock.
   * @param answer Called for each request, which is smaller than a packet.
   */
  async function serve(answer: (socket: Socket) => void): Promise<URL> {
    clock = new FakeClock();
    client = new HttpClient({
      clock,
      timeoutMs: 10_000,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      certificates: undefined,
    });
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      socket.on('data', () => answer(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // A TCP server that listens has an address of this kind.
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }

  const post = (url: URL) =>
    new Promise<Result<HttpResponse, StreamStatus>>((resolve) => {
      client.post({ url, headers: {}, body: '{}' }, resolve);
    });

  const untilClosed = () =>
    eventually(
      () => sockets.size,
      (count) => count === 0,
    );

  /** Writes the same text until the connection is closed, as fast as the client reads. */
  const repeat = (socket: Socket, text: string): void => {
    const block = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)));
    const next = (): void => {
      if (!socket.destroyed) socket.write(block, () => setImmediate(next));
    };
    next();
  };

  it('sends 200,000 chunks of one byte: all of them are the body', async () => {
    const url = await serve((socket) =>
      socket.write(`${CHUNKED}${'1\r\nx\r\n'.repeat(200_000)}0\r\n\r\n`),
    );
    const answer = await post(url);
    expect(answer).toMatchObject({ ok: true, value: { status: 200 } });
    expect(answer.ok && answer.value.body === 'x'.repeat(200_000)).toBe(true);
  });

  it.each<[string, string, string, number, string]>([
    ['chunks of one byte', CHUNKED, '1\r\nx\r\n', 8, 'an answer in more than 250000 chunks'],
    [
      'chunks of one byte with extensions',
      CHUNKED,
      '1;a=b\r\nx\r\n',
      8,
      'an answer in more than 250000 chunks',
    ],
    ['headers', OK, 'a: b\r\n', 8, 'an answer with headers of more than 16384 bytes'],
    ['a header', `${OK}a: `, 'b', 8, 'an answer with headers of more than 16384 bytes'],
    ['a status line', 'HTTP/1.1 200 ', 'b', 8, 'an answer with headers of more than 16384 bytes'],
    [
      'trailers',
      `${CHUNKED}1\r\nx\r\n0\r\n`,
      'a: b\r\n',
      8,
      'an answer with headers of more than 16384 bytes',
    ],
    ['an extension of a chunk', `${CHUNKED}1;`, 'a', 14, 'Parse Error: Chunk extensions overflow'],
    [
      'interim responses',
      '',
      'HTTP/1.1 103 Early Hints\r\n\r\n',
      8,
      'more than 100 interim responses',
    ],
    [
      'permissions to continue',
      '',
      'HTTP/1.1 100 Continue\r\n\r\n',
      8,
      'more than 100 interim responses',
    ],
    ['a body', `${OK}\r\n`, 'x', 8, 'an answer of more than 1000000 bytes (maxMessageBytes)'],
  ])('sends %s without end: that ends the request', async (_, head, repeated, code, details) => {
    const url = await serve((socket) => {
      socket.write(head);
      repeat(socket, repeated);
    });
    expect(await post(url)).toMatchObject({
      ok: false,
      error: { code, details: expect.stringContaining(details) },
    });
    await untilClosed();
  });

  it.each<[string, string, string]>([
    ['no byte', '', 'socket hang up'],
    ['a body that ends early', 'content-length: 9\r\n\r\nx', 'closed within the answer'],
    ['a chunk that ends early', 'transfer-encoding: chunked\r\n\r\n9\r\nx', 'closed within'],
    ['two lengths', 'content-length: 1\r\ncontent-length: 2\r\n\r\nxx', 'Content-Length'],
    ['a negative length', 'content-length: -1\r\n\r\nx', 'Content-Length'],
    ['a length of no number', 'content-length: 1e9\r\n\r\nx', 'Content-Length'],
    ['a length of 23 digits', `content-length: ${'9'.repeat(23)}\r\n\r\nx`, 'Content-Length'],
    [
      'a length and chunks',
      'content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
      'Transfer-Encoding',
    ],
    [
      'a chunk of 20 digits',
      `transfer-encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\n`,
      'Chunk size',
    ],
  ])('sends %s: that ends the request', async (_, text, details) => {
    const url = await serve((socket) => socket.end(text === '' ? text : `${OK}${text}`));
    expect(await post(url)).toMatchObject({
      ok: false,
      error: { code: 14, details: expect.stringContaining(details) },
    });
  });

  it('changes to another protocol: that ends the request and the connection', async () => {
    const url = await serve((socket) =>
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nab',
      ),
    );
    expect(await post(url)).toMatchObject({
      ok: false,
      error: { code: 14, details: expect.stringContaining('HTTP status 101') },
    });
    await untilClosed();
  });

  it.each<[string, string, string]>([
    ['the status line', '', 'HTTP/1.1 200 OK'],
    ['the headers', OK, 'a: 3456789'],
    ['the body', `${OK}content-length: 1000\r\n\r\n`, '0123456789'],
    ['the trailers', `${CHUNKED}0\r\n`, 'a: 3456789'],
  ])('sends %s byte by byte: the deadline counts from the request', async (_, head, bytes) => {
    const requested = new Promise<Socket>((resolve) => {
      void serve(resolve).then((url) => (answer = post(url)));
    });
    let answer: ReturnType<typeof post> | undefined;
    const socket = await requested;
    socket.write(head);
    for (const byte of bytes.slice(0, 9)) {
      clock.advance(1000);
      socket.write(byte);
      // A turn of the event loop sends it, and one reads it.
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1000);
    expect(await answer).toMatchObject({ error: { code: 14, details: 'no answer within 10 s' } });
    await untilClosed();
  });

  it.each(['content-length: 6\r\n\r\nFORGED', 'content-length: 1\r\n\r\nFORGED'])(
    'sends two answers (%j): the second is none, and the connection is closed',
    async (second) => {
      const url = await serve((socket) =>
        socket.write(`${OK}content-length: 1\r\n\r\nx${OK}${second}`),
      );
      for (let count = 0; count < 3; count++) {
        const answer = await post(url);
        expect(answer.ok ? answer.value.body : answer.error.code).toBe(answer.ok ? 'x' : 14);
        await untilClosed();
      }
    },
  );

  it('keeps no connection of a failed request, and one of requests that follow each other', async () => {
    let accepted = 0;
    const bad = await serve((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n'),
    );
    for (let count = 0; count < 20; count++) expect((await post(bad)).ok).toBe(false);
    await untilClosed();
    server.removeAllListeners('connection').on('connection', (socket) => {
      accepted++;
      sockets.add(socket);
      socket.on('data', () => socket.write(`${OK}content-length: 1\r\n\r\nx`));
    });
    for (let count = 0; count < 20; count++) expect((await post(bad)).ok).toBe(true);
    expect(accepted).toBe(1);
  });
});
