import { mkdtempSync, rmSync } from 'node:fs';
import { constants } from 'node:http2';
import type { NetConnectOpts } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import { RawAdsServer } from '../../packages/cli/src/record/recorder';
import { ControlPlane } from '../../src/control-plane';
import { Relay } from '../../packages/relay/src';
import { systemClock } from '../../src/util/clock';
import { ClosedConnections } from '../../src/util/closed-connections';
import {
  MAX_HEADER_LIST_BYTES,
  MAX_HEADER_PAIRS,
  MAX_STREAMS_AT_FIRST,
  MAX_STREAMS_BEGUN_AT_FIRST,
  MAX_TINY_DATA_FRAMES,
} from '../../src/util/limits';
import { OpenCalls } from '../../src/util/open-calls';
import { SessionLimits } from '../../src/util/session-limits';
import { FakeIo } from '../cli/fake-io';
import { eventually } from '../support/eventually';
import { callHeaders, FRAME, literal, RawHttp2Client } from '../support/raw-http2';
import { callServer, serverChain, XdsServerWorld } from '../support/xds-server-world';

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const CHAT = '/test.Echo/Chat';
const SETTING = { maxConcurrentStreams: 3, maxHeaderListSize: 6 };

const cleanUp: (() => void | Promise<void>)[] = [];
const clients: RawHttp2Client[] = [];
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  for (const task of cleanUp.splice(0).reverse()) await task();
});

interface Started {
  readonly to: NetConnectOpts;
  readonly path: string;
  readonly maxStreams: number;
  /** Whether calls are read only once their clients are authenticated. */
  readonly isUnread?: boolean;
}

async function startControlPlane(options = {}) {
  const server = new ControlPlane(options);
  const { port, bootstrap } = await server.start();
  cleanUp.push(() => void server.close({ force: true }));
  return { port, bootstrap };
}

const SERVERS: Readonly<Record<string, () => Promise<Started>>> = {
  'an XdsServer': async () => {
    const world = await XdsServerWorld.start();
    cleanUp.push(() => world.stop());
    world.serve([world.listener([serverChain()])]);
    await world.bind(world.server());
    return { to: { port: world.port, host: '127.0.0.1' }, path: CHAT, maxStreams: 1000 };
  },
  'an XdsServer with grpc.max_concurrent_streams': async () => {
    const world = await XdsServerWorld.start();
    cleanUp.push(() => world.stop());
    world.serve([world.listener([serverChain()])]);
    await world.bind(world.server({ 'grpc.max_concurrent_streams': 50 }));
    return { to: { port: world.port, host: '127.0.0.1' }, path: CHAT, maxStreams: 50 };
  },
  'a control plane': async () => {
    const { port } = await startControlPlane();
    return { to: { port, host: '127.0.0.1' }, path: ADS, maxStreams: 2000 };
  },
  'a control plane that authenticates its clients, as that of Kubernetes': async () => {
    const { port } = await startControlPlane({
      authenticate: () => new Promise(() => undefined),
    });
    return { to: { port, host: '127.0.0.1' }, path: ADS, maxStreams: 2000, isUnread: true };
  },
  'a relay on TCP': async () => {
    const { bootstrap } = await startControlPlane();
    const relay = new Relay({ listen: '127.0.0.1:0', bootstrap });
    const address = await relay.start();
    cleanUp.push(() => void relay.close({ force: true }));
    const port = Number(address.split(':').at(-1));
    return { to: { port, host: '127.0.0.1' }, path: ADS, maxStreams: 2000 };
  },
  'a relay on a Unix socket': async () => {
    const { bootstrap } = await startControlPlane();
    const folder = mkdtempSync(join(tmpdir(), 'session-limits-'));
    cleanUp.push(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'relay.sock');
    const relay = new Relay({ listen: `unix:${path}`, bootstrap });
    await relay.start();
    cleanUp.push(() => void relay.close({ force: true }));
    return { to: { path }, path: ADS, maxStreams: 2000 };
  },
  'grpc-xds record': async () => {
    const server = new RawAdsServer(new FakeIo(), (_method, call) => call.resume());
    const port = await server.listen('127.0.0.1', 0);
    cleanUp.push(() => server.close());
    return { to: { port, host: '127.0.0.1' }, path: ADS, maxStreams: 2000 };
  },
};

