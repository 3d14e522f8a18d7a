import { clusterKind, endpointKind, type SnapshotInput } from '../../src/control-plane';
import { cluster, endpoints, listener, route } from '../control-plane/resources';
import { MARKER, TARGET, markerText } from './observed-config';

const ADS = { ads: {}, resource_api_version: 'V3' };
const CLUSTERS = ['a', 'b', 'c'];
const ROUTES = 'routes';
const KINDS = ['good', 'good', 'gone', 'bad endpoints', 'bad cluster', 'error', 'denied'];
const ACTS = ['listener', 'route', 'kind', 'kind', 'kind', 'ports', 'policy'];

/** What a control plane serves, changed at random. */
export class ChangingWorld {
  private hasListener = true;
  private routeTo = 'a';
  private readonly kinds = new Map(CLUSTERS.map((name) => [name, 'good']));
  private readonly ports = new Map(CLUSTERS.map((name) => [name, [1]]));
  private readonly policies = new Map<string, string>();

  constructor(private readonly random: () => number) {}

  change(): void {
    const name = this.pick(CLUSTERS);
    const act = this.pick(ACTS);
    if (act === 'listener') this.hasListener = !this.hasListener;
    else if (act === 'route') this.routeTo = name;
    else if (act === 'kind') this.kinds.set(name, this.pick(KINDS));
    else if (act === 'policy') this.policies.set(name, this.pick(['ROUND_ROBIN', 'RING_HASH']));
    else this.ports.set(name, [1 + Math.floor(this.random() * 1000), 2000]);
  }

  /** Returns all resources. A marker of each type says of which step they are. */
  serve(step: number): SnapshotInput {
    const text = markerText(step);
    const present = CLUSTERS.filter((name) => this.kinds.get(name) !== 'gone');
    const of = (kind: string) => CLUSTERS.filter((name) => this.kinds.get(name) === kind);
    const domains = [text];
    return {
      listeners: [...(this.hasListener ? [listener(TARGET, ROUTES)] : []), listener(MARKER, text)],
      routes: [
        this.routes(),
        { name: MARKER, virtual_hosts: [{ name: 'v', domains, routes: [] }] },
      ],
      clusters: [
        ...present.map((name) => this.clusterOf(name)),
        { ...cluster(MARKER), eds_cluster_config: { eds_config: ADS, service_name: text } },
      ],
      endpoints: [
        ...CLUSTERS.map((name) => this.endpointsOf(name)),
        { cluster_name: MARKER, endpoints: [{ locality: { region: text } }] },
      ],
      errors: [
        ...of('error').map((name) => ({ kind: endpointKind, name, code: 14, message: 'later' })),
        ...of('denied').map((name) => ({ kind: clusterKind, name, code: 7, message: 'never' })),
      ],
    };
  }

  private pick<T>(from: readonly T[]): T {
    const picked = from[Math.floor(this.random() * from.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  private routes() {
    const clusters = CLUSTERS.map((name, weight) => ({ name, weight: weight + 1 }));
    const routes = [
      { match: { prefix: '/x' }, route: { cluster: this.routeTo } },
      { match: { prefix: '' }, route: { weighted_clusters: { clusters } } },
    ];
    const virtual_hosts = [{ name: 'all', domains: ['*'], routes }];
    return { ...route(ROUTES, this.routeTo), virtual_hosts };
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
