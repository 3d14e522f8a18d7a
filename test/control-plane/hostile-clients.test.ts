import { BinaryWriter } from '@bufbuild/protobuf/wire';
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import { Server } from 'node:net';
import { status } from '@grpc/grpc-js';
import { ControlPlane, Snapshot, type ClientEvent } from '../../src/control-plane';
import { MAX_UNACKNOWLEDGED, SentResponses } from '../../src/control-plane/ads/subscriptions';
import { LoadTotals, type ClusterLoad } from '../../src/control-plane/lrs/load-totals';
import { endpointKind } from '../../src/control-plane/resource';
import {
  MAX_CONNECTIONS,
  MAX_LOAD_ENTRIES,
  MAX_LOAD_ENTRIES_OF_CLUSTER,
  MAX_REQUEST_BYTES,
} from '../../src/util/limits';
import {
  DeltaDiscoveryRequest,
  DiscoveryRequest,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { Node } from '../../src/wire/generated/envoy/config/core/v3/base';
import { eventually } from '../support/eventually';
import { AdsClient } from './ads-client';
import { CDS, EDS, cluster, echo, endpoints } from './resources';

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService';
const LRS = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Adds the frame of gRPC. */
function frame(message: Uint8Array): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

const sotw = (request: Partial<DiscoveryRequest>) =>
  DiscoveryRequest.encode(DiscoveryRequest.create(request)).finish();
const delta = (request: Partial<DeltaDiscoveryRequest>) =>
  DeltaDiscoveryRequest.encode(DeltaDiscoveryRequest.create(request)).finish();

/** A field with these bytes. */
function wrap(number: number, bytes: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, 2).bytes(bytes).finish();
}

/** The metadata of a node: a struct in a struct, and so on. */
function nestedStruct(depth: number): Uint8Array {
  let struct: Uint8Array = new Uint8Array(0);
  for (let i = 0; i < depth; i++) struct = wrap(1, wrap(2, wrap(5, struct)));
  return struct;
}

