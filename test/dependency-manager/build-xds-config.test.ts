import {
  buildXdsConfig,
  type BuiltXdsConfig,
  type XdsConfigInputs,
} from '../../src/dependency-manager/build-xds-config';
import { waiting, type WatchReport } from '../../src/dependency-manager/observations';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type { EndpointsResource } from '../../src/resources/endpoints/endpoints';
import type { ListenerResource } from '../../src/resources/listener/listener';
import type { RouteConfigResource } from '../../src/resources/route-config/route-config';
import { MAX_LEAF_CLUSTERS } from '../../src/util/limits';
import { ok } from '../../src/util/result';
import { configOf, failure, outcomeOf, value, type Outcome } from '../support/config-world';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  inlineListener,
  listener,
  route,
  routeConfig,
  socketListener,
  virtualHost,
  virtualHostTo,
} from '../support/xds-builders';

const NOTE = 'xDS node "n1"';
const NEXT_STEP =
  ': add it to the domains of one, or set the channel option grpc.default_authority';
type Table<T> = Readonly<Record<string, WatchReport<T>>>;

interface World {
  readonly listener: WatchReport<ListenerResource>;
  readonly routeConfigs: Table<RouteConfigResource>;
  readonly clusters: Table<ClusterResource>;
  readonly endpoints: Table<EndpointsResource>;
  readonly dns: Table<EndpointsResource>;
}

const routesOfC = routeConfig('svc-routes', virtualHostTo('c'));
const clusterC = edsCluster('c');
const endpointsOfC = endpoints('c', '10.0.0.1');

/** Listener `svc`, routes `svc-routes`, one cluster `c`, all there. */
const complete: World = {
  listener: value(listener('svc')),
  routeConfigs: { 'svc-routes': value(routesOfC) },
  clusters: { c: value(clusterC) },
  endpoints: { c: value(endpointsOfC) },
  dns: {},
};

interface BuildOptions {
  readonly subscribed?: readonly string[];
  readonly maxClusters?: number;
}

interface BuildResult extends BuiltXdsConfig {
  readonly outcome: Outcome;
  /** Replaces the world, and builds the next config. */
  readonly next: (change: Partial<World>, options?: BuildOptions) => BuildResult;
}

/** Builds a config. @param previous The one before. Default: it is the first. */
function build(
  change: Partial<World>,
  { subscribed = [], maxClusters = 100 }: BuildOptions = {},
  previous?: BuiltXdsConfig,
): BuildResult {
  const world = { ...complete, ...change };
  const observed: XdsConfigInputs['observed'] = {
    listener: world.listener,
    routeConfigs: reportsOf(world.routeConfigs),
    clusters: reportsOf(world.clusters),
    endpoints: reportsOf(world.endpoints),
    dns: reportsOf(world.dns),
  };
  const inputs = {
    listenerName: 'svc',
    host: 'svc',
    clientNote: NOTE,
    maxClusters,
    observed,
    subscribed,
    acceptPart: false,
    nowMs: 0,
  };
  const built = buildXdsConfig(inputs, previous);
  const next: BuildResult['next'] = (nextChange, { subscribed: names } = {}) =>
    build(nextChange, { subscribed: names ?? [], maxClusters }, built);
  return { ...built, outcome: outcomeOf(built), next };
}

function reportsOf<T>(table: Table<T>): ReadonlyMap<string, WatchReport<T>> {
  return new Map(Object.entries(table));
}

function clusterOf(result: BuildResult, name: string) {
  const cluster = configOf(result).clusters.get(name);
  if (cluster === undefined) throw new Error(`There is no cluster ${name}`);
  return cluster;
}

function errorOf(result: BuildResult, name: string): string | undefined {
  const cluster = clusterOf(result, name);
  return cluster.ok ? undefined : cluster.error.message;
}

function noteOf(result: BuildResult, name = 'c'): string {
  const cluster = clusterOf(result, name);
  if (!cluster.ok || cluster.value.children.kind !== 'endpoints') {
    throw new Error(`Cluster ${name} has no note`);
  }
  return cluster.value.children.resolutionNote;
}

function neededOf({ needed }: BuildResult) {
  return {
    routeConfigs: [...needed.routeConfigs].sort(),
    clusters: [...needed.clusters].sort(),
    endpoints: [...needed.endpoints].sort(),
    dns: [...needed.dns.keys()].sort(),
  };
}

const nothing = { routeConfigs: [], clusters: [], endpoints: [], dns: [] };

