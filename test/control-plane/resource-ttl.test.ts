import { ControlPlane, Snapshot, type SnapshotInput } from '../../src/control-plane';
import { FakeClock } from '../support/fake-clock';
import { AdsClient, decodeOfficial, type Response } from './ads-client';
import { DeltaClient } from './delta-client';
import { CDS, EDS, cluster } from './resources';

const wrapper = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

const timed = (name: string, ttl: `${number}s`) =>
  ({ '@type': wrapper, name, ttl, resource: { '@type': CDS, ...cluster(name) } }) as const;

const knowsTtl = (...more: readonly string[]) => ({
  id: 'test',
  client_features: ['xds.config.supports-resource-ttl', ...more],
});
const inSotw = 'xds.config.resource-in-sotw';

describe('resources with a time to live', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  async function setUp(input: SnapshotInput) {
    const clock = new FakeClock();
    const server = new ControlPlane({}, { clock });
    server.setSnapshot(Snapshot.from(input), { allowInconsistent: true });
    const { address } = await server.start();
    const delta = new DeltaClient(address);
    const sotw = new AdsClient(address);
    cleanUp.push(() => void server.close({ force: true }));
    cleanUp.push(() => delta.close());
    cleanUp.push(() => sotw.close());
    return { server, clock, delta, sotw };
  }

  const decode = ({ resources }: Response) =>
    resources.map(({ type_url, value }) =>
      type_url === wrapper ? decodeOfficial(wrapper, value) : type_url,
    );

  it('are renewed on incremental streams by heartbeats without the resource', async () => {
    const { clock, delta } = await setUp({
      resources: [timed('a', '2.5s')],
      clusters: [cluster('b')],
    });
    const stream = delta.open();
    stream.send(CDS, { node: knowsTtl(), sub: ['a', 'b'] });
    const { resources, system_version_info } = await stream.next();
    expect(resources).toMatchObject([
      { name: 'a', ttl: { seconds: '2', nanos: 500_000_000 }, resource: { type_url: CDS } },
      { name: 'b', ttl: null },
    ]);
    clock.advance(1250);
    expect(await stream.next()).toMatchObject({
      nonce: '2',
      system_version_info,
      removed_resources: [],
      resources: [
        { name: 'a', version: resources[0]?.version, ttl: { seconds: '2' }, resource: null },
      ],
    });
    clock.advance(1250);
    expect((await stream.next()).nonce).toBe('3');
  });

  it('are renewed on state-of-the-world streams by heartbeats', async () => {
    const { clock, sotw } = await setUp({
      resources: [timed('a', '2s')],
      clusters: [cluster('b')],
    });
    const stream = sotw.open();
    stream.subscribe(CDS, ['a', 'b'], { node: knowsTtl(inSotw) });
    const response = await stream.next();
    const version = expect.any(String);
    const ttl = { seconds: '2' };
    const resource = { type_url: CDS, value: expect.anything() };
    expect(decode(response)).toEqual([CDS, { name: 'a', version, ttl, resource }].reverse());
    clock.advance(1000);
    const heartbeat = await stream.next();
    expect(heartbeat.version_info).toBe(response.version_info);
    expect(decode(heartbeat)).toEqual([{ name: 'a', version, ttl }]);
  });

  it('have no time to live for clients without the feature', async () => {
    const { clock, sotw, delta } = await setUp({ resources: [timed('a', '2s')] });
    const first = sotw.open();
    first.subscribe(CDS, ['a'], { node: knowsTtl() });
    const response = await first.next();
    expect(decode(response)).toEqual([CDS]);
    const second = delta.open();
    second.send(CDS, { node: { id: 'old' }, sub: ['a'] });
    expect(await second.next()).toMatchObject({ resources: [{ ttl: null }] });
    clock.advance(1000);
    // Responses arrive in order: a heartbeat would be the next one.
    second.send(EDS, { sub: ['x'] });
    expect(await second.next()).toMatchObject({ type_url: EDS });
    first.ack(response, ['a', 'x']);
    expect(await first.next()).toMatchObject({ nonce: '2', resources: [{ type_url: CDS }] });
  });

  it('are sent again when their time to live changes or is removed', async () => {
    const { server, delta } = await setUp({ resources: [timed('a', '2s')] });
    const stream = delta.open();
    stream.send(CDS, { node: knowsTtl(), sub: ['a'] });
    await stream.next();
    const set = (input: SnapshotInput) =>
      server.setSnapshot(Snapshot.from(input), { allowInconsistent: true });
    set({ resources: [timed('a', '4s')] });
    // A change of the shortest time to live sends a heartbeat after the resource.
    expect((await stream.next()).resources).toMatchObject([
      { ttl: { seconds: '4' }, resource: { type_url: CDS } },
    ]);
    expect((await stream.next()).resources).toMatchObject([{ resource: null }]);
    set({ clusters: [cluster('a')] });
    expect((await stream.next()).resources).toMatchObject([
      { ttl: null, resource: { type_url: CDS } },
    ]);
  });

  it('have heartbeats that snapshot changes do not postpone', async () => {
    const { server, clock, delta } = await setUp({ resources: [timed('a', '2s')] });
    const stream = delta.open();
    stream.send(CDS, { node: knowsTtl(), sub: ['a'] });
    await stream.next();
    clock.advance(900);
    const resources = [timed('a', '2s'), timed('other', '9s')];
    server.setSnapshot(Snapshot.from({ resources }), { allowInconsistent: true });
    clock.advance(100);
    expect((await stream.next()).resources).toMatchObject([{ name: 'a', resource: null }]);
  });
});