describe('a control plane', () => {
  const events: ClientEvent[] = [];
  let server: ControlPlane;
  let session: ClientHttp2Session;
  let address: string;

  beforeEach(async () => {
    events.length = 0;
    server = new ControlPlane({
      snapshot: Snapshot.from(echo),
      onClientEvent: (event) => events.push(event),
    });
    ({ address } = await server.start());
    session = connect(`http://${address}`);
    session.on('error', () => {});
  });
  afterEach(() => {
    session.destroy();
    void server.close({ force: true });
  });

  function open(path: string): ClientHttp2Stream {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      te: 'trailers',
      'content-type': 'application/grpc',
    });
    stream.on('error', () => {});
    return stream;
  }

  function statusOf(stream: ClientHttp2Stream): Promise<{ code: number; details: string }> {
    return new Promise((resolve) => {
      const settle = (headers: IncomingHttpHeaders) => {
        const code = headers['grpc-status'];
        const details = decodeURIComponent([headers['grpc-message']].flat().join());
        if (code !== undefined) resolve({ code: Number(code), details });
      };
      stream.on('response', settle);
      stream.on('trailers', settle);
      stream.resume();
    });
  }

  /** A client of another library gets its resources. */
  async function isServing(): Promise<void> {
    const client = new AdsClient(address);
    const stream = client.open();
    stream.subscribe(EDS, ['echo'], { node: { id: 'good' } });
    expect((await stream.next()).resources).toHaveLength(1);
    client.close();
  }

  const sentTo = (nodeId: string) =>
    events.filter((event) => event.kind === 'sent' && event.client.nodeId === nodeId);

  it.each<[string, string, readonly Uint8Array[], number, RegExp]>([
    [
      '2,000,000 empty names',
      `${ADS}/StreamAggregatedResources`,
      [Buffer.alloc(4_000_000, Buffer.of(0x1a, 0))],
      status.RESOURCE_EXHAUSTED,
      /resource_names: more than 200000 fields in one request/,
    ],
    [
      '1,000,000 names',
      `${ADS}/DeltaAggregatedResources`,
      [delta({ typeUrl: EDS, resourceNamesSubscribe: range(1_000_000).map((n) => `${n}`) })],
      status.RESOURCE_EXHAUSTED,
      /resource_names_subscribe: more than 200000 fields in one request/,
    ],
    [
      '1,000,000 unknown fields',
      `${ADS}/StreamAggregatedResources`,
      // Field 15, a number.
      [Buffer.alloc(2_000_000, Buffer.of(0x78, 1))],
      status.RESOURCE_EXHAUSTED,
      /more than 200000 fields in one request/,
    ],
    [
      'a node with metadata of 200 messages in one another',
      `${ADS}/StreamAggregatedResources`,
      [wrap(2, wrap(3, nestedStruct(100)))],
      status.INVALID_ARGUMENT,
      /recursion limit/,
    ],
    [
      'more than 100,000 names in several requests',
      `${ADS}/DeltaAggregatedResources`,
      range(3).map((i) =>
        delta({ typeUrl: EDS, resourceNamesSubscribe: range(50_000).map((n) => `${i}/${n}`) }),
      ),
      status.RESOURCE_EXHAUSTED,
      /^more than 100000 names of one type on one stream$/,
    ],
    [
      'names of 10 MB',
      `${ADS}/StreamAggregatedResources`,
      [sotw({ typeUrl: EDS, resourceNames: range(20).map((n) => `${n % 10}`.repeat(2 ** 19)) })],
      status.RESOURCE_EXHAUSTED,
      /^more than 8388608 characters in the names/,
    ],
    [
      'one type after the other',
      `${ADS}/StreamAggregatedResources`,
      range(101).map((n) => sotw({ typeUrl: `type.test/${n}` })),
      status.RESOURCE_EXHAUSTED,
      /^type_url: more than 100 types on one stream$/,
    ],
    [
      'a report of 300,000 empty clusters',
      LRS,
      [Buffer.alloc(600_000, Buffer.of(0x12, 0))],
      status.RESOURCE_EXHAUSTED,
      /cluster_stats: more than 200000 fields in one request/,
    ],
  ])('ends the stream of a client that sends %s, and serves others', async (...args) => {
    const [, path, messages, code, details] = args;
    const stream = open(path);
    const ended = statusOf(stream);
    for (const message of messages) stream.write(frame(message));
    expect(await ended).toEqual({ code, details: expect.stringMatching(details) });
    await eventually(
      () => server.clients().length + server.loadClients().length,
      (count) => count === 0,
    );
    await isServing();
  });

  it('ends a stream with a request of more than 64 MiB as soon as its length has arrived', async () => {
    const stream = open(`${ADS}/StreamAggregatedResources`);
    const ended = statusOf(stream);
    const header = Buffer.alloc(5);
    header.writeUInt32BE(MAX_REQUEST_BYTES + 1, 1);
    stream.write(header);
    expect(await ended).toEqual({
      code: status.RESOURCE_EXHAUSTED,
      details: expect.stringContaining(`(${MAX_REQUEST_BYTES + 1} vs ${MAX_REQUEST_BYTES})`),
    });
    await isServing();
  });

  it('has at most 20,000 connections', async () => {
    const listen = jest.spyOn(Server.prototype, 'listen');
    const other = new ControlPlane({ snapshot: Snapshot.from(echo) });
    await other.start();
    const [tcp] = listen.mock.contexts;
    listen.mockRestore();
    expect(tcp?.maxConnections).toBe(MAX_CONNECTIONS);
    await other.close();
  });

  it('answers no more requests of a client than it reads responses', async () => {
    const clusters = ['a', 'b'].map((name) => ({
      ...cluster(name),
      metadata: { filter_metadata: { large: { text: 'x'.repeat(50_000) } } },
    }));
    const snapshot = Snapshot.from({ ...echo, clusters: [...clusters, cluster('echo')] });
    server.setSnapshot(snapshot, { allowInconsistent: true });
    const stream = open(`${ADS}/StreamAggregatedResources`);
    for (const i of range(2000)) {
      const resourceNames = [i % 2 === 0 ? 'a' : 'b'];
      const responseNonce = i === 0 ? '' : String(i);
      const node = Node.create({ id: 'bad' });
      stream.write(frame(sotw({ typeUrl: CDS, resourceNames, responseNonce, node })));
    }
    await eventually(
      () => sentTo('bad').length,
      // The first one fits into the window of the stream.
      (count) => count === 2,
    );
    for (let i = 0; i < 3; i++) await isServing();
    expect(sentTo('bad').length).toBe(2);
    stream.close(constants.NGHTTP2_CANCEL);
  });

  it('sends a client that has not read for a while the last snapshot only', async () => {
    const stream = open(`${ADS}/DeltaAggregatedResources`);
    const node = Node.create({ id: 'slow' });
    stream.write(frame(delta({ typeUrl: EDS, resourceNamesSubscribe: ['echo'], node })));
    await eventually(
      () => sentTo('slow').length,
      (count) => count === 1,
    );
    const snapshotOf = (port: number) =>
      Snapshot.from({
        ...echo,
        endpoints: [endpoints('echo', port)],
      });
    for (let port = 1; port <= 2000; port++) server.setSnapshot(snapshotOf(port));
    expect(sentTo('slow').length).toBe(2);
    const { version } = snapshotOf(2000).set(endpointKind);
    stream.resume();
    await eventually(
      () => sentTo('slow').at(-1),
      (event) => event?.kind === 'sent' && event.version === version,
    );
    expect(sentTo('slow').length).toBe(3);
  });
});

