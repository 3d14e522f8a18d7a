import {
  buildXdsConfig,
  type BuildInput,
  type BuildResult,
} from '../../src/dependency-manager/build-xds-config';
import { ChangeLog } from '../../src/dependency-manager/change-log';
import { nextBuild } from '../../src/dependency-manager/next-build';
import { waiting, type Observed } from '../../src/dependency-manager/observations';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import type { ClusterResource } from '../../src/resources/cluster';
import type { EndpointsResource } from '../../src/resources/endpoints';
import type { ListenerResource } from '../../src/resources/listener';
import type { RouteConfigResource } from '../../src/resources/route-config';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  listener,
  routeConfig,
  virtualHostTo,
  xdsError,
} from '../support/xds-builders';
import { seededRandom } from '../support/seeded-random';

function value<T>(of: T, ambientMessage?: string): Observed<T> {
  const ambient = ambientMessage === undefined ? undefined : xdsError(ambientMessage, 'invalid');
  return { kind: 'value', value: of, ambient };
}

function failure(message: string): Observed<never> {
  return { kind: 'error', error: xdsError(message) };
}

/** What a dependency manager has been told, and the builds it makes of it. */
class World {
  listener: Observed<ListenerResource> = value(listener('svc'));
  routes: Observed<RouteConfigResource> = waiting;
  subscribed: readonly string[] = [];
  readonly clusters = new Map<string, Observed<ClusterResource>>();
  readonly endpoints = new Map<string, Observed<EndpointsResource>>();
  readonly dns = new Map<string, Observed<EndpointsResource>>();
  /** Clusters that were looked at since this was emptied. */
  readonly visited = new Set<string>();
  readonly changes = new ChangeLog();
  private last: BuildResult | undefined;
  private latestConfig: XdsConfig | undefined;

  /** A target with a route to each of the clusters. */
  static of(...clusters: readonly string[]): World {
    const world = new World();
    world.routeTo(clusters);
    return world;
  }

  routeTo(clusters: readonly string[]): void {
    const weighted = clusters.map((name) => [name, 1] as const);
    this.routes = value(routeConfig('svc-routes', virtualHostTo(weighted)));
    this.changes.addOther();
  }

  setCluster(name: string, observed: Observed<ClusterResource>): this {
    this.clusters.set(name, observed);
    this.changes.add('clusters', name);
    return this;
  }

  setEndpoints(name: string, observed: Observed<EndpointsResource>): this {
    this.endpoints.set(name, observed);
    this.changes.add('endpoints', name);
    return this;
  }

  setDns(key: string, observed: Observed<EndpointsResource>): this {
    this.dns.set(key, observed);
    this.changes.add('dns', key);
    return this;
  }

  /** The build after what has changed since the last one. */
  build(): BuildResult {
    this.last = nextBuild(this.last, this.changes.take(), this.input(this.latestConfig));
    if (this.last.outcome.kind === 'config') this.latestConfig = this.last.outcome.config;
    return this.last;
  }

  /** What a walk comes to that knows of no build before. */
  walk(): BuildResult {
    return buildXdsConfig(this.input(undefined));
  }

  private input(previous: XdsConfig | undefined): BuildInput {
    return {
      listenerName: 'svc',
      host: 'svc',
      clientNote: 'xDS node "n1"',
      maxClusters: 100,
      subscribed: this.subscribed,
      previous,
      observed: {
        listener: this.listener,
        routeConfig: () => this.routes,
        cluster: (name) => {
          this.visited.add(name);
          return this.clusters.get(name);
        },
        endpoints: (name) => this.endpoints.get(name),
        dns: (key) => this.dns.get(key),
      },
    };
  }
}

/** A build as plain data. */
function describeBuild({ needed, outcome }: BuildResult) {
  const names = {
    routeConfigs: [...needed.routeConfigs],
    clusters: [...needed.clusters].sort(),
    endpoints: [...needed.endpoints].sort(),
    dns: [...needed.dns].sort(),
  };
  if (outcome.kind !== 'config') return { names, outcome };
  const { clusters, ...rest } = outcome.config;
  return {
    names,
    config: { ...rest, clusters: [...clusters].sort(([a], [b]) => (a < b ? -1 : 1)) },
  };
}

function configOf({ outcome }: BuildResult): XdsConfig {
  if (outcome.kind !== 'config') throw new Error(`The outcome is ${outcome.kind}`);
  return outcome.config;
}

/** Clusters `a` and `b` with endpoints of their own, and `c` with those of `b`. */
function abc(): World {
  return World.of('a', 'b', 'c')
    .setCluster('a', value(edsCluster('a')))
    .setCluster('b', value(edsCluster('b')))
    .setCluster('c', value(edsCluster('c', 'b')))
    .setEndpoints('a', value(endpoints('a', '10.0.0.1')))
    .setEndpoints('b', value(endpoints('b', '10.0.0.2')));
}

function visitedBy(world: World): readonly string[] {
  world.visited.clear();
  world.build();
  return [...world.visited].sort();
}

