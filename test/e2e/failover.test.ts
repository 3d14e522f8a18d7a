import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { Load } from '../support/load';
import { Mesh, SERVICE, type MeshResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

const TYPE = 'type.googleapis.com';
const RECONNECT_SOON = { 'grpc.initial_reconnect_backoff_ms': 100 };

function aggregateJson(name: string, clusters: readonly string[]): Json {
  return {
    name,
    cluster_type: {
      name: 'envoy.clusters.aggregate',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.clusters.aggregate.v3.ClusterConfig`,
        clusters,
      },
    },
    lb_policy: 'ROUND_ROBIN',
  };
}

function dnsJson(name: string, port: number): Json {
  const address = { socket_address: { address: 'localhost', port_value: port } };
  return {
    name,
    type: 'LOGICAL_DNS',
    lb_policy: 'ROUND_ROBIN',
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }],
    },
  };
}

function routed(clusters: readonly Json[], endpoints: readonly Json[]): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('echo')])],
    clusters,
    endpoints,
  };
}

type Ports = readonly [first: number, second: number];

/** Two places for calls, the first one preferred, by how the resources say so. */
const shapes: readonly (readonly [name: string, make: (ports: Ports) => MeshResources])[] = [
  [
    'priorities of one cluster',
    ([first, second]) =>
      routed(
        [edsClusterJson('echo')],
        [
          endpointsJson('echo', [
            { zone: 'a', ports: [first] },
            { zone: 'b', priority: 1, ports: [second] },
          ]),
        ],
      ),
  ],
  [
    'an aggregate of two EDS clusters',
    ([first, second]) =>
      routed(
        [aggregateJson('echo', ['one', 'two']), edsClusterJson('one'), edsClusterJson('two')],
        [
          endpointsJson('one', [{ zone: 'a', ports: [first] }]),
          endpointsJson('two', [{ zone: 'a', ports: [second] }]),
        ],
      ),
  ],
  [
    'an aggregate of EDS, then DNS',
    ([first, second]) =>
      routed(
        [aggregateJson('echo', ['one', 'two']), edsClusterJson('one'), dnsJson('two', second)],
        [endpointsJson('one', [{ zone: 'a', ports: [first] }])],
      ),
  ],
  [
    'an aggregate of DNS, then EDS',
    ([first, second]) =>
      routed(
        [aggregateJson('echo', ['one', 'two']), dnsJson('one', first), edsClusterJson('two')],
        [endpointsJson('two', [{ zone: 'a', ports: [second] }])],
      ),
  ],
];

async function untilAnsweredBy(client: EchoClient, name: string): Promise<void> {
  await eventually(
    () => client.say(),
    (answer) => answer === name,
  );
}

describe.each(shapes)('failover between %s', (_, makeResources) => {
  let mesh: Mesh;
  let first: EchoBackend;
  let second: EchoBackend;
  let client: EchoClient;

  beforeEach(async () => {
    mesh = await Mesh.start();
    [first, second] = [await mesh.backend('first'), await mesh.backend('second')];
    mesh.serve(makeResources([first.port, second.port]));
    client = mesh.client(RECONNECT_SOON);
  });
  afterEach(() => {
    mesh.stop();
  });

  it('goes to the second when the first is lost, and back, and no call fails', async () => {
    await untilAnsweredBy(client, 'first');
    expect(second.peers.size).toBe(0);
    const load = new Load(client, 2);
    await first.drain();
    await untilAnsweredBy(client, 'second');
    await first.listen();
    await untilAnsweredBy(client, 'first');
    const { failures, calls } = await load.stop();
    expect(failures).toEqual([]);
    expect(calls).toBeGreaterThan(10);
    expect(first.peers.size).toBe(2);
    expect(second.peers.size).toBe(1);
  });

  it('begins with the second when the first was never there', async () => {
    first.stop();
    expect(await client.say()).toBe('second');
    await first.listen();
    await untilAnsweredBy(client, 'first');
  });

  it('fails calls only while neither is there', async () => {
    await untilAnsweredBy(client, 'first');
    first.stop();
    second.stop();
    await eventually(
      () => client.say().catch((error: Error) => error.message),
      (answer) => answer.includes('ECONNREFUSED'),
    );
    await second.listen();
    await eventually(
      () => client.say().catch(() => ''),
      (answer) => answer === 'second',
    );
  });
});