describe('buildXdsConfig, when all is there', () => {
  it('gives the whole config', () => {
    const result = build({});
    const { clusters, ...rest } = configOf(result);
    expect(rest).toEqual({
      listener: listener('svc'),
      routeConfig: routesOfC,
      virtualHost: routesOfC.virtualHosts[0],
    });
    const children = { kind: 'endpoints', endpoints: endpointsOfC, resolutionNote: NOTE };
    expect([...clusters]).toEqual([['c', ok({ resource: clusterC, children })]]);
    expect(neededOf(result)).toEqual({
      ...nothing,
      routeConfigs: ['svc-routes'],
      clusters: ['c'],
      endpoints: ['c'],
    });
  });

  it('passes the very resources on', () => {
    const { listener: given } = complete;
    const config = configOf(build({}));
    expect(given.kind === 'value' && config.listener === given.value).toBe(true);
    expect(config.routeConfig).toBe(routesOfC);
    expect(config.virtualHost).toBe(routesOfC.virtualHosts[0]);
    const cluster = config.clusters.get('c');
    expect(cluster?.ok === true && cluster.value.resource).toBe(clusterC);
  });

  it('uses the inline routes of a listener, without a watch', () => {
    const inline = inlineListener('svc', routesOfC);
    const result = build({ listener: value(inline), routeConfigs: {} });
    expect(configOf(result).routeConfig).toBe(routesOfC);
    expect(neededOf(result).routeConfigs).toEqual([]);
  });

  it('looks for endpoints under the service name of the cluster', () => {
    const result = build({
      clusters: { c: value(edsCluster('c', 'service')) },
      endpoints: { service: value(endpointsOfC) },
    });
    expect(neededOf(result).endpoints).toEqual(['service']);
    expect(configOf(result).clusters.get('c')?.ok).toBe(true);
  });

  it('shares the endpoints of two clusters with one service name', () => {
    const routes = routeConfig('svc-routes', virtualHostTo(['a', 'b']));
    const result = build({
      routeConfigs: { 'svc-routes': value(routes) },
      clusters: { a: value(edsCluster('a', 's')), b: value(edsCluster('b', 's')) },
      endpoints: { s: value(endpointsOfC) },
    });
    expect(neededOf(result)).toMatchObject({ clusters: ['a', 'b'], endpoints: ['s'] });
    expect([...configOf(result).clusters.keys()].sort()).toEqual(['a', 'b']);
  });

  it('resolves the name of a DNS cluster', () => {
    const result = build({
      clusters: { c: value(dnsCluster('c', 'db.example', 5432)) },
      endpoints: {},
      dns: { 'db.example:5432': value(endpointsOfC) },
    });
    expect(neededOf(result)).toMatchObject({ endpoints: [], dns: ['db.example:5432'] });
    expect(result.needed.dns.get('db.example:5432')).toMatchObject({
      host: 'db.example',
      port: 5432,
    });
    expect(noteOf(result)).toBe(NOTE);
  });

  it('includes the clusters subscribed to, each once', () => {
    const result = build(
      {
        clusters: { c: value(clusterC), d: value(edsCluster('d')) },
        endpoints: { c: value(endpointsOfC), d: value(endpoints('d')) },
      },
      { subscribed: ['d', 'c'] },
    );
    expect([...configOf(result).clusters.keys()].sort()).toEqual(['c', 'd']);
    expect(neededOf(result).clusters).toEqual(['c', 'd']);
  });

  it('needs no cluster for routes that send nowhere', () => {
    const redirect = virtualHost([route({ kind: 'unsupported', action: 'redirect' })]);
    const result = build({
      routeConfigs: { 'svc-routes': value(routeConfig('svc-routes', redirect)) },
    });
    expect(configOf(result).clusters.size).toBe(0);
  });

  it('goes only by the routes of the virtual host for the target', () => {
    const routes = routeConfig(
      'svc-routes',
      virtualHostTo('other'),
      virtualHost([route(forwardTo('c'))], { name: 'mine', domains: ['svc'] }),
    );
    const result = build({ routeConfigs: { 'svc-routes': value(routes) } });
    expect(configOf(result).virtualHost.name).toBe('mine');
    expect(neededOf(result).clusters).toEqual(['c']);
  });

  it('treats names of object members as ordinary names', () => {
    const routes = routeConfig('svc-routes', virtualHostTo('constructor'));
    const result = build({ routeConfigs: { 'svc-routes': value(routes) }, clusters: {} });
    expect(result.outcome).toEqual({ kind: 'incomplete' });
    expect(neededOf(result).clusters).toEqual(['constructor']);
  });
});

