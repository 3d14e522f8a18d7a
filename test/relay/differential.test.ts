import { clusterKind, endpointKind, type SnapshotInput } from '../../src/control-plane';
import { cluster, endpoints, listener, route } from '../control-plane/resources';
import { eventually } from '../support/eventually';
import { VARIANTS } from '../support/mesh';
import { seededRandom } from '../support/seeded-random';
import { ObservedConfig, TARGET } from './observed-config';
import { RelayScene } from './relay-scene';

/** The number of changes, such as `RELAY_CHANGES=10000`. It takes minutes, so that without the variable nothing is compared. */
const CHANGES = Number(process.env['RELAY_CHANGES'] ?? 0);
/** Far above the 15 s after which a resource that its server does not send is known not to exist (gRFC A57). */
const WAIT_MS = 60_000;
const MARKER = 'marker';
const CLUSTERS = ['a', 'b', 'c'];
const ROUTES = 'routes';

jest.setTimeout(180_000 + CHANGES * 400);

/** The variant of the relay at its server, and that of the clients. */
const mixes = VARIANTS.flatMap(([above, upstream]) =>
  VARIANTS.map(([below, features]) => [above, below, upstream, features] as const),
);

type Pick = <T>(from: readonly T[]) => T;

/** What the control plane serves, changed at random. */
class World {
  private hasListener = true;
  private routeTo = 'a';
  private readonly kinds = new Map(CLUSTERS.map((name) => [name, 'good']));
  private readonly ports = new Map(CLUSTERS.map((name) => [name, [1]]));
  private readonly policies = new Map<string, 'ROUND_ROBIN' | 'RING_HASH'>();

  constructor(
    private readonly pick: Pick,
    private readonly random: () => number,
  ) {}

  change(): void {
    const name = this.pick(CLUSTERS);
    const kinds = ['good', 'good', 'gone', 'bad endpoints', 'bad cluster', 'error', 'denied'];
    const act = this.pick(['listener', 'route', 'kind', 'kind', 'kind', 'ports', 'policy']);
    if (act === 'listener') this.hasListener = !this.hasListener;
    else if (act === 'route') this.routeTo = name;
    else if (act === 'kind') this.kinds.set(name, this.pick(kinds));
    else if (act === 'policy') this.policies.set(name, this.pick(['ROUND_ROBIN', 'RING_HASH']));
    else this.ports.set(name, [1 + Math.floor(this.random() * 1000), 2000]);
  }

  serve(step: number): SnapshotInput {
    const present = CLUSTERS.filter((name) => this.kinds.get(name) !== 'gone');
    const of = (kind: string) => CLUSTERS.filter((name) => this.kinds.get(name) === kind);
    const weighted = CLUSTERS.map((name, weight) => ({ name, weight: weight + 1 }));
    const first = route(ROUTES, this.routeTo);
    const all = {
      ...first,
      virtual_hosts: [
        {
          ...{ name: 'all', domains: ['*'] },
          routes: [
            { match: { prefix: '/x' }, route: { cluster: this.routeTo } },
            { match: { prefix: '' }, route: { weighted_clusters: { clusters: weighted } } },
          ],
        },
      ],
    };
    const marker = {
      name: MARKER,
      virtual_hosts: [{ name: 'v', domains: [`step-${step}`], routes: [] }],
    };
    return {
      listeners: this.hasListener ? [listener(TARGET, ROUTES)] : [],
      routes: [all, marker],
      clusters: present.map((name) => this.clusterOf(name)),
      endpoints: CLUSTERS.map((name) => this.endpointsOf(name)),
      errors: [
        ...of('error').map((name) => ({ kind: endpointKind, name, code: 14, message: 'later' })),
        ...of('denied').map((name) => ({ kind: clusterKind, name, code: 7, message: 'never' })),
      ],
    } as SnapshotInput;
  }

  private clusterOf(name: string) {
    const bad = { type: 'EDS', eds_cluster_config: { eds_config: { path: 'x' } } };
    const isBad = this.kinds.get(name) === 'bad cluster';
    const policy = { lb_policy: this.policies.get(name) ?? 'ROUND_ROBIN' };
    return { ...cluster(name), ...policy, ...(isBad ? bad : {}) };
  }

  private endpointsOf(name: string) {
    const ports = this.ports.get(name) ?? [];
    const good = endpoints(name, ...ports);
    if (this.kinds.get(name) !== 'bad endpoints') return good;
    const locality = { locality: { region: 'x' }, load_balancing_weight: 1, priority: 3 };
    return { ...good, endpoints: [{ ...locality, lb_endpoints: [] }] };
  }
}

const describeLong = CHANGES > 0 ? describe : describe.skip;

describeLong('a client behind a relay and one beside it', () => {
  it.each(mixes)('have the same config: %s above, %s below', async (...mix) => {
    const [, , upstream, features] = mix;
    const seed = mixes.findIndex(([a, b]) => a === mix[0] && b === mix[1]);
    const random = seededRandom(4711 + seed);
    const pick: Pick = (from) => from[Math.floor(random() * from.length)] as never;
    const drop = seed % 2 === 0 ? ['fail_on_data_errors'] : [];
    const scene = await RelayScene.start({}, upstream);
    const world = new World(pick, random);
    const used = [...features, ...drop];
    const direct = new ObservedConfig('direct', scene.upstream, used, MARKER);
    const behind = new ObservedConfig('behind', scene.listen, used, MARKER);
    try {
      const steps = Math.ceil(CHANGES / mixes.length);
      for (let step = 0; step <= steps; step++) {
        // What is removed before a client has had it is not what is removed after that.
        if (step > 0) world.change();
        const input = world.serve(step);
        if (step === 0) scene.serve(input);
        else if (step % 8 === 4) {
          scene.controlPlane.kill();
          await scene.restartControlPlane(input);
        } else if (step % 8 === 0) {
          scene.relay.kill();
          scene.serve(input);
          await scene.startRelay();
        } else {
          scene.serve(input);
        }
        const isThere = ({ marker }: ObservedConfig) => marker === `step-${step}`;
        await eventually(
          () => [direct.marker, behind.marker],
          () => isThere(direct) && isThere(behind),
          WAIT_MS,
        );
        await eventually(
          () => [direct.describe(), behind.describe()],
          ([a, b]) => a === b,
          WAIT_MS,
        ).catch(() => {
          throw new Error(
            `seed ${seed}, step ${step}:\n${direct.describe()}\n${behind.describe()}`,
          );
        });
      }
    } finally {
      direct.close();
      behind.close();
      scene.stop();
    }
  });
});
