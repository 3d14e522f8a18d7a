import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  credentials,
  Metadata,
  Server,
  status,
  type ServerDuplexStream,
  type StatusObject,
} from '@grpc/grpc-js';
import { Relay } from '../../packages/relay/src/relay';
import { AdsClient } from '../control-plane/ads-client';
import { CDS, echo } from '../control-plane/resources';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  SERVICE,
  simpleResources,
  DISTANT_VARIANTS,
  registerAnew,
} from '../support/mesh';
import { RelayScene } from './relay-scene';
import { bytesCodec } from '../support/bytes-codec';
import { bind } from '../support/listen';

/** Relays on sockets of their own, each with the servers above it. */
class Relays {
  private readonly folder = mkdtempSync(join(tmpdir(), 'chain-'));
  private readonly started: Relay[] = [];

  uri(name: string): string {
    return `unix:${join(this.folder, name)}`;
  }

  async start(name: string, servers: readonly string[], features?: readonly string[]) {
    const all = servers.flatMap((uri) => bootstrapFor(uri, features).xds_servers);
    const bootstrap = { node: { id: name }, xds_servers: all };
    const relay = new Relay({ listen: this.uri(name), bootstrap, env: {} });
    this.started.push(relay);
    await relay.start();
    return relay;
  }

  /** Starts a ring: each has the next one as its first server. */
  async startRing(names: readonly string[], others: readonly string[] = []): Promise<Relay[]> {
    const above = [...names.slice(1), ...names.slice(0, 1)];
    return Promise.all(
      names.map((name, i) => this.start(name, [this.uri(above[i] ?? ''), ...others])),
    );
  }

  stop(): void {
    for (const relay of this.started) void relay.close({ force: true });
    rmSync(this.folder, { recursive: true });
  }
}

let relays: Relays;
beforeEach(() => {
  registerAnew({});
  relays = new Relays();
});
afterEach(() => {
  relays.stop();
  registerAnew({});
});

const clientOf = (uri: string, features?: readonly string[]) =>
  new EchoClient(`xds:///${SERVICE}`, {
    'grpc_xds.bootstrap': JSON.stringify(bootstrapFor(uri, features)),
  });

describe.each(DISTANT_VARIANTS)('a relay above a relay in the variant: %s', (_name, features) => {
  it('serves its clients', async () => {
    const scene = await RelayScene.start();
    const backend = await EchoBackend.start('one');
    scene.serve(simpleResources([backend.port]));
    await relays.start('pod', [scene.listen], features);
    const client = clientOf(relays.uri('pod'), features);
    try {
      expect(await client.say()).toBe('one');
    } finally {
      client.close();
      backend.stop();
      scene.stop();
    }
  });
});

const ADS_METHOD =
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const LRS_METHOD = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const PATH_HEADER = 'x-grpc-xds-relays-bin';
const same = (bytes: Buffer) => bytes;