describe('buildXdsConfig, while something is missing', () => {
  const two = routeConfig('svc-routes', virtualHostTo(['c', 'd']));
  it.each<[string, Partial<World>, object]>([
    ['the listener', { listener: waiting }, nothing],
    ['a watch of the routes', { routeConfigs: {} }, { ...nothing, routeConfigs: ['svc-routes'] }],
    [
      'the routes',
      { routeConfigs: { 'svc-routes': waiting } },
      { ...nothing, routeConfigs: ['svc-routes'] },
    ],
    ['a watch of the cluster', { clusters: {} }, { clusters: ['c'], endpoints: [] }],
    ['the cluster', { clusters: { c: waiting } }, { clusters: ['c'], endpoints: [] }],
    ['a watch of the endpoints', { endpoints: {} }, { clusters: ['c'], endpoints: ['c'] }],
    ['the endpoints', { endpoints: { c: waiting } }, { clusters: ['c'], endpoints: ['c'] }],
    [
      'one cluster of two',
      { routeConfigs: { 'svc-routes': value(two) } },
      { clusters: ['c', 'd'], endpoints: ['c'] },
    ],
    [
      'one cluster while the other is an error',
      { routeConfigs: { 'svc-routes': value(two) }, clusters: { d: failure('no d') } },
      { clusters: ['c', 'd'], endpoints: [] },
    ],
    [
      'the answer of DNS',
      { clusters: { c: value(dnsCluster('c', 'h', 1)) }, dns: { 'h:1': waiting } },
      { clusters: ['c'], dns: ['h:1'] },
    ],
    [
      'the second level of an aggregate',
      {
        clusters: {
          c: value(aggregateCluster('c', 'd', 'e')),
          d: value(aggregateCluster('d', 'f')),
          e: value(edsCluster('e')),
        },
        endpoints: { e: value(endpoints('e')) },
      },
      { clusters: ['c', 'd', 'e', 'f'], endpoints: ['e'] },
    ],
  ])('is incomplete without %s, and says what it needs so far', (_what, change, needed) => {
    const result = build(change);
    expect(result.outcome).toEqual({ kind: 'incomplete' });
    expect(neededOf(result)).toMatchObject(needed);
  });

  it('leaves out a cluster subscribed to until it has a result', () => {
    const result = build({}, { subscribed: ['extra'] });
    expect([...configOf(result).clusters.keys()]).toEqual(['c']);
    expect(neededOf(result).clusters).toEqual(['c', 'extra']);
  });
});

describe('buildXdsConfig, when the target cannot be used', () => {
  const elsewhere = routeConfig('svc-routes', virtualHost([], { domains: ['other', '*.svc'] }));
  it.each<[string, Partial<World>, string]>([
    ['the listener is an error', { listener: failure('no listener (n1)') }, 'no listener (n1)'],
    [
      'the listener is for a server',
      { listener: value(socketListener('svc')) },
      `Listener "svc" is a socket listener and cannot serve a client: it has no api_listener (${NOTE}): give it one, or use the name of another listener`,
    ],
    [
      'the routes are an error',
      { routeConfigs: { 'svc-routes': failure('no routes (n1)') } },
      'no routes (n1)',
    ],
    [
      'no virtual host matches',
      { routeConfigs: { 'svc-routes': value(elsewhere) } },
      `RouteConfiguration "svc-routes" has no virtual host for "svc" (${NOTE})${NEXT_STEP}`,
    ],
    [
      'no virtual host of inlined routes matches',
      { listener: value(inlineListener('svc', elsewhere)) },
      `RouteConfiguration "svc-routes" has no virtual host for "svc" (${NOTE})${NEXT_STEP}`,
    ],
  ])('is an error because %s', (_why, change, message) => {
    expect(build(change).outcome).toEqual({ kind: 'error', message });
  });

  it('keeps needing the routes whose replacement would help', () => {
    const result = build({ routeConfigs: { 'svc-routes': value(elsewhere) } });
    expect(neededOf(result)).toEqual({ ...nothing, routeConfigs: ['svc-routes'] });
  });
});