describe('the responses of a type', () => {
  it('are recorded up to a number until they are acknowledged', () => {
    const responses = new SentResponses();
    for (const i of range(MAX_UNACKNOWLEDGED + 1)) responses.markSent(String(i), `v${i}`);
    expect(responses.acknowledge('0', undefined, undefined)).toBeUndefined();
    expect(responses.acknowledge('1', undefined, undefined)).toMatchObject({ version: 'v1' });
  });
});

describe('the totals of load reports', () => {
  const client = { streamId: 1, nodeId: 'n', peer: '' };
  const loadOf = (cluster: string, localities: number, metrics = 0): ClusterLoad => ({
    cluster,
    serviceName: '',
    intervalMs: 1,
    totalDropped: 0,
    droppedByCategory: new Map(),
    localities: range(localities).map((n) => ({
      region: String(n),
      zone: '',
      subZone: '',
      priority: 0,
      issued: 1,
      succeeded: 1,
      failed: 0,
      inProgress: 0,
      metrics: new Map(range(metrics).map((m) => [String(m), { calls: 1, total: 1 }])),
    })),
  });

  it('leave out clusters that clients make up, and say so once', () => {
    const onFull = jest.fn();
    const totals = new LoadTotals(onFull);
    const perCluster = 5000;
    const count = MAX_LOAD_ENTRIES / perCluster;
    const known = loadOf('known', 1);
    totals.add(client, { clusters: [known] });
    for (const n of range(count + 5)) {
      // A node for each, too.
      const nodeId = `node ${n}`;
      totals.add({ ...client, nodeId }, { clusters: [loadOf(`c${n}`, 1, perCluster - 2)] });
    }
    totals.add(client, { clusters: [known] });
    expect(onFull).toHaveBeenCalledTimes(1);
    expect(totals.list()).toHaveLength(count);
    expect(totals.list('n')[0]?.localities[0]?.issued).toBe(2);
    totals.clear();
    totals.add(client, { clusters: [loadOf('c', 1, perCluster)] });
    expect(totals.list()).toHaveLength(1);
  });

  it.each([
    ['localities', loadOf('c', MAX_LOAD_ENTRIES_OF_CLUSTER + 1)],
    ['metrics', loadOf('c', 1, MAX_LOAD_ENTRIES_OF_CLUSTER + 1)],
  ])('leave out a cluster with too many %s', (_case, load) => {
    const totals = new LoadTotals(() => {});
    totals.add(client, { clusters: [load, loadOf('d', 1)] });
    const counted = totals.list().filter(({ localities }) => localities.some((l) => l.issued > 0));
    expect(counted.map(({ cluster }) => cluster)).toEqual(['d']);
  });
});
