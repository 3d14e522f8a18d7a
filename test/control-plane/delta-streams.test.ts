import { ControlPlane, Snapshot, type ClientEvent } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { DeltaClient, type DeltaResponse } from './delta-client';
import { OfficialClient } from './official-client';
import { CDS, EDS, LDS, RDS, echo, endpoints } from './resources';

const node = { id: 'test' };

describe('incremental streams of the control plane', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  async function setUp(snapshot = Snapshot.from(echo)) {
    const events: ClientEvent[] = [];
    const server = new ControlPlane({
      snapshot,
      onClientEvent: (event) => events.push(event),
    });
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    const client = new DeltaClient(address);
    cleanUp.push(() => client.close());
    const until = (kind: ClientEvent['kind'], count = 1) =>
      eventually(
        () => events.filter((event) => event.kind === kind),
        (found) => found.length >= count,
      );
    return { server, client, address, events, until };
  }

  const show = ({ resources, removed_resources }: DeltaResponse) => [
    ...resources.map(({ name }) => `+${name}`),
    ...removed_resources.map((name) => `-${name}`),
  ];

  it('send changes and removals, and report acknowledgements', async () => {
    const { server, client, until } = await setUp();
    const stream = client.open();
    stream.send(EDS, { node, sub: ['echo'] });
    const before = await stream.next();
    stream.ack(before);
    await until('acked');
    server.setSnapshot(Snapshot.from({ ...echo, endpoints: [endpoints('echo', 2)] }));
    const after = await stream.next();
    expect(after.resources[0]?.version).not.toBe(before.resources[0]?.version);
    stream.nack(after, 'no');
    const [nacked] = await until('nacked');
    expect(nacked).toMatchObject({ typeUrl: EDS, message: 'no' });
    expect(server.clients()).toEqual([
      {
        streamId: 1,
        nodeId: 'test',
        node: expect.objectContaining({ id: 'test' }),
        method: 'DeltaAggregatedResources',
        peer: expect.any(String),
        connectedAtMs: expect.any(Number),
        types: new Map([
          [
            EDS,
            {
              typeUrl: EDS,
              subscribed: ['echo'],
              wildcard: false,
              sentVersion: after.system_version_info,
              ackedVersion: before.system_version_info,
              rejection: { version: after.system_version_info, message: 'no' },
            },
          ],
        ]),
      },
    ]);
    server.setSnapshot(Snapshot.empty);
    expect(show(await stream.next())).toEqual(['-echo']);
    const sent = await until('sent', 3);
    expect(sent[2]).toMatchObject({ names: [], removed: ['echo'], failed: [] });
  });

  const perType = [
    ['listener.v3.ListenerDiscoveryService', 'Listeners', LDS, 'echo'],
    ['route.v3.RouteDiscoveryService', 'Routes', RDS, 'echo-routes'],
    ['cluster.v3.ClusterDiscoveryService', 'Clusters', CDS, 'echo'],
    ['endpoint.v3.EndpointDiscoveryService', 'Endpoints', EDS, 'echo'],
  ] as const;

  it.each(perType)('serve a single type: %s', async (service, suffix, type, name) => {
    const { server, client, address } = await setUp();
    const stream = client.open(`envoy.service.${service}/Delta${suffix}`);
    stream.send('', { node, sub: [name] });
    expect(await stream.next()).toMatchObject({ type_url: type, resources: [{ name }] });
    expect(server.clients()).toMatchObject([{ method: `Delta${suffix}` }]);

    const official = new OfficialClient(address);
    cleanUp.push(() => official.close());
    const sotw = official.call<object>(`envoy.service.${service}/Stream${suffix}`);
    sotw.send({ node, resource_names: [name] });
    expect(await sotw.next()).toMatchObject({ type_url: type, resources: [{ type_url: type }] });
    expect(server.clients()).toMatchObject([{}, { method: `Stream${suffix}` }]);
    sotw.send({ type_url: 'other', resource_names: [name] });
    expect(await sotw.ended).toEqual({
      code: 3,
      details: `type_url: Stream${suffix} is for ${type}, not other`,
    });
  });

  it('require a type URL on an aggregated stream', async () => {
    const { client } = await setUp();
    const stream = client.open();
    stream.send('', { node, sub: ['a'] });
    expect(await stream.ended).toEqual({ code: 3, details: 'type_url: field not present' });
  });
});