describe('buildXdsConfig, when something is wrong with a cluster', () => {
  it('keeps the error of a cluster to that cluster', () => {
    const routes = routeConfig('svc-routes', virtualHostTo(['c', 'd']));
    const result = build({
      routeConfigs: { 'svc-routes': value(routes) },
      clusters: { c: value(clusterC), d: failure('no such cluster d') },
    });
    expect(errorOf(result, 'd')).toBe('no such cluster d');
    expect(clusterOf(result, 'c').ok).toBe(true);
  });

  it('gives a cluster without endpoints the reason as its note', () => {
    const result = build({ endpoints: { c: failure('no endpoints (n1)') } });
    const cluster = clusterOf(result, 'c');
    expect(cluster.ok && cluster.value.children).toEqual({
      kind: 'endpoints',
      endpoints: undefined,
      resolutionNote: 'no endpoints (n1)',
    });
  });

  it.each<[string, Partial<World>, string]>([
    ['nothing: then names the client', {}, NOTE],
    ['the listener', { listener: value(listener('svc'), 'L') }, 'L'],
    ['the routes', { routeConfigs: { 'svc-routes': value(routesOfC, 'R') } }, 'R'],
    ['the cluster', { clusters: { c: value(clusterC, 'C') } }, 'C'],
    ['the endpoints', { endpoints: { c: value(endpointsOfC, 'E') } }, 'E'],
    [
      'everything at once, in the order of the walk',
      {
        listener: value(listener('svc'), 'L'),
        routeConfigs: { 'svc-routes': value(routesOfC, 'R') },
        clusters: { c: value(clusterC, 'C') },
        endpoints: { c: value(endpointsOfC, 'E') },
      },
      'L; R; C; E',
    ],
    [
      'routes, and endpoints that are missing',
      {
        routeConfigs: { 'svc-routes': value(routesOfC, 'R') },
        endpoints: { c: failure('E') },
      },
      'R; E',
    ],
    [
      'DNS, after it had an answer',
      {
        clusters: { c: value(dnsCluster('c', 'h', 1)) },
        dns: { 'h:1': value(endpointsOfC, 'D') },
      },
      'D',
    ],
  ])('notes what is wrong with %s', (_where, change, note) => {
    expect(noteOf(build(change))).toBe(note);
  });

  it('does not let the trouble of one cluster into the note of another', () => {
    const routes = routeConfig('svc-routes', virtualHostTo(['c', 'd']));
    const result = build({
      routeConfigs: { 'svc-routes': value(routes) },
      clusters: { c: value(clusterC, 'C'), d: value(edsCluster('d')) },
      endpoints: { c: value(endpointsOfC), d: value(endpoints('d'), 'D') },
    });
    expect(noteOf(result, 'c')).toBe('C');
    expect(noteOf(result, 'd')).toMatch(
      /^ClusterLoadAssignment "d": its only locality has no endpoint: [^;]*; D$/,
    );
  });
});