describe.each(Object.entries(SERVERS))('the sessions of %s', (_, start) => {
  let server: Started;
  beforeEach(async () => {
    server = await start();
  });

  async function connect(): Promise<RawHttp2Client> {
    const client = await RawHttp2Client.connect(server.to);
    clients.push(client);
    await eventually(() => client.settings().length > 0, true);
    return client;
  }

  /** A client that has acknowledged both frames of settings. */
  async function connectAcknowledged(): Promise<RawHttp2Client> {
    const client = await connect();
    client.acknowledge();
    await eventually(() => client.settings().length, 2);
    client.acknowledge();
    return client;
  }

  const hasEnded = (client: RawHttp2Client) =>
    eventually(() => client.socket.destroyed || client.framesOf(FRAME.goaway).length > 0, true);
  const resetWith = (client: RawHttp2Client, codes: readonly number[]) =>
    eventually(
      () => client.resets(),
      (resets) => resets.length === codes.length && resets.every((code, i) => code === codes[i]),
    );
  const pairs = (count: number) => Array.from({ length: count }, (__, i) => literal(`h${i}`, 'v'));

  it.each([
    [1, true],
    [2, true],
    [5, false],
  ])('with DATA frames of %d bytes end: %s', async (bytes, ends) => {
    const client = await connect();
    const [stream = 0] = client.call(callHeaders(server.path));
    // The begin of a message of 40,000 bytes.
    client.data(stream, Buffer.from([0, 0, 0, 156, 64]));
    client.data(stream, Buffer.alloc(bytes), MAX_TINY_DATA_FRAMES);
    if (ends && server.isUnread !== true) {
      await hasEnded(client);
      return;
    }
    // Answered after all that was sent before.
    const [last] = client.call(callHeaders(server.path, ...pairs(MAX_HEADER_PAIRS)));
    await eventually(
      () => client.framesOf(FRAME.reset).some((reset) => reset.stream === last),
      true,
    );
    expect(client.socket.destroyed).toBe(false);
    expect(client.framesOf(FRAME.goaway)).toEqual([]);
  });

  it.each<[string, number, readonly number[]]>([
    ['a window that overflows', FRAME.windowUpdate, [0x7fffffff]],
    ['a window update of nothing', FRAME.windowUpdate, [0]],
    ['a reset with a protocol error', FRAME.reset, [constants.NGHTTP2_PROTOCOL_ERROR]],
    ['a reset with an internal error', FRAME.reset, [constants.NGHTTP2_INTERNAL_ERROR]],
  ])('survive calls that come with %s', async (_frame, type, values) => {
    for (const count of [1, 3, 10, 100]) {
      const client = await RawHttp2Client.connect(server.to);
      clients.push(client);
      // With the preface, so that the server reads all of it in one turn.
      client.atOnce(() => {
        for (let i = 0; i < count; i++) {
          const [stream = 0] = client.call(callHeaders(server.path));
          for (const value of values) {
            const payload = Buffer.alloc(4);
            payload.writeUInt32BE(value);
            client.send(type, stream, payload);
          }
        }
      });
      // Answered after all that was sent before, unless that has ended the connection.
      const [last] = client.call(callHeaders(server.path, ...pairs(MAX_HEADER_PAIRS)));
      await eventually(
        () =>
          client.socket.destroyed ||
          client.framesOf(FRAME.goaway).length > 0 ||
          client.framesOf(FRAME.reset).some(({ stream }) => stream === last),
        true,
      );
    }
    await connectAcknowledged();
  });

  it('have few streams at first, and those of the server after the acknowledgement', async () => {
    const client = await connect();
    expect(client.settings()).toEqual([
      new Map([
        [SETTING.maxConcurrentStreams, MAX_STREAMS_AT_FIRST],
        [SETTING.maxHeaderListSize, MAX_HEADER_LIST_BYTES],
      ]),
    ]);
    client.call(callHeaders(server.path), MAX_STREAMS_AT_FIRST + 3);
    await resetWith(client, Array<number>(3).fill(constants.NGHTTP2_REFUSED_STREAM));
    client.acknowledge();
    await eventually(
      () => client.settings()[1],
      (settings) => settings?.get(SETTING.maxConcurrentStreams) === server.maxStreams,
    );
    client.acknowledge();
    client.call(callHeaders(server.path), 31);
    // Refused only if it comes after them.
    const [last] = client.call(callHeaders(server.path, ...pairs(MAX_HEADER_PAIRS)));
    await eventually(
      () => client.framesOf(FRAME.reset).some(({ stream }) => stream === last),
      true,
    );
    expect(client.resets()).toHaveLength(4);
    expect(client.framesOf(FRAME.goaway)).toEqual([]);
  });

  it('refuse many headers before the acknowledgement', async () => {
    const client = await connect();
    client.call(callHeaders(server.path, ...pairs(MAX_HEADER_PAIRS)));
    await resetWith(client, [constants.NGHTTP2_ENHANCE_YOUR_CALM]);
  });

  it('refuse large headers, by whatever reference, before the acknowledgement', async () => {
    const client = await connect();
    const large = literal('x', 'a'.repeat(3900), true);
    const references = Buffer.alloc(10, 0x80 | 62);
    client.call(callHeaders(server.path, large, references));
    await resetWith(client, [constants.NGHTTP2_CANCEL]);
  });

  it('refuse large headers after the acknowledgement', async () => {
    const client = await connectAcknowledged();
    // Small enough for one frame; each header counts 32 bytes more.
    const large = Array.from({ length: 3 }, () => literal('x', 'a'.repeat(4400)));
    client.call(callHeaders(server.path, ...large));
    client.call(callHeaders(server.path, ...large, ...pairs(100)));
    await resetWith(client, [constants.NGHTTP2_ENHANCE_YOUR_CALM]);
    const referenced = literal('x', 'a'.repeat(3900), true);
    client.call(callHeaders(server.path, referenced, Buffer.alloc(10, 0x80 | 62)));
    await resetWith(client, Array<number>(2).fill(constants.NGHTTP2_ENHANCE_YOUR_CALM));
  });

  it('end with a reference to the dynamic table after the acknowledgement', async () => {
    const client = await connectAcknowledged();
    client.call(callHeaders(server.path, Buffer.from([0x80 | 62])));
    await hasEnded(client);
  });

  it('end with more streams than they have after the acknowledgement', async () => {
    const client = await connect();
    client.acknowledge();
    await eventually(() => client.settings().length, 2);
    const first = Buffer.concat([Buffer.from([0x20]), callHeaders(server.path)]);
    client.call(first);
    client.call(callHeaders(server.path), MAX_STREAMS_AT_FIRST);
    await hasEnded(client);
  });

  it('end with many streams, even ended ones, before the acknowledgement', async () => {
    const client = await connect();
    const cancel = Buffer.from([0, 0, 4, FRAME.reset, 0, 0, 0, 0, 0, 0, 0, 0, 8]);
    for (let i = 0; i <= MAX_STREAMS_BEGUN_AT_FIRST; i++) {
      const [stream] = client.call(callHeaders(server.path));
      cancel.writeUInt32BE(stream ?? 0, 5);
      client.socket.write(Buffer.from(cancel));
    }
    await hasEnded(client);
  });
});

