import { changedClusters } from '../../src/dependency-manager/build-xds-config';
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

describe('the config after a change', () => {
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