describe('buildXdsConfig with aggregate clusters', () => {
  const of = (clusters: Table<ClusterResource>, change: Partial<World> = {}) => {
    const leaves = Object.keys(clusters).map((name) => [name, value(endpoints(name))] as const);
    return build({ clusters, endpoints: Object.fromEntries(leaves), ...change });
  };
  const leavesOf = (result: BuildResult, name = 'c') => {
    const cluster = clusterOf(result, name);
    if (!cluster.ok) return cluster.error.message;
    const { children } = cluster.value;
    return children.kind === 'aggregate' ? children.leafClusters : children.kind;
  };

  it('lists the leaves and has each of them, and each aggregate, among the clusters', () => {
    const result = of({
      c: value(aggregateCluster('c', 'd', 'e')),
      d: value(aggregateCluster('d', 'f')),
      e: value(edsCluster('e')),
      f: value(edsCluster('f')),
    });
    expect(leavesOf(result)).toEqual(['f', 'e']);
    expect(leavesOf(result, 'd')).toEqual(['f']);
    expect([...configOf(result).clusters.keys()].sort()).toEqual(['c', 'd', 'e', 'f']);
  });

  it('mixes EDS and DNS', () => {
    const result = of(
      {
        c: value(aggregateCluster('c', 'd', 'e')),
        d: value(dnsCluster('d', 'h', 1)),
        e: value(edsCluster('e')),
      },
      { dns: { 'h:1': value(endpoints('d')) } },
    );
    expect(leavesOf(result)).toEqual(['d', 'e']);
    expect(neededOf(result)).toMatchObject({ endpoints: ['e'], dns: ['h:1'] });
  });

  it('watches both sides of a diamond once', () => {
    const result = of({
      c: value(aggregateCluster('c', 'd', 'e')),
      d: value(aggregateCluster('d', 'f')),
      e: value(aggregateCluster('e', 'f')),
      f: value(edsCluster('f')),
    });
    expect(leavesOf(result)).toEqual(['f']);
    expect(neededOf(result)).toMatchObject({ clusters: ['c', 'd', 'e', 'f'], endpoints: ['f'] });
  });

  it('keeps a leaf that cannot be had as a leaf, with its error among the clusters', () => {
    const result = of({
      c: value(aggregateCluster('c', 'd', 'e')),
      d: failure('no d'),
      e: value(edsCluster('e')),
    });
    expect(leavesOf(result)).toEqual(['d', 'e']);
    expect(errorOf(result, 'd')).toBe('no d');
  });

  it('is incomplete until every leaf has endpoints or an error', () => {
    const clusters = {
      c: value(aggregateCluster('c', 'd', 'e')),
      d: value(edsCluster('d')),
      e: value(edsCluster('e')),
    };
    const some = { d: failure('no endpoints of d') };
    expect(build({ clusters, endpoints: some }).outcome).toEqual({ kind: 'incomplete' });
    const all = { ...some, e: value(endpoints('e')) };
    expect(build({ clusters, endpoints: all }).outcome.kind).toBe('config');
  });

  it('uses the watched name of an aggregate, not that in its resource', () => {
    const watched = 'xdstp://a/envoy.config.cluster.v3.Cluster/c?x=1&y=2';
    const spelled = 'xdstp://a/envoy.config.cluster.v3.Cluster/c?y=2&x=1';
    const result = of(
      { [watched]: value(aggregateCluster(spelled, 'e')), e: value(edsCluster('e')) },
      { routeConfigs: { 'svc-routes': value(routeConfig('svc-routes', virtualHostTo(watched))) } },
    );
    expect(leavesOf(result, watched)).toEqual(['e']);
  });

  it('makes an aggregate of nothing but itself an error of that cluster, and names the client', () => {
    const result = of({
      c: value(aggregateCluster('c', 'd')),
      d: value(aggregateCluster('d', 'c')),
    });
    expect(leavesOf(result)).toBe(`aggregate cluster "c" leads to no leaf cluster (${NOTE})`);
    expect(leavesOf(result, 'd')).toBe(`aggregate cluster "d" leads to no leaf cluster (${NOTE})`);
  });

  describe('with a path of more clusters than are followed', () => {
    /** `c`, `c1`, … each name the next; the last is a leaf. */
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length }, (_, i) => {
          const name = i === 0 ? 'c' : `c${i}`;
          const resource = i + 1 < length ? aggregateCluster(name, `c${i + 1}`) : edsCluster(name);
          return [name, value(resource)] as const;
        }),
      );
    const tooDeep = (name: string) =>
      `aggregate cluster "${name}" is nested more than 16 clusters deep (${NOTE})`;

    it('makes every aggregate on the path an error, as its end is not in the config', () => {
      const result = of(chain(17));
      expect([leavesOf(result), leavesOf(result, 'c1')]).toEqual([tooDeep('c'), tooDeep('c1')]);
    });

    it('makes none an error that is on a shorter path to the end as well', () => {
      const world = { clusters: chain(17), endpoints: { c16: value(endpoints('c16')) } };
      const result = build(world, { subscribed: ['c1'] });
      expect([leavesOf(result), leavesOf(result, 'c1')]).toEqual([tooDeep('c'), ['c16']]);
    });
  });
});

