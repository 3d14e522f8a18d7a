import { observeProcess } from '../../src/internal';
import { ClientState } from '../../packages/page/src/process/client-state';
import { ProcessEvents } from '../../packages/page/src/process/events';
import { PastStates } from '../../packages/page/src/process/past-states';
import { Metadata } from '../../src/grpc-js';
import { systemClock } from '../../src/util/clock';
import type { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, useSharedMesh, type MeshResources } from '../support/mesh';
import { seededRandom } from '../support/seeded-random';
import {
  edsClusterJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../support/xds-json';

const STATES = 60;
const CLUSTERS = ['a', 'b'];
/** Nothing listens at these ports. */
const DEAD = [1, 2, 3];

describe('what the page says of a target', () => {
  const mesh = useSharedMesh();
  const random = seededRandom(46);
  let alive: readonly number[];
  let client: EchoClient;

  beforeAll(async () => {
    const backends = await Promise.all(['1', '2', '3'].map((name) => mesh.backend(name)));
    alive = backends.map(({ port }) => port);
    client = mesh.client();
  });

  const pick = (ports: readonly number[], most: number) =>
    ports.toSorted(() => random() - 0.5).slice(0, Math.floor(random() * (most + 1)));

  /** Up to four localities in up to two priorities, each with endpoints of which some are not there. */
  function randomEndpoints(cluster: string): Json {
    const zones = ['v', 'w', 'x', 'y'].slice(0, Math.floor(random() * 5));
    return {
      cluster_name: cluster,
      endpoints: zones.map((zone, index) => ({
        locality: { region: 'eu', zone },
        priority: index < 2 ? 0 : 1,
        load_balancing_weight: 1 + Math.floor(random() * 5),
        lb_endpoints: [...pick(alive, 2), ...pick(DEAD, 2)].map((port_value) => ({
          endpoint: { address: { socket_address: { address: '127.0.0.1', port_value } } },
        })),
      })),
    };
  }

  function randomMesh(): MeshResources {
    return {
      listeners: [listenerJson(SERVICE)],
      routes: [
        routeConfigJson(
          `${SERVICE}-routes`,
          CLUSTERS.map((name) => ({
            ...routeToCluster(name),
            match: { prefix: '', headers: [{ name: 'x-cluster', exact_match: name }] },
          })),
        ),
      ],
      clusters: CLUSTERS.map((name) => edsClusterJson(name)),
      endpoints: CLUSTERS.map(randomEndpoints),
    };
  }

  /** Returns whether a call to a cluster succeeds. */
  async function isReached(cluster: string): Promise<boolean> {
    const metadata = new Metadata();
    metadata.set('x-cluster', cluster);
    return client.say({ metadata, deadlineMs: 5000 }).then(
      () => true,
      () => false,
    );
  }

  /** Reads the states of the target in the list, and of the target and its clusters in the graph. */
  function readPage(): {
    readonly listed: string;
    readonly drawn: string;
    readonly clusters: readonly string[];
  } {
    const events = new ProcessEvents(systemClock);
    const state = new ClientState(observeProcess().inspected(), events, new PastStates());
    events.release();
    const empty = new Set<string>();
    const view = (name: string) =>
      state.view({ name, target: '', filter: '', offset: 0, opened: empty }).rows;
    const graph = view('graph');
    const stateOf = (column: string, name: string) =>
      String(graph.find((row) => row.column === column && row.name === name)?.state);
    return {
      listed: String(view('targets')[0]?.state),
      drawn: stateOf('target', `xds:///${SERVICE}`),
      clusters: CLUSTERS.map((name) => stateOf('cluster', name)),
    };
  }

  it(`is what its calls see, in ${STATES} random states of a mesh`, async () => {
    for (let round = 0; round < STATES; round++) {
      mesh.serve(randomMesh());
      await eventually(
        async () => {
          const reached = await Promise.all(CLUSTERS.map(isReached));
          const { listed, drawn, clusters } = readPage();
          const isTrue = clusters.every((state, i) =>
            (reached[i] === true ? ['ready', 'degraded'] : ['failing']).includes(state),
          );
          const all = new Set(clusters);
          const expected = all.size === 1 ? clusters[0] : 'degraded';
          return isTrue && listed === expected && drawn === expected
            ? 'is true'
            : JSON.stringify({ round, reached, listed, drawn, clusters });
        },
        (said) => said === 'is true',
      );
    }
  }, 120_000);
});
