import { status } from '@grpc/grpc-js';
import { constants } from 'node:http2';
import { AdsClient } from '../control-plane/ads-client';
import { DeltaClient } from '../control-plane/delta-client';
import { CDS } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { ADS_HEADERS, HostileScene } from './hostile-scene';

const node = { id: 'hostile' };

/** Of one type on one stream. */
const MAX_NAMES = 100_000;
const STREAMS = 300;

describe('a hostile client of a relay', () => {
  let scene: HostileScene;
  let sotw: AdsClient;
  let delta: DeltaClient;

  beforeEach(async () => {
    scene = await HostileScene.start();
    [sotw, delta] = [new AdsClient(scene.listen), new DeltaClient(scene.listen)];
  });
  afterEach(() => {
    for (const client of [sotw, delta]) client.close();
    scene.stop();
  });

  const namesFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => `cluster-${first + index}`);

  it('ends with RESOURCE_EXHAUSTED for more names than a stream may have', async () => {
    const flood = delta.open();
    flood.send(CDS, { node, sub: namesFrom(0, MAX_NAMES + 1) });
    expect((await flood.ended).code).toBe(status.RESOURCE_EXHAUSTED);
    await scene.expectUpdate();
  });

  it('that subscribes to ever other names leaves a bounded number of them', async () => {
    const flood = delta.open();
    const [count, step] = [30_000, 1000];
    for (let first = 0; first < count; first += step) {
      const unsub = first === 0 ? [] : namesFrom(first - step, step);
      flood.send(CDS, { node, sub: namesFrom(first, step), unsub });
    }
    await scene.expectUpdate();
    // Those of the client, of the other one, and 10,000 that no client subscribes to any more.
    const namesOf = () => scene.inspect().types.reduce((sum, { names }) => sum + names, 0);
    await eventually(
      () => scene.inspect().clients.find(({ nodeId }) => nodeId === 'hostile')?.types[0],
      (type) => type?.names === step,
    );
    await eventually(namesOf, (names) => names <= 10_000 + step + 1);
  });

  it('with hundreds of streams keeps no other from its updates', async () => {
    const streams = Array.from({ length: STREAMS }, () => sotw.open());
    for (const each of streams) each.subscribe(CDS, ['echo'], { node });
    await Promise.all(streams.map((each) => each.next()));
    await scene.expectUpdate();
    for (const each of streams) each.cancel();
    await eventually(
      () => scene.inspect().clients.length,
      (count) => count === 1,
    );
  });

  it('that resets streams as fast as it can leaves none', async () => {
    const session = scene.openSession();
    for (let i = 0; i < STREAMS && !session.destroyed; i++) {
      const request = session.request(ADS_HEADERS);
      request.on('error', () => {});
      request.close(constants.NGHTTP2_CANCEL);
    }
    await scene.expectUpdate();
    session.destroy();
    expect(scene.nodeIds).toEqual(['good']);
  });

  it('that sends garbage is disconnected', async () => {
    const socket = scene.connect();
    // Not `once` of node:events, which rejects for an error before.
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.resume().write(Buffer.alloc(1_000_000, 'garbage '));
    await closed;
    await scene.expectUpdate();
  });
});