describe('buildXdsConfig with more aggregates than are allowed', () => {
  const chain = (length: number): Table<ClusterResource> =>
    Object.fromEntries(
      Array.from({ length }, (_, i) => {
        const name = i === 0 ? 'c' : `c${i}`;
        return [name, value(aggregateCluster(name, `c${i + 1}`))];
      }),
    );

  it('needs no cluster deeper than an aggregate may be nested', () => {
    const { needed } = build({ clusters: chain(40) });
    expect(needed.clusters.size).toBe(16);
    expect(needed.clusters.has('c15')).toBe(true);
    expect(needed.clusters.has('c16')).toBe(false);
  });

  it('counts the depth of a cluster from the nearest route that leads to it', () => {
    const { needed } = build({ clusters: chain(40) }, { subscribed: ['c10'] });
    expect(needed.clusters.size).toBe(26);
  });

  it('rejects the aggregate that names too many, as a whole, and none of the others', () => {
    const names = Array.from({ length: 97 }, (_, i) => `x${i}`);
    const leaves = (...of: readonly string[]) =>
      Object.fromEntries(of.map((name) => [name, failure(`no ${name}`)]));
    const clusters = {
      c: value(aggregateCluster('c', 'small', 'big')),
      big: value(aggregateCluster('big', ...names, ...names)),
      small: value(aggregateCluster('small', 'y')),
      ...leaves('y', ...names),
    };
    const fits = build({ clusters }, { maxClusters: 101 });
    expect(clusterOf(fits, 'c').ok).toBe(true);
    const result = build({ clusters }, { maxClusters: 100 });
    expect(errorOf(result, 'big')).toBe(
      `aggregate cluster "big" is rejected: the clusters that "big" names would exceed the limit maxClustersPerTarget (100) (${NOTE})`,
    );
    expect(clusterOf(result, 'c').ok).toBe(false);
    expect(clusterOf(result, 'small').ok).toBe(true);
    expect(neededOf(result).clusters).toEqual(['big', 'c', 'small', 'y']);
  });

  it('does not count what running calls still use against the routes', () => {
    const clusters = { c: value(aggregateCluster('c', 'd')), d: failure('no d') };
    const subscribed = Array.from({ length: 10 }, (_, i) => `old-${i}`);
    const result = build({ clusters }, { subscribed, maxClusters: 2 });
    expect(result.needed.clusters.size).toBe(12);
  });

  /** Aggregates that lead to leaves which do not exist. */
  const aggregatesOf = (leaves: Readonly<Record<string, readonly string[]>>) =>
    Object.fromEntries([
      ['c', failure('no c')] as const,
      ...Object.entries(leaves).flatMap(([name, of]) => [
        [name, value(aggregateCluster(name, ...of))] as const,
        ...of.map((leaf) => [leaf, failure(`no ${leaf}`)] as const),
      ]),
    ]);
  const numbered = (prefix: string, length: number) =>
    Array.from({ length }, (_, i) => `${prefix}${i}`);

  it('rejects an aggregate with more leaf clusters than one may have', () => {
    const most = numbered('x', MAX_LEAF_CLUSTERS);
    const clusters = aggregatesOf({ most, more: [...most, 'y'] });
    const result = build({ clusters }, { subscribed: ['most', 'more'], maxClusters: 5000 });
    expect(clusterOf(result, 'most').ok).toBe(true);
    expect(errorOf(result, 'more')).toBe(
      `aggregate cluster "more" is rejected: it leads to 1001 clusters, more than 1000 (${NOTE})`,
    );
  });

  it('counts leaf clusters once for each aggregate, and rejects those that exceed the limit', () => {
    const shared = numbered('x', 60);
    const clusters = aggregatesOf({ a: shared, b: shared, d: shared.slice(0, 40) });
    const result = build({ clusters }, { subscribed: ['a', 'b', 'd'], maxClusters: 100 });
    expect([clusterOf(result, 'a').ok, clusterOf(result, 'd').ok]).toEqual([true, true]);
    expect(errorOf(result, 'b')).toBe(
      `aggregate cluster "b" is rejected: the aggregates of the target lead to 120 clusters, each counted once for each aggregate, more than the limit maxClustersPerTarget (100) (${NOTE})`,
    );
  });

  it('does not count the leaf clusters of an aggregate that is only part of another one', () => {
    const shared = numbered('x', 60);
    const clusters = {
      ...aggregatesOf({ inner: shared }),
      a: value(aggregateCluster('a', 'inner')),
    };
    const result = build({ clusters }, { subscribed: ['a'], maxClusters: 100 });
    expect([clusterOf(result, 'a').ok, clusterOf(result, 'inner').ok]).toEqual([true, true]);
  });

  // 2,000 aggregates that share 1,000 leaves would have two million places in their lists.
  it('bounds the lists of leaves of all aggregates together', () => {
    const children = Array.from({ length: 1000 }, (_, i) => `x${i}`);
    const wide = Array.from({ length: 2000 }, (_, i) => `w${i}`);
    const clusters = Object.fromEntries([
      ...wide.map((name) => [name, value(aggregateCluster(name, ...children))] as const),
      ...children.map((name) => [name, failure(`no ${name}`)] as const),
      ['c', failure('no c')] as const,
    ]);
    const result = build({ clusters }, { subscribed: wide, maxClusters: 2_000_000 });
    const failed = wide.filter((name) => !clusterOf(result, name).ok);
    expect(failed).toHaveLength(1000);
    expect(errorOf(result, 'w1000')).toBe(
      `aggregate cluster "w1000" is rejected: the aggregate clusters of the target name more than 1000000 clusters, counted once per path (${NOTE})`,
    );
  });
});