/** Opens a stream with a path. */
function openRaw(uri: string, method: string, path: Buffer) {
  const client = new Client(uri, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set(PATH_HEADER, path);
  const call = client.makeBidiStreamRequest(method, same, same, metadata);
  call.on('error', () => {});
  const ended = new Promise<StatusObject>((resolve) => call.on('status', resolve));
  void ended.then(() => client.close());
  return { ended, cancel: () => call.cancel() };
}

/** A server of streams that keeps their paths. */
class PathServer {
  readonly paths: Buffer[] = [];
  private readonly server = new Server();

  async start(): Promise<string> {
    const streams = { requestStream: true, responseStream: true } as const;
    const method = { ...streams, ...bytesCodec };
    const handler = (call: ServerDuplexStream<Buffer, Buffer>) => {
      const [path] = call.metadata.get(PATH_HEADER);
      if (Buffer.isBuffer(path)) this.paths.push(path);
      call.on('error', () => {}).resume();
    };
    this.server.addService({ ads: { path: ADS_METHOD, ...method } }, { ads: handler });
    return `127.0.0.1:${await bind(this.server)}`;
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

describe('the path of the streams of a relay', () => {
  it('has the relay, and a stream of resources or loads with it is refused by the relay', async () => {
    const above = new PathServer();
    await relays.start('own', [await above.start()]);
    const client = new AdsClient(relays.uri('own'));
    client.open().subscribe(CDS, ['echo'], { node: { id: 'a' } });
    const [path = Buffer.alloc(0)] = await eventually(
      () => above.paths,
      ({ length }) => length > 0,
    );
    const { relays: passed } = JSON.parse(path.toString()) as { relays: unknown[] };
    expect(passed).toMatchObject([{ pid: process.pid, address: relays.uri('own') }]);
    for (const method of [ADS_METHOD, LRS_METHOD]) {
      const { code, details } = await openRaw(relays.uri('own'), method, path).ended;
      expect({ method, code }).toEqual({ method, code: status.FAILED_PRECONDITION });
      expect(details).toContain('relays use each other as management servers');
    }
    client.close();
    above.stop();
  });

  it('becomes longer with that of a client, on a new stream, unless a longer one was sent', async () => {
    const above = new PathServer();
    await relays.start('own', [await above.start()]);
    const client = new AdsClient(relays.uri('own'));
    client.open().subscribe(CDS, ['echo'], { node: { id: 'a' } });
    const lengths = () =>
      above.paths.map(
        (path) => (JSON.parse(path.toString()) as { relays: unknown[] }).relays.length,
      );
    const expectLengths = (expected: readonly number[]) =>
      eventually(lengths, (found) => JSON.stringify(found) === JSON.stringify(expected));
    await expectLengths([1]);
    const pathOf = (count: number) => {
      const all = Array.from({ length: count }, (_, i) => ({ id: `${i}`, pid: i, address: '' }));
      return Buffer.from(JSON.stringify({ relays: all }));
    };
    const open = (count: number) => openRaw(relays.uri('own'), ADS_METHOD, pathOf(count));
    const streams = [open(2)];
    await expectLengths([1, 3]);
    streams.push(open(1), open(2), open(3));
    await expectLengths([1, 3, 4]);
    streams.push(open(100));
    await expectLengths([1, 3, 4, 16]);
    for (const stream of streams) stream.cancel();
    client.close();
    above.stop();
  });
});

describe('a relay whose clients are relays', () => {
  it('keeps its stream to the control plane when the first of them connects', async () => {
    const scene = await RelayScene.start();
    const ads = new AdsClient(scene.listen);
    scene.serve(echo);
    try {
      const direct = ads.open();
      direct.subscribe(CDS, ['echo'], { node: { id: 'a' } });
      await direct.next();
      await relays.start('pod', [scene.listen]);
      const pod = new AdsClient(relays.uri('pod'));
      const stream = pod.open();
      stream.subscribe(CDS, ['echo'], { node: { id: 'b' } });
      expect((await stream.next()).resources).toHaveLength(1);
      pod.close();
      expect(scene.streams).toBe(1);
    } finally {
      ads.close();
      scene.stop();
    }
  });

  it.each([
    ['no JSON', 'x'],
    ['JSON of something else', '[1]'],
    ['relays that are none', '{"relays":[1,null,{"id":1},{"id":"a","pid":"b","address":{}}]}'],
    [
      'a path of 100 relays',
      JSON.stringify({ relays: Array(100).fill({ id: 'x', pid: 1, address: '' }) }),
    ],
    [
      'a long address',
      JSON.stringify({ relays: [{ id: 'x', pid: 1, address: 'a'.repeat(7000) }] }),
    ],
  ])('serves a client that sends %s as its path', async (_name, header) => {
    const scene = await RelayScene.start();
    scene.serve(echo);
    try {
      await relays.start('pod', [scene.listen]);
      const hostile = openRaw(relays.uri('pod'), ADS_METHOD, Buffer.from(header));
      const good = new AdsClient(relays.uri('pod'));
      const stream = good.open();
      stream.subscribe(CDS, ['echo'], { node: { id: 'b' } });
      expect((await stream.next()).resources).toHaveLength(1);
      good.close();
      hostile.cancel();
      expect((await hostile.ended).code).toBe(status.CANCELLED);
    } finally {
      scene.stop();
    }
  });
});

describe('relays in a ring', () => {
  const failureOf = async (uri: string) => {
    const client = clientOf(uri);
    const error: unknown = await client.say().catch((failure: unknown) => failure);
    client.close();
    return error;
  };
  const failure = (names: readonly string[]) => {
    const ring = names.map((name) => `relay (pid ${process.pid}, ${relays.uri(name)})`).join(' → ');
    return `relays use each other as management servers, and none of them a control plane: ${ring}: name the control plane in the bootstrap of one of them`;
  };

  it.each([
    [
      ['a', 'b'],
      ['a', 'b', 'a'],
    ],
    [
      ['a', 'b', 'c'],
      ['a', 'b', 'c', 'a'],
    ],
  ])('fail calls at once with a text that names them: %p', async (names, ring) => {
    await relays.startRing(names);
    const error = await failureOf(relays.uri('a'));
    expect(error).toMatchObject({ code: status.UNAVAILABLE });
    expect(String(error)).toContain(failure(ring));
  });

  it('notice it, too, if all of them have opened their streams before one has a client', async () => {
    const ring = await relays.startRing(['a', 'b', 'c']);
    const clients = ['a', 'b', 'c'].map((name) => clientOf(relays.uri(name)));
    const errors = await Promise.all(
      clients.map((client) => client.say().catch((error: unknown) => String(error))),
    );
    for (const error of errors) expect(error).toContain('relays use each other');
    for (const client of clients) client.close();
    expect(ring).toHaveLength(3);
  });

  it('use the next server of their bootstraps', async () => {
    const scene = await RelayScene.start();
    const backend = await EchoBackend.start('one');
    scene.serve(simpleResources([backend.port]));
    const [a] = await relays.startRing(['a', 'b'], [scene.upstream]);
    const client = clientOf(relays.uri('a'));
    try {
      expect(await client.say()).toBe('one');
      const states = await eventually(
        () => a?.inspect().servers ?? [],
        (servers) => servers.some(({ state }) => state === 'open'),
      );
      expect(states.length).toBeGreaterThan(0);
    } finally {
      client.close();
      backend.stop();
      scene.stop();
    }
  });
});
