// CONNECT through a proxy (gRFC A86), with real sockets on both sides.

import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { credentials } from '../../../src/grpc-js';
import { HttpConnectConnector } from '../../../src/security/client/http-connect';
import { FakeClock } from '../../support/fake-clock';
import { eventually } from '../../support/eventually';
import { listen } from '../../support/listen';

const TARGET = '[2001:db8::1]:443';

const target = { scheme: 'xds', path: 'a' };
const plain = () => credentials.createInsecure()._createSecureConnector(target, {});

describe('CONNECT through a proxy', () => {
  let clock: FakeClock;
  let server: Server;
  const sockets: Socket[] = [];

  beforeEach(() => {
    clock = new FakeClock();
  });
  afterEach(() => {
    server.close();
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Connects to a proxy. @param answer Called with the connection to the client and each thing it sends. */
  async function open(answer: (socket: Socket, request: string) => void) {
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => {});
      socket.on('data', (data) => answer(socket, data.toString('latin1')));
    });
    await listen(server);
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    return { socket, outcome: new HttpConnectConnector(plain(), TARGET, clock).connect(socket) };
  }

  const answering = (text: string) =>
    open((socket) => {
      socket.write(text, 'latin1');
    });

  it('asks for the address of the endpoint, with brackets', async () => {
    let request = '';
    const { socket, outcome } = await open((proxy, text) => {
      request += text;
      proxy.write('HTTP/1.1 200 Connection established\r\n\r\n');
    });
    expect(await outcome).toEqual({ socket, secure: false });
    expect(request).toBe(`CONNECT ${TARGET} HTTP/1.1\r\nHost: ${TARGET}\r\n\r\n`);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([200, 204, 299])('takes %d for a connection', async (status) => {
    const { outcome } = await answering(`HTTP/1.0 ${status} x\r\nA: b\r\n\r\n`);
    expect((await outcome).secure).toBe(false);
  });

  it('takes an answer in pieces', async () => {
    const pieces = ['HT', 'TP/1.1 2', '00\r\nA: b\r', '\n\r', '\n'];
    const { outcome } = await open((socket) => {
      const next = () => {
        const piece = pieces.shift();
        if (piece !== undefined) socket.write(piece, () => setImmediate(next));
      };
      next();
    });
    expect((await outcome).secure).toBe(false);
    expect(pieces).toEqual([]);
  });

  it('keeps the bytes after the answer, and those that follow', async () => {
    let proxy: Socket | undefined;
    const { socket, outcome } = await open((connection) => {
      proxy = connection;
      connection.write('HTTP/1.1 200 OK\r\n\r\nfirst');
    });
    await outcome;
    let received = '';
    socket.on('data', (data: Buffer) => (received += data.toString('latin1')));
    proxy?.write(' second');
    await eventually(() => received, 'first second');
  });

  it.each<[string, string, string]>([
    ['403', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'the proxy answered with status 403'],
    ['407', 'HTTP/1.1 407 x\r\nA: b\r\n\r\nbody', 'the proxy answered with status 407'],
    [
      'a redirection',
      'HTTP/1.1 302 x\r\nLocation: /\r\n\r\n',
      'the proxy answered with status 302',
    ],
    ['an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n', 'the proxy answered with status 100'],
    ['garbage', '\x00\x01\x02', 'the answer is not HTTP/1.1'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\n', 'the answer is not HTTP/1.1'],
    ['a status line without status', 'HTTP/1.1 OK\r\n\r\n', 'the answer is not HTTP/1.1'],
    ['a status of four digits', 'HTTP/1.1 2000 x\r\n\r\n', 'the answer is not HTTP/1.1'],
    [
      'headers without an end',
      `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(17_000)}`,
      'the answer is longer than 16384 bytes',
    ],
    [
      'headers that are too long',
      `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(16_400)}\r\n\r\n`,
      'the answer is longer than 16384 bytes',
    ],
  ])('fails with %s, and closes the connection', async (_case, answer, reason) => {
    const { socket, outcome } = await answering(answer);
    await expect(outcome).rejects.toThrow(
      new RegExp(`^HTTP proxy 127\\.0\\.0\\.1:\\d+: ${reason}`),
    );
    expect(socket.destroyed).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('fails if the proxy closes the connection without an answer', async () => {
    const { outcome } = await open((socket) => void socket.end());
    await expect(outcome).rejects.toThrow('the proxy closed the connection before it answered');
  });

  it('fails if the connection is reset', async () => {
    const { outcome } = await open((socket) => void socket.resetAndDestroy());
    await expect(outcome).rejects.toThrow(/^HTTP proxy 127\.0\.0\.1:\d+: read ECONNRESET/);
  });

  it('fails after 20 s without a whole answer', async () => {
    let isAsked = false;
    const { socket, outcome } = await open((proxy) => {
      isAsked = true;
      proxy.write('HTTP/1.1 200 OK\r\n');
    });
    const failure = expect(outcome).rejects.toThrow(
      /^HTTP proxy 127\.0\.0\.1:\d+: no answer within 20 s/,
    );
    await eventually(() => isAsked, true);
    clock.advance(19_999);
    expect(socket.destroyed).toBe(false);
    clock.advance(1);
    await failure;
    expect(socket.destroyed).toBe(true);
  });
});