describe('buildXdsConfig with aggregates that are changed one after the other', () => {
  const ROUNDS = 6;
  const MAX_CLUSTERS = 12;
  const aggregates = Array.from({ length: ROUNDS }, (_, i) => `a${i}`);
  const fresh = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

  /** In each round another aggregate leads to six new leaves, and those before it can no longer have what they name. */
  const rounds = (withheld: (name: string) => readonly string[]): readonly BuildResult[] => {
    const routes = routeConfig('svc-routes', virtualHostTo(aggregates.map((name) => [name, 1])));
    const results: BuildResult[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const clusters: Record<string, WatchReport<ClusterResource>> = {};
      for (const [index, name] of aggregates.entries()) {
        const leaves = index === round ? fresh(name, 6) : index < round ? withheld(name) : ['none'];
        clusters[name] = value(aggregateCluster(name, ...leaves));
        if (index <= round) {
          for (const leaf of fresh(name, 6)) clusters[leaf] = failure(`no ${leaf}`);
        }
      }
      clusters.none = failure('none');
      const world = { routeConfigs: { 'svc-routes': value(routes) }, clusters };
      const last = results.at(-1);
      results.push(last?.next(world) ?? build(world, { maxClusters: MAX_CLUSTERS + ROUNDS }));
    }
    return results;
  };
  const sizes = (results: readonly BuildResult[]) =>
    results.map((result) => [configOf(result).clusters.size, result.needed.clusters.size]);

  it.each<[string, (name: string) => readonly string[]]>([
    ['name too many clusters', (name) => fresh(`${name}-more`, 20)],
    ['wait for a cluster', (name) => [`${name}-late`]],
  ])('keeps not more clusters for those that %s than a target may have', (_what, withheld) => {
    const results = rounds(withheld);
    const limit = MAX_CLUSTERS + ROUNDS;
    for (const [inConfig, needed] of sizes(results)) {
      expect(inConfig).toBeLessThanOrEqual(2 * limit);
      expect(needed).toBeLessThanOrEqual(2 * limit);
    }
    const last = results.at(-1);
    if (last === undefined) throw new Error('There is no result');
    const failed = aggregates.filter((name) => !clusterOf(last, name).ok);
    // Those that keep theirs come first.
    expect(failed).toEqual(['a3', 'a4']);
  });
});

describe('buildXdsConfig with a leaf that has become an aggregate', () => {
  const eds = (...names: readonly string[]) => ({
    clusters: Object.fromEntries(names.map((name) => [name, value(edsCluster(name))])),
    endpoints: Object.fromEntries(names.map((name) => [name, value(endpoints(name))])),
  });

  // 1. c leads to b. 2. c waits for p. 3. b becomes an aggregate of y. 4. c names p alone, and keeps b.
  it('keeps what that leads to, while an aggregate that keeps it waits', () => {
    const { clusters, endpoints: all } = eds('b', 'y');
    const pending = { ...clusters, p: value(edsCluster('p')) };
    const first = build({
      clusters: { ...clusters, c: value(aggregateCluster('c', 'b')) },
      endpoints: all,
    });
    const second = first.next({
      clusters: { ...pending, c: value(aggregateCluster('c', 'b', 'p')) },
      endpoints: all,
    });
    const third = second.next({
      clusters: {
        ...pending,
        b: value(aggregateCluster('b', 'y')),
        c: value(aggregateCluster('c', 'b', 'p')),
      },
      endpoints: all,
    });
    const last = third.next({
      clusters: {
        ...pending,
        b: value(aggregateCluster('b', 'y')),
        c: value(aggregateCluster('c', 'p')),
      },
      endpoints: all,
    });
    const { clusters: used } = configOf(last);
    for (const [name, result] of used) {
      const children = result.ok ? result.value.children : undefined;
      const leaves = children?.kind === 'aggregate' ? children.leafClusters : [];
      expect([name, leaves.filter((leaf) => !used.has(leaf))]).toEqual([name, []]);
    }
    expect(neededOf(last).clusters).toEqual(['b', 'c', 'p', 'y']);
  });
});

