import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { Load } from '../support/load';
import {
  aggregateJson,
  dnsClusterJson,
  RECONNECT_SOON,
  routed,
  untilAnsweredBy,
} from '../support/failover';
import { type MeshResources, useMesh } from '../support/mesh';
import { edsClusterJson, endpointsJson } from '../support/xds-json';

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
        [
          aggregateJson('echo', ['one', 'two']),
          edsClusterJson('one'),
          dnsClusterJson('two', second),
        ],
        [endpointsJson('one', [{ zone: 'a', ports: [first] }])],
      ),
  ],
  [
    'an aggregate of DNS, then EDS',
    ([first, second]) =>
      routed(
        [
          aggregateJson('echo', ['one', 'two']),
          dnsClusterJson('one', first),
          edsClusterJson('two'),
        ],
        [endpointsJson('two', [{ zone: 'a', ports: [second] }])],
      ),
  ],
];

describe.each(shapes)('failover between %s', (_, makeResources) => {
  const mesh = useMesh();
  let first: EchoBackend;
  let second: EchoBackend;
  let client: EchoClient;

  beforeEach(async () => {
    [first, second] = [await mesh.backend('first'), await mesh.backend('second')];
    mesh.serve(makeResources([first.port, second.port]));
    client = mesh.client(RECONNECT_SOON);
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
    expect(calls).toBeGreaterThan(2);
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
    await eventually(() => client.say().catch(() => ''), 'second');
  });
});
