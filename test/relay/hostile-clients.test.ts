import { status } from '@grpc/grpc-js';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { AdsClient } from '../control-plane/ads-client';
import { DeltaClient, type DeltaClientStream } from '../control-plane/delta-client';
import { CDS, cluster, echo } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { RelayScene } from './relay-scene';

const node = { id: 'hostile' };

/** Of one type on one stream. */
const MAX_NAMES = 100_000;
const STREAMS = 300;
const HEADERS = {
  ':method': 'POST',
  ':path': '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
  'content-type': 'application/grpc',
  te: 'trailers',
};

describe('a hostile client of a relay', () => {
  let scene: RelayScene;
  let good: DeltaClient;
  let stream: DeltaClientStream;
  let sotw: AdsClient;
  let delta: DeltaClient;

  beforeEach(async () => {
    scene = await RelayScene.start();
    scene.serve(echo);
    [good, sotw, delta] = [
      new DeltaClient(scene.listen),
      new AdsClient(scene.listen),
      new DeltaClient(scene.listen),
    ];
    stream = good.open();
    stream.send(CDS, { node: { id: 'good' }, sub: ['echo'] });
    stream.ack(await stream.next());
  });
  afterEach(() => {
    for (const client of [good, sotw, delta]) client.close();
    scene.stop();
  });

  /** Another client receives a change. */
  async function expectUpdates(): Promise<void> {
    scene.serve({ ...echo, clusters: [{ ...cluster('echo'), lb_policy: 'RING_HASH' as const }] });
    expect((await stream.next()).resources.map(({ name }) => name)).toEqual(['echo']);
  }

  /** A connection below gRPC. */
  function openSession(): ClientHttp2Session {
    const session = connectHttp2('http://localhost', {
      createConnection: () => connect(scene.listen.slice('unix:'.length)),
    });
    session.on('error', () => {});
    return session;
  }

  const namesFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => `cluster-${first + index}`);

  it('ends with RESOURCE_EXHAUSTED for more names than a stream may have', async () => {
    const flood = delta.open();
    flood.send(CDS, { node, sub: namesFrom(0, MAX_NAMES + 1) });
    expect((await flood.ended).code).toBe(status.RESOURCE_EXHAUSTED);
    await expectUpdates();
  });

  it('that subscribes to ever other names leaves a bounded number of them', async () => {
    const flood = delta.open();
    const [count, step] = [30_000, 1000];
    for (let first = 0; first < count; first += step) {
      const unsub = first === 0 ? [] : namesFrom(first - step, step);
      flood.send(CDS, { node, sub: namesFrom(first, step), unsub });
    }
    await expectUpdates();
    // Those of the client, of the other one, and 10,000 that no client subscribes to any more.
    const namesOf = () => scene.relay.inspect().types.reduce((sum, { names }) => sum + names, 0);
    await eventually(
      () => scene.relay.inspect().clients.find(({ nodeId }) => nodeId === 'hostile')?.types[0],
      (type) => type?.names === step,
    );
    expect(namesOf()).toBeLessThanOrEqual(10_000 + step + 1);
  });

  it('with hundreds of streams keeps no other from its updates', async () => {
    const streams = Array.from({ length: STREAMS }, () => sotw.open());
    for (const each of streams) each.subscribe(CDS, ['echo'], { node });
    await Promise.all(streams.map((each) => each.next()));
    await expectUpdates();
    for (const each of streams) each.cancel();
    await eventually(
      () => scene.relay.inspect().clients.length,
      (count) => count === 1,
    );
  });

  it('that resets streams as fast as it can leaves none', async () => {
    const session = openSession();
    for (let i = 0; i < STREAMS && !session.destroyed; i++) {
      const request = session.request(HEADERS);
      request.on('error', () => {});
      request.close(constants.NGHTTP2_CANCEL);
    }
    await expectUpdates();
    session.destroy();
    expect(scene.relay.inspect().clients.map(({ nodeId }) => nodeId)).toEqual(['good']);
  });

  it('that sends garbage is disconnected', async () => {
    const socket = connect(scene.listen.slice('unix:'.length));
    // Not `once` of node:events, which rejects for an error before.
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.resume().write(Buffer.alloc(1_000_000, 'garbage '));
    await closed;
    await expectUpdates();
  });
});
