import { observeProcess } from '../../src/internal';
import { ClientState } from '../../packages/page/src/process/client-state';
import { ProcessEvents } from '../../packages/page/src/process/events';
import { PastStates } from '../../packages/page/src/process/past-states';
import { Metadata } from '../../src/grpc-js';
import { systemClock } from '../../src/util/clock';
import type { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { useSharedMesh, type MeshResources } from '../support/mesh';
import { seededRandom } from '../support/seeded-random';
import {
  edsClusterJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

const ROUNDS = 20;
/** Each is in a state of its own in each round. */
const SERVICES = Array.from({ length: 10 }, (_, i) => ({
  target: `xds:///service-${i}`,
  name: `service-${i}`,
  clusters: [`service-${i}-a`, `service-${i}-b`],
}));
/** Nothing listens at these ports. */
const DEAD = [1, 2, 3];

describe('what the page says of a target', () => {
  const mesh = useSharedMesh();
  const random = seededRandom(46);
  let alive: readonly number[];
  let clients: ReadonlyMap<string, EchoClient>;

  beforeAll(async () => {
    const backends = await Promise.all(['1', '2', '3'].map((name) => mesh.backend(name)));
    alive = backends.map(({ port }) => port);
    clients = new Map(SERVICES.map(({ target }) => [target, mesh.client({}, target)]));
  });

  /** Up to four localities in up to two priorities, each with endpoints of which some are not there. */
  function randomEndpoints(cluster: string): Json {
    const zones = ['v', 'w', 'x', 'y'].slice(0, Math.floor(random() * 5));
    // An address is in one zone at most: an assignment that has one twice is rejected.
    const placed = [...alive, ...DEAD].map((port_value) => ({
      zone: zones[Math.floor(random() * (zones.length + 2))],
      endpoint: { address: { socket_address: { address: '127.0.0.1', port_value } } },
    }));
    return {
      cluster_name: cluster,
      endpoints: zones.map((zone, index) => ({
        locality: { region: 'eu', zone },
        priority: index < 2 ? 0 : 1,
        load_balancing_weight: 1 + Math.floor(random() * 5),
        lb_endpoints: placed
          .filter((each) => each.zone === zone)
          .map(({ endpoint }) => ({ endpoint })),
      })),
    };
  }

  function randomMesh(): MeshResources {
    const clusters = SERVICES.flatMap((service) => service.clusters);
    return {
      listeners: SERVICES.map(({ name }) => listenerJson(name)),
      routes: SERVICES.map((service) =>
        routeConfigJson(
          `${service.name}-routes`,
          service.clusters.map((name) => ({
            ...routeToCluster(name),
            match: { prefix: '', headers: [{ name: 'x-cluster', exact_match: name }] },
          })),
        ),
      ),
      clusters: clusters.map((name) => edsClusterJson(name)),
      endpoints: clusters.map(randomEndpoints),
    };
  }

  /** Returns whether a call to a cluster succeeds. */
  async function isReached(target: string, cluster: string): Promise<boolean> {
    const client = clients.get(target);
    if (client === undefined) throw new Error(`no client of ${target}`);
    const metadata = new Metadata();
    metadata.set('x-cluster', cluster);
    return client.say({ metadata, deadlineMs: 5000 }).then(
      () => true,
      () => false,
    );
  }

  /** Reads the states of each target in the list, and of the target and its clusters in the graph. */
  function readPage() {
    const events = new ProcessEvents(systemClock);
    const state = new ClientState(observeProcess().inspected(), events, new PastStates());
    events.release();
    const opened = new Set<string>();
    const view = (name: string, target = '') =>
      state.view({ name, target, filter: '', offset: 0, opened }).rows;
    const list = view('targets');
    return SERVICES.map(({ target, clusters }) => {
      const graph = view('graph', target);
      const stateOf = (column: string, name: string) =>
        String(graph.find((row) => row.column === column && row.name === name)?.state);
      return {
        listed: String(list.find(({ id }) => id === target)?.state),
        drawn: stateOf('target', target),
        clusters: clusters.map((name) => stateOf('cluster', name)),
      };
    });
  }

  /** Returns the targets whose state on the page is not what their calls see. */
  async function findDifferences(): Promise<readonly object[]> {
    const seen = await Promise.all(
      SERVICES.map(({ target, clusters }) =>
        Promise.all(clusters.map((name) => isReached(target, name))),
      ),
    );
    return readPage().flatMap(({ listed, drawn, clusters }, index) => {
      const reached = seen[index] ?? [];
      const isTrue = clusters.every((state, i) =>
        (reached[i] === true ? ['ready', 'degraded'] : ['failing']).includes(state),
      );
      const all = new Set(clusters);
      const expected = all.size === 1 ? clusters[0] : 'degraded';
      const isSame = isTrue && listed === expected && drawn === expected;
      return isSame ? [] : [{ index, reached, listed, drawn, clusters }];
    });
  }

  /** Whether the client has accepted all that is served. */
  const isAccepted = () =>
    mesh.controlPlane
      .clients()
      .every(({ types }) =>
        [...types.values()].every(({ sentVersion, ackedVersion }) => sentVersion === ackedVersion),
      );

  it(`is what its calls see, in ${ROUNDS * SERVICES.length} random states of a mesh`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      mesh.serve(randomMesh());
      await eventually(isAccepted, true);
      await eventually(findDifferences, []);
    }
  }, 120_000);
});
