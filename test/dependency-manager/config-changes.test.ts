import { changedClusters } from '../../src/dependency-manager/build-xds-config';
import { waiting } from '../../src/dependency-manager/observations';
import { ConfigEvents } from '../property/config-events';
import {
  configOf,
  ConfigWorld,
  describeConfig,
  failure,
  fullWalk,
  outcomeOf,
  value,
} from '../support/config-world';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  listener,
  route,
  routeConfig,
  virtualHost,
  xdsError,
} from '../support/xds-builders';

/** Clusters `a` and `b` with endpoints of their own, and `c` with those of `b`. */
function abc(): ConfigWorld {
  return ConfigWorld.of('a', 'b', 'c')
    .setCluster('a', value(edsCluster('a')))
    .setCluster('b', value(edsCluster('b')))
    .setCluster('c', value(edsCluster('c', 'b')))
    .setEndpoints('a', value(endpoints('a', '127.0.0.1')))
    .setEndpoints('b', value(endpoints('b', '127.0.0.2')));
}

/** Builds the config before and after a change. @returns the clusters that differ. */
function changedBy(world: ConfigWorld, change: (world: ConfigWorld) => unknown): readonly string[] {
  const before = configOf(world.build());
  change(world);
  const built = world.build();
  const outcome = outcomeOf(built);
  expect(describeConfig({ needed: built.needed, outcome })).toEqual(
    describeConfig(fullWalk(world)),
  );
  return [...changedClusters(before.clusters, configOf(built).clusters)].sort();
}

describe('the config after a change', () => {
  it.each<[string, (world: ConfigWorld) => unknown, readonly string[]]>([
    ['nothing', () => {}, []],
    ['the endpoints of one', (w) => w.setEndpoints('a', value(endpoints('a', '127.0.0.9'))), ['a']],
    ['shared endpoints', (w) => w.setEndpoints('b', value(endpoints('b'))), ['b', 'c']],
    ['endpoints that are gone', (w) => w.setEndpoints('a', failure('gone')), ['a']],
    ['endpoints of no cluster', (w) => w.setEndpoints('z', failure('gone')), []],
    ['a cluster, but not its source', (w) => w.setCluster('a', value(edsCluster('a'))), ['a']],
    ['a cluster that is not named', (w) => w.setCluster('z', value(edsCluster('z'))), []],
    ['the source of a cluster', (w) => w.setCluster('a', value(edsCluster('a', 'b'))), ['a']],
    ['a cluster that is gone', (w) => w.setCluster('a', failure('gone')), ['a']],
    ['the routes', (w) => w.routeTo(['a', 'b']), ['c']],
    [
      'the error beside the listener',
      (w) => (w.listener = value(listener('svc'), 'old')),
      ['a', 'b', 'c'],
    ],
  ])(
    'has other objects only for the clusters concerned by a change of %s',
    (_what, change, changed) => {
      expect(changedBy(abc(), change)).toEqual(changed);
    },
  );

  it('has another object only for the DNS cluster whose answer changed', () => {
    const world = abc().setCluster('c', value(dnsCluster('c', 'host', 80)));
    world.setDns('host:80', value(endpoints('c', '127.0.0.3')));
    const next = value(endpoints('c', '127.0.0.4'));
    expect(changedBy(world, () => world.setDns('host:80', next))).toEqual(['c']);
  });

  // 1. An aggregate of two clusters arrives. 2. One of them does. 3. The other one does.
  it('has an aggregate when everything has arrived', () => {
    const world = ConfigWorld.of('top').setCluster('top', value(aggregateCluster('top', 'a', 'b')));
    world.setCluster('a', waiting).setCluster('b', value(edsCluster('b')));
    world.setEndpoints('a', waiting).setEndpoints('b', value(endpoints('b')));
    for (const arrival of [waiting, value(edsCluster('a'))]) {
      world.setCluster('a', arrival);
      expect(outcomeOf(world.build()).kind).toBe('incomplete');
    }
    world.setEndpoints('a', value(endpoints('a')));
    expect(configOf(world.build()).clusters.get('top')).toMatchObject({
      value: { children: { leafClusters: ['a', 'b'] } },
    });
  });

  it('has named the clusters that changed, were added and were removed', () => {
    const world = abc();
    const { clusters } = configOf(world.build());
    expect([...changedClusters(undefined, clusters)]).toEqual(['a', 'b', 'c']);
    world.setCluster('d', failure('no d')).routeTo(['a', 'b', 'd']);
    expect([...changedClusters(clusters, configOf(world.build()).clusters)]).toEqual(['d', 'c']);
  });

  describe('of virtual hosts', () => {
    const own = virtualHost([route(forwardTo('a'))], { name: 'own', domains: ['svc'] });
    const other = (domain: string, cluster = 'b') =>
      virtualHost([route(forwardTo(cluster))], { name: 'other', domains: [domain] });

    it.each<[string, (world: ConfigWorld) => unknown]>([
      ['another one matches better', (w) => w.setHosts(other('svc'), own)],
      ['its own changes too', (w) => w.setHosts({ ...own }, other('y'))],
      [
        'there is an error beside the routes',
        (w) =>
          w.routes.kind === 'value' && w.setRoutes({ ...w.routes, ambient: xdsError('stale') }),
      ],
      ['it is the only one left', (w) => w.setHosts(own)],
      ['all are others', (w) => w.setRoutes(value(routeConfig('svc-routes', { ...own })))],
      ['there are none any more', (w) => w.setRoutes(failure('gone'))],
      ['the listener changes too', (w) => (w.setHosts(own).listener = value(listener('svc')))],
    ])('is that of a walk if %s', (_case, change) => {
      const world = abc().setHosts(own, other('x'));
      world.build();
      change(world);
      const built = world.build();
      const outcome = outcomeOf(built);
      expect(describeConfig({ needed: built.needed, outcome })).toEqual(
        describeConfig(fullWalk(world)),
      );
    });
  });

  // `npm run trial -- property` plays more of them.
  it('is after any sequence of events equal to a full walk', () => {
    const outcomes = new Set<string>();
    for (let seed = 1; seed <= 60; seed++) {
      const events = new ConfigEvents(seed);
      for (let step = 0; step < 60; step++) {
        const difference = events.step();
        if (difference !== undefined) throw new Error(`seed ${seed}, step ${step}: ${difference}`);
      }
      for (const outcome of events.outcomes) outcomes.add(outcome);
    }
    expect([...outcomes].sort()).toEqual(['config', 'error', 'incomplete']);
  });
});