describe('buildXdsConfig after a previous config', () => {
  const again = (change: Partial<World>, first: BuildResult, options: BuildOptions = {}) =>
    configOf(first.next(change, options));

  it('gives the previous config itself when nothing changed', () => {
    const first = build({});
    const previous = configOf(first);
    expect(again({}, first)).toBe(previous);
  });

  it('returns the previous config itself for any order of the clusters', () => {
    const change = {
      clusters: { c: value(clusterC), d: value(edsCluster('d')) },
      endpoints: { c: value(endpointsOfC), d: value(endpoints('d')) },
    };
    const first = build(change, { subscribed: ['c', 'd'] });
    const previous = configOf(first);
    expect(again(change, first, { subscribed: ['d', 'c'] })).toBe(previous);
  });

  it('shares every part but the cluster whose endpoints changed', () => {
    const routes = routeConfig('svc-routes', virtualHostTo(['c', 'd']));
    const before: Partial<World> = {
      routeConfigs: { 'svc-routes': value(routes) },
      clusters: { c: value(clusterC), d: value(edsCluster('d')) },
      endpoints: { c: value(endpointsOfC), d: value(endpoints('d')) },
    };
    const first = build(before);
    const previous = configOf(first);
    const next = again(
      { ...before, endpoints: { ...before.endpoints, c: value(endpoints('c', '10.0.0.2')) } },
      first,
    );
    expect(next).not.toBe(previous);
    expect(next.listener).toBe(previous.listener);
    expect(next.virtualHost).toBe(previous.virtualHost);
    expect(next.clusters.get('d')).toBe(previous.clusters.get('d'));
    expect(next.clusters.get('c')).not.toBe(previous.clusters.get('c'));
  });

  it('shares the map of clusters when only the routes changed', () => {
    const first = build({});
    const previous = configOf(first);
    const next = again({ routeConfigs: { 'svc-routes': value({ ...routesOfC }) } }, first);
    expect(next).not.toBe(previous);
    expect(next.clusters).toBe(previous.clusters);
    expect(next.virtualHost).toBe(previous.virtualHost);
  });

  it('shares what an error and an aggregate came to', () => {
    const change: Partial<World> = {
      clusters: { c: value(aggregateCluster('c', 'd')), d: failure('no d') },
    };
    const first = build(change);
    const previous = configOf(first);
    expect(again({ ...change, listener: value(listener('svc')) }, first).clusters).toBe(
      previous.clusters,
    );
  });

  it.each<[string, Partial<World>]>([
    ['the note', { endpoints: { c: value(endpointsOfC, 'stale') } }],
    ['the cluster', { clusters: { c: value(edsCluster('c')) } }],
    ['endpoints that are gone', { endpoints: { c: failure('gone') } }],
    ['the kind of the cluster', { clusters: { c: value(aggregateCluster('c', 'c')) } }],
  ])('takes over a change of %s', (_what, change) => {
    const first = build({});
    const previous = configOf(first);
    const next = again(change, first);
    expect(next.clusters).not.toBe(previous.clusters);
    expect(next.clusters.get('c')).not.toBe(previous.clusters.get('c'));
  });

  it.each([
    ['more', ['e'], ['e', 'f']],
    ['fewer', ['e', 'f'], ['e']],
    ['others', ['e'], ['f']],
  ])('takes over that an aggregate further down has %s leaves', (_what, before, after) => {
    const change = (leaves: readonly string[]): Partial<World> => ({
      clusters: {
        c: aggregateC,
        d: value(aggregateCluster('d', ...leaves)),
        e: failure('no e'),
        f: failure('no f'),
      },
    });
    const aggregateC = value(aggregateCluster('c', 'd'));
    const cluster = again(change(after), build(change(before))).clusters.get('c');
    expect(cluster?.ok === true && cluster.value.children).toEqual({
      kind: 'aggregate',
      leafClusters: after,
    });
  });

  it('leaves the previous config as it was', () => {
    const first = build({});
    const previous = configOf(first);
    const { clusters, ...rest } = previous;
    const before = [...clusters];
    again({ clusters: { c: failure('gone') } }, first);
    expect(previous).toEqual({ ...rest, clusters });
    expect([...clusters]).toEqual(before);
  });

  it('drops a cluster that nothing names any more', () => {
    const change = {
      clusters: { c: value(clusterC), d: value(edsCluster('d')) },
      endpoints: { c: value(endpointsOfC), d: value(endpoints('d')) },
    };
    const first = build(change, { subscribed: ['d'] });
    const result = first.next(change);
    expect([...configOf(result).clusters.keys()]).toEqual(['c']);
    expect(neededOf(result)).toMatchObject({ clusters: ['c'], endpoints: ['c'] });
  });

  it('chooses anew when the same routes come under another object, and keeps an equal virtual host', () => {
    const first = build({});
    const other = routeConfig('svc-routes', virtualHost([route(forwardTo('c'))], { name: 'new' }));
    expect(again({ routeConfigs: { 'svc-routes': value(other) } }, first).virtualHost.name).toBe(
      'new',
    );
  });
});
