import { once } from 'node:events';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Metadata, type Client } from '@grpc/grpc-js';
import { echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { slowCurveChain } from '../support/der-certificate';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { routerFilter } from '../support/xds-json';
import {
  callServer,
  clientTls,
  inlineRoutes,
  openStream,
  rbacFilter,
  serverChain,
  strictTls,
  useServerWorld,
} from '../support/xds-server-world';
import { FastClock } from '../support/fast-clock';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const identity = root.sign('server', { names: ['IP:127.0.0.1'] });
const web = root.sign('web', { names: ['URI:spiffe://td/web'] });
const stranger = certificates.authority('other').sign('web');

const world = useServerWorld();
let sockets: (Socket | ClientHttp2Session)[];

beforeEach(() => {
  sockets = [];
  world.useCertificates(identity, root);
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
});

afterAll(() => certificates.close());

async function serve(chain = serverChain(), options = {}): Promise<void> {
  world.serve([world.listener([chain])]);
  await world.bind(world.server(options));
}

const goodCredentials = () => clientTls(root, web);

/** Does something hostile, while another client calls, one call after the other. @returns how those calls ended. */
async function callMeanwhile(client: Client, attack: () => Promise<unknown>): Promise<string[]> {
  const statuses = new Set<string>();
  let isOver = false;
  const calls = (async () => {
    while (!isOver) statuses.add(await callServer(client));
    statuses.add(await callServer(client));
  })();
  try {
    await attack();
  } finally {
    isOver = true;
    await calls;
  }
  return [...statuses];
}

/** Opens a connection, of which nothing more is expected. */
async function open(): Promise<Socket> {
  const socket = connectSocket(world.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function session(): ClientHttp2Session {
  const opened = connectHttp2(`http://127.0.0.1:${world.port}`);
  sockets.push(opened);
  opened.on('error', () => undefined);
  return opened;
}

/** Begins a call on a session, without its message. */
function begin(on: ClientHttp2Session, headers: Record<string, string | readonly string[]> = {}) {
  const stream = on.request({
    ':method': 'POST',
    ':path': echoMethod.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  stream.on('error', () => undefined);
  return stream;
}

describe('connections', () => {
  it('are accepted beside 200 whose handshake does not go on', async () => {
    await serve(serverChain(inlineRoutes(), strictTls()));
    const client = world.client(goodCredentials());
    // The beginning of a ClientHello of 512 bytes.
    const hello = Buffer.from('160301020001000001fc0303', 'hex');
    const statuses = await callMeanwhile(client, async () => {
      for (let i = 0; i < 200; i++) (await open()).write(hello);
    });
    expect(statuses).toEqual(['OK']);
    expect(await callServer(world.client(goodCredentials()))).toBe('OK');
  });

  it('are accepted beside 200 that open and close, and 200 that send nothing', async () => {
    await serve();
    const statuses = await callMeanwhile(world.client(), async () => {
      for (let i = 0; i < 200; i++) (await open()).destroy();
      for (let i = 0; i < 200; i++) await open();
    });
    expect(statuses).toEqual(['OK']);
    expect(await callServer(world.client())).toBe('OK');
  });

  it('with a certificate of 10,000 names are closed, and do not disturb the others', async () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `DNS:${i.toString(36)}`);
    const hostile = root.sign('many', { names });
    await serve(serverChain(inlineRoutes(), strictTls()));
    const statuses = await callMeanwhile(world.client(goodCredentials()), async () => {
      for (let i = 0; i < 3; i++) {
        const socket = connectTls({
          host: '127.0.0.1',
          port: world.port,
          ALPNProtocols: ['h2'],
          ca: root.certificate,
          cert: hostile.certificateChain,
          key: hostile.privateKey,
        });
        sockets.push(socket);
        let bytes = 0;
        socket.on('error', () => undefined).on('data', (data: Buffer) => (bytes += data.length));
        await once(socket, 'close');
        expect(bytes).toBe(0);
      }
    });
    expect(statuses).toEqual(['OK']);
  });

  it('wait after a handshake of their address that blocked the process, and those of others do not', async () => {
    await serve(serverChain(inlineRoutes(), strictTls()));
    const dial = (localAddress: string, own: TestCertificate, chain = '') => {
      // Its type lacks the address, which it hands on to `net.connect()`.
      const options = {
        host: '127.0.0.1',
        port: world.port,
        localAddress,
        ALPNProtocols: ['h2'],
        ca: root.certificate,
        key: own.privateKey,
        cert: own.certificateChain + chain,
      };
      const socket = connectTls(options);
      sockets.push(socket);
      return socket.on('error', () => undefined);
    };
    const [attacked, other] = ['127.0.0.2', '127.0.0.1'];
    await once(dial(attacked, stranger, slowCurveChain(4)), 'close');
    // The rest of the time that the attack has cost passes faster.
    const clock = new FastClock(5);
    const secured: string[] = [];
    dial(attacked, web).once('secureConnect', () => secured.push(attacked));
    for (let i = 0; i < 3; i++) await once(dial(other, web), 'secureConnect');
    expect(secured).toEqual([]);
    await eventually(() => secured, [attacked], 35_000);
    clock.stop();
  });

  it('that ignore a GOAWAY are closed after the grace time', async () => {
    await serve(serverChain(inlineRoutes(), { name: 'one' }), { drainGraceTimeMs: 50 });
    // A connection without a call is given some seconds for its first one.
    const clock = new FastClock(10);
    const socket = await open();
    const closed = once(socket, 'close');
    const isServed = once(socket, 'data');
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
    await isServed;
    const stream = openStream(world.client());
    stream.on('error', () => undefined);
    await new Promise((resolve) => {
      stream.once('data', resolve);
      stream.write(Buffer.from('x'));
    });
    const streamEnded = new Promise((resolve) => stream.once('status', resolve));
    world.serve([world.listener([serverChain(inlineRoutes(), { name: 'two' })])]);
    socket.resume();
    await Promise.all([closed, streamEnded]);
    clock.stop();
    expect(await callServer(world.client())).toBe('OK');
  });
});

describe('calls', () => {
  it('go on beside 3,000 that are reset as they begin', async () => {
    await serve();
    let isClosedByServer = false;
    const statuses = await callMeanwhile(world.client(), async () => {
      for (let round = 0; round < 3 && !isClosedByServer; round++) {
        const hostile = session();
        await once(hostile, 'remoteSettings');
        hostile.once('goaway', () => (isClosedByServer = true));
        for (let i = 0; i < 1000 && !hostile.destroyed; i++) {
          begin(hostile).close(constants.NGHTTP2_CANCEL);
          if (i % 100 === 99) await new Promise(setImmediate);
        }
      }
    });
    expect(statuses).toEqual(['OK']);
  });

  it('go on beside 500 of one connection that never end, which end with it', async () => {
    await serve();
    const hostile = session();
    await once(hostile, 'remoteSettings');
    const streams: { readonly closed: boolean }[] = [];
    const statuses = await callMeanwhile(world.client(), async () => {
      for (let i = 0; i < 500; i++) {
        streams.push(begin(hostile));
        if (i % 100 === 99) await new Promise(setImmediate);
      }
    });
    expect(statuses).toEqual(['OK']);
    hostile.destroy();
    await eventually(() => streams.every(({ closed }) => closed), true);
    expect(await callServer(world.client())).toBe('OK');
  });

  it('go on beside those of a client that does not read', async () => {
    await serve();
    const hostile = openStream(world.client());
    hostile.on('error', () => undefined);
    const chunk = Buffer.alloc(65_536, 1);
    const statuses = await callMeanwhile(world.client(), async () => {
      for (let i = 0; i < 100; i++) {
        hostile.write(chunk);
        await new Promise(setImmediate);
      }
    });
    expect(statuses).toEqual(['OK']);
    hostile.cancel();
  });

  it('whose headers are at their limits are judged', async () => {
    const permission = { header: { name: 'x-text', string_match: { contains: 'needle' } } };
    const filters = [rbacFilter('DENY', [permission]), routerFilter];
    await serve(serverChain({ ...inlineRoutes(), http_filters: filters }));
    const calling = (text: string) => {
      const metadata = new Metadata();
      metadata.set('x-text', text);
      for (let i = 0; i < 50; i++) metadata.set(`x-${i}`, 'v');
      return callServer(world.client(), { metadata });
    };
    const long = 'x'.repeat(6000);
    const statuses = await callMeanwhile(world.client(), async () => {
      for (let i = 0; i < 5; i++) {
        expect(await calling(long)).toBe('OK');
        expect(await calling(`${long}needle`)).toMatch(/^PERMISSION_DENIED/);
      }
      // More than the host accepts: refused by it, before the filters.
      expect(await calling('x'.repeat(200_000))).not.toBe('OK');
    });
    expect(statuses).toEqual(['OK']);
  });
});