describe('nextBuild', () => {
  it.each<[string, (world: World) => unknown, readonly string[]]>([
    ['nothing', () => {}, []],
    ['the endpoints of one', (w) => w.setEndpoints('a', value(endpoints('a', '10.0.0.9'))), ['a']],
    ['shared endpoints', (w) => w.setEndpoints('b', value(endpoints('b'))), ['b', 'c']],
    ['endpoints that are gone', (w) => w.setEndpoints('a', failure('gone')), ['a']],
    ['endpoints nobody uses', (w) => w.setEndpoints('z', failure('gone')), []],
    ['a cluster, but not its source', (w) => w.setCluster('a', value(edsCluster('a'))), ['a']],
    ['a cluster nobody names', (w) => w.setCluster('z', value(edsCluster('z'))), []],
    [
      'the source of a cluster',
      (w) => w.setCluster('a', value(edsCluster('a', 'b'))),
      ['a', 'b', 'c'],
    ],
    ['a cluster that is gone', (w) => w.setCluster('a', failure('gone')), ['a', 'b', 'c']],
    ['the routes', (w) => w.routeTo(['a', 'b']), ['a', 'b']],
  ])('looks only at the clusters concerned after a change of %s', (_what, change, visited) => {
    const world = abc();
    world.build();
    change(world);
    expect(visitedBy(world)).toEqual(visited);
    expect(describeBuild(world.build())).toEqual(describeBuild(world.walk()));
  });

  it('looks at a DNS cluster alone when the answer changed', () => {
    const world = abc().setCluster('c', value(dnsCluster('c', 'host', 80)));
    world.setDns('host:80', value(endpoints('c', '10.0.0.3'))).build();
    world.setDns('host:80', value(endpoints('c', '10.0.0.4')));
    expect(visitedBy(world)).toEqual(['c']);
  });

  it('shares everything else, and needs the very same watches', () => {
    const world = abc();
    const before = world.build();
    const after = world.setEndpoints('a', value(endpoints('a', '10.0.0.9'))).build();
    expect(after.needed).toBe(before.needed);
    expect(configOf(after).virtualHost).toBe(configOf(before).virtualHost);
    expect(configOf(after).clusters.get('b')).toBe(configOf(before).clusters.get('b'));
    expect(configOf(after).clusters.get('a')).not.toBe(configOf(before).clusters.get('a'));
  });

  it('gives the very same build when a report says nothing new', () => {
    const world = abc();
    const before = world.build();
    const known = world.endpoints.get('a') ?? waiting;
    expect(world.setEndpoints('a', known).build()).toBe(before);
  });

  it('comes to a config when the last thing missing arrives', () => {
    const world = abc().setEndpoints('a', waiting);
    expect(world.build().outcome.kind).toBe('incomplete');
    world.setEndpoints('a', value(endpoints('a')));
    expect(visitedBy(world)).toEqual(['a']);
    expect(configOf(world.build()).clusters.size).toBe(3);
  });

  it('is at any time what a walk from the start comes to', () => {
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 40; seed++) {
      const editor = new Editor(seed);
      for (let step = 0; step < 60; step++) {
        editor.edit();
        const build = editor.world.build();
        kinds.add(build.outcome.kind);
        expect(describeBuild(build)).toEqual(describeBuild(editor.world.walk()));
      }
    }
    expect([...kinds].sort()).toEqual(['config', 'error', 'incomplete']);
  });
});

const CLUSTERS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5'];
const SERVICES = ['s0', 's1', 's2'];
const HOSTS = ['h0', 'h1'];

/** Changes a world at random; more often such that little has to be built anew. */
class Editor {
  readonly world = World.of(...CLUSTERS.slice(0, 3));
  private readonly random: () => number;
  private serial = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    for (const name of CLUSTERS) this.world.setCluster(name, this.cluster(name));
    for (const name of SERVICES) this.world.setEndpoints(name, this.endpoints());
    for (const name of HOSTS) this.world.setDns(`${name}:80`, this.endpoints());
  }

  edit(): void {
    do this.editOnce();
    while (this.random() < 0.4);
  }

  private editOnce(): void {
    const { world } = this;
    const dice = this.random();
    if (dice < 0.4) world.setEndpoints(this.oneOf(SERVICES), this.endpoints());
    else if (dice < 0.55) world.setDns(`${this.oneOf(HOSTS)}:80`, this.endpoints());
    else if (dice < 0.9) {
      const name = this.oneOf(CLUSTERS);
      world.setCluster(name, this.cluster(name));
    } else this.editBeyondClusters();
  }

  private editBeyondClusters(): void {
    const { world } = this;
    world.changes.addOther();
    const dice = this.random();
    if (dice < 0.4) world.subscribed = this.some(CLUSTERS);
    else if (dice < 0.8) world.routeTo([this.oneOf(CLUSTERS), ...this.some(CLUSTERS)]);
    else if (dice < 0.9) world.listener = value(listener('svc'), this.maybe('stale'));
    else world.listener = this.oneOf([failure('no listener'), waiting, value(listener('svc'))]);
  }

  private cluster(name: string): Observed<ClusterResource> {
    const dice = this.random();
    if (dice < 0.07) return waiting;
    if (dice < 0.15) return failure(`no ${name} ${this.serial++}`);
    const ambient = this.maybe(`${name} is stale`);
    if (dice < 0.6) return value(edsCluster(name, this.oneOf(SERVICES)), ambient);
    if (dice < 0.75) return value(dnsCluster(name, this.oneOf(HOSTS), 80), ambient);
    return value(aggregateCluster(name, ...this.some(CLUSTERS)), ambient);
  }

  private endpoints(): Observed<EndpointsResource> {
    const dice = this.random();
    if (dice < 0.07) return waiting;
    if (dice < 0.2) return failure(`no endpoints ${this.serial++}`);
    return value(endpoints('e', `10.0.0.${this.serial++}`), this.maybe('endpoints are stale'));
  }

  private maybe(text: string): string | undefined {
    return this.random() < 0.2 ? text : undefined;
  }

  private some<T>(list: readonly T[]): readonly T[] {
    return list.filter(() => this.random() < 0.3);
  }

  private oneOf<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.random() * list.length)];
    if (item === undefined) throw new Error('There is nothing to choose from');
    return item;
  }
}