it('a client with 1,000 concurrent calls, or 8 kB of metadata, is served', async () => {
  const world = await XdsServerWorld.start();
  cleanUp.push(() => world.stop());
  world.serve([world.listener([serverChain()])]);
  await world.bind(world.server());
  const client = world.client();
  const statuses = await Promise.all(Array.from({ length: 1000 }, () => callServer(client)));
  expect(new Set(statuses)).toEqual(new Set(['OK']));
  const metadata = new Metadata();
  metadata.set('key', 'v'.repeat(8192));
  expect(await callServer(client, { metadata })).toBe('OK');
});

describe('open calls of all connections', () => {
  const METHOD = '/test.Echo/Wait';
  const ROOM_BYTES = 4 * 1024 * 1024;
  let log: string[];
  let connect: () => Promise<RawHttp2Client>;

  beforeEach(async () => {
    log = [];
    const server = new Server();
    const closed = new ClosedConnections(systemClock, { error: (text) => log.push(text()) });
    new SessionLimits(server, {
      maxStreams: 1000,
      clock: systemClock,
      closed,
      openCalls: new OpenCalls(ROOM_BYTES),
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    const codec = (bytes: Buffer) => bytes;
    const definition = {
      path: METHOD,
      requestStream: true,
      responseStream: true,
      requestSerialize: codec,
      requestDeserialize: codec,
      responseSerialize: codec,
      responseDeserialize: codec,
    };
    server.addService({ Wait: definition }, { Wait: () => undefined });
    cleanUp.push(() => server.forceShutdown());
    connect = async () => {
      const client = await RawHttp2Client.connect({ port, host: '127.0.0.1' });
      clients.push(client);
      for (const count of [1, 2]) {
        await eventually(() => client.settings().length, count);
        client.acknowledge();
      }
      return client;
    };
  });

  /** Opens calls. @returns how many of them the server has refused. */
  async function refusedOf(client: RawHttp2Client, count: number, block: Buffer): Promise<number> {
    const before = client.resets().length;
    client.call(block, count);
    // Refused for its headers, after all that was sent before it.
    const pairs = Array.from({ length: MAX_HEADER_PAIRS }, (_, i) => literal(`h${i}`, 'v'));
    const [last] = client.call(callHeaders(METHOD, ...pairs));
    await eventually(
      () => client.framesOf(FRAME.reset).some(({ stream }) => stream === last),
      true,
    );
    const resets = client.resets().slice(before, -1);
    expect(new Set(resets).size).toBeLessThanOrEqual(1);
    for (const code of resets) expect(code).toBe(constants.NGHTTP2_REFUSED_STREAM);
    return resets.length;
  }

  const few = callHeaders(METHOD);
  /** 118 headers in as many bytes: "accept-encoding: gzip, deflate" of the static table. */
  const many = callHeaders(METHOD, Buffer.alloc(118, 0x80 | 16));

  it.each([
    ['few', few, 350],
    ['many, by references of one byte', many, 190],
  ])(
    'with %s headers are bounded, and those who have few calls may call',
    async (_, block, fit) => {
      const [first, second, third] = [await connect(), await connect(), await connect()];
      const refused = await refusedOf(first, 990, block);
      expect(990 - refused).toBeGreaterThan(fit);
      expect(990 - refused).toBeLessThan(fit * 1.15);
      expect(await refusedOf(second, 100, block)).toBeGreaterThan(80);
      expect(await refusedOf(third, 5, few)).toBe(0);
      await eventually(
        () => log,
        (lines) => lines.length > 0,
      );
      expect(log[0]).toMatch(
        /^server 127\.0\.0\.1:\d+: refused \d+ calls: open calls take more than half of the heap/,
      );
    },
  );

  it('make room when they end, each or with their connections', async () => {
    const [first, second] = [await connect(), await connect()];
    expect(await refusedOf(first, 990, few)).toBeGreaterThan(0);
    expect(await refusedOf(second, 50, few)).toBeGreaterThan(0);
    const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
    for (let stream = 1; stream < 200; stream += 2) first.send(FRAME.reset, stream, cancel);
    await eventually(() => refusedOf(second, 1, few), 0);
    expect(await refusedOf(second, 300, few)).toBeGreaterThan(150);
    first.socket.destroy();
    await eventually(async () => refusedOf(await connect(), 200, few), 0);
  });
});
