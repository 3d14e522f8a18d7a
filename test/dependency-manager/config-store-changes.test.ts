import type { StoreUpdate } from '../../src/dependency-manager/config-store';
import { waiting } from '../../src/dependency-manager/observations';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { ConfigEvents } from '../property/config-events';
import { ConfigWorld, describeUpdate, failure, fullWalk, value } from '../support/config-world';
import type { VirtualHost } from '../../src/resources/route-config/route-config';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  forwardTo,
  route,
  routeConfig,
  virtualHost,
  xdsError,
} from '../support/xds-builders';

const stale = { ambient: xdsError('stale', 'invalid'), change: undefined };

function configOf({ outcome }: StoreUpdate): XdsConfig {
  if (outcome.kind !== 'config') throw new Error(`The outcome is ${outcome.kind}`);
  return outcome.config;
}

function changedIn({ outcome }: StoreUpdate): readonly string[] {
  return outcome.kind === 'config' ? [...outcome.changedClusters] : [];
}

/** Clusters `a` and `b` with endpoints of their own, and `c` with those of `b`. */
function abc(): ConfigWorld {
  return ConfigWorld.of('a', 'b', 'c')
    .setCluster('a', value(edsCluster('a')))
    .setCluster('b', value(edsCluster('b')))
    .setCluster('c', value(edsCluster('c', 'b')))
    .setEndpoints('a', value(endpoints('a', '127.0.0.1')))
    .setEndpoints('b', value(endpoints('b', '127.0.0.2')));
}

function visitedBy({ visited, store }: ConfigWorld): readonly string[] {
  visited.clear();
  store.update();
  return [...visited].sort();
}

describe('ConfigStore', () => {
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
    ['the routes', (w) => w.routeTo(['a', 'b']), []],
  ])('computes only the clusters concerned after a change of %s', (_what, change, visited) => {
    const world = abc();
    world.store.update();
    change(world);
    expect(visitedBy(world)).toEqual(visited);
    expect(describeUpdate(world.store.update())).toEqual(describeUpdate(fullWalk(world)));
  });

  it('reads only the DNS cluster whose answer changed', () => {
    const world = abc().setCluster('c', value(dnsCluster('c', 'host', 80)));
    world.setDns('host:80', value(endpoints('c', '127.0.0.3'))).store.update();
    world.setDns('host:80', value(endpoints('c', '127.0.0.4')));
    expect(visitedBy(world)).toEqual(['c']);
  });

  // 1. An aggregate of two clusters arrives. 2. One of them does. 3. The other one does.
  it('computes an aggregate once, when everything has arrived', () => {
    const world = ConfigWorld.of('top').setCluster('top', value(aggregateCluster('top', 'a', 'b')));
    world.setCluster('a', waiting).setCluster('b', value(edsCluster('b')));
    world.setEndpoints('a', waiting).setEndpoints('b', value(endpoints('b')));
    for (const arrival of [waiting, value(edsCluster('a'))]) {
      world.setCluster('a', arrival).setCluster('top', world.clusters.get('top') ?? waiting);
      world.visited.clear();
      expect(world.store.update().outcome.kind).toBe('incomplete');
    }
    world.setEndpoints('a', value(endpoints('a')));
    expect(visitedBy(world)).toEqual(['a', 'top']);
    expect(world.store.config?.clusters.get('top')).toMatchObject({
      value: { children: { leafClusters: ['a', 'b'] } },
    });
  });

  it('shares everything else, and needs the very same watches', () => {
    const world = abc();
    const before = world.store.update();
    const after = world.setEndpoints('a', value(endpoints('a', '127.0.0.9'))).store.update();
    expect(after.needed).toBe(before.needed);
    expect(configOf(after).virtualHost).toBe(configOf(before).virtualHost);
    expect(configOf(after).clusters.get('b')).toBe(configOf(before).clusters.get('b'));
    expect(configOf(after).clusters.get('a')).not.toBe(configOf(before).clusters.get('a'));
  });

  it('keeps the config without changed clusters when a report has the same value', () => {
    const world = abc();
    const before = world.store.update();
    const known = world.endpoints.get('a') ?? waiting;
    const after = world.setEndpoints('a', known).store.update();
    expect(configOf(after)).toBe(configOf(before));
    expect(changedIn(after)).toEqual([]);
  });

  it('names the clusters that changed, were added and were removed', () => {
    const world = abc();
    expect(changedIn(world.store.update())).toEqual(['a', 'b', 'c']);
    world.setEndpoints('b', value(endpoints('b', '127.0.0.9')));
    expect(changedIn(world.store.update())).toEqual(['b', 'c']);
    world.setCluster('d', failure('no d')).routeTo(['a', 'b', 'd']);
    expect(changedIn(world.store.update())).toEqual(['d', 'c']);
  });

  it('has a config when the last missing resource arrives', () => {
    const world = abc().setEndpoints('a', waiting);
    expect(world.store.update().outcome.kind).toBe('incomplete');
    world.setEndpoints('a', value(endpoints('a')));
    expect(visitedBy(world)).toEqual(['a']);
    expect(configOf(world.store.update()).clusters.size).toBe(3);
  });

  describe('when only the virtual hosts of other targets change', () => {
    const own = virtualHost([route(forwardTo('a'))], { name: 'own', domains: ['svc'] });
    const other = (domain: string, cluster = 'b') =>
      virtualHost([route(forwardTo(cluster))], { name: 'other', domains: [domain] });

    function settled(...hosts: readonly VirtualHost[]): ConfigWorld {
      const world = abc().changeHosts(...hosts);
      world.store.update();
      world.walks = 0;
      return world;
    }

    it('keeps the virtual host and the clusters without a walk', () => {
      const world = settled(own, other('x'));
      const before = world.store.config;
      world.changeHosts(own, other('y', 'c'));
      expect(visitedBy(world)).toEqual([]);
      expect(world.walks).toBe(0);
      expect(world.store.config?.virtualHost).toBe(own);
      expect(world.store.config?.clusters).toBe(before?.clusters);
      expect(describeUpdate(world.store.update())).toEqual(describeUpdate(fullWalk(world)));
    });

    it.each<[string, (world: ConfigWorld) => unknown]>([
      ['another one matches better', (w) => w.changeHosts(other('svc'), own)],
      ['its own changes too', (w) => w.changeHosts({ ...own }, other('y'))],
      ['there is an error beside the routes', (w) => w.setRoutes({ ...w.routes, ...stale })],
      ['a version in between was left out', (w) => w.changeHosts(own).changeHosts(own, other('z'))],
      ['the change is not known', (w) => w.setRoutes(value(routeConfig('svc-routes', own)))],
      ['there are none any more', (w) => w.setRoutes(failure('gone'))],
      ['the listener changes too', (w) => w.changeHosts(own).store.markRoots()],
    ])('walks again if %s', (_case, change) => {
      const world = settled(own, other('x'));
      change(world);
      const update = world.store.update();
      expect(describeUpdate(update)).toEqual(describeUpdate(fullWalk(world)));
      expect(world.walks).toBe(update.outcome.kind === 'error' ? 0 : 1);
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
