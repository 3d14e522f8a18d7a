import { referencedClusters } from '../../src/dependency-manager/referenced-clusters';
import { forwardTo, route, virtualHost } from '../support/xds-builders';

describe('referencedClusters', () => {
  it('lists the clusters of all routes once, in order of appearance', () => {
    const host = virtualHost([
      route(forwardTo('b')),
      route({ kind: 'unsupported', action: 'redirect' }),
      route(
        forwardTo([
          ['c', 1],
          ['a', 2],
        ]),
      ),
      route(forwardTo('b')),
      route(forwardTo('constructor')),
    ]);
    expect([...referencedClusters(host)]).toEqual(['b', 'c', 'a', 'constructor']);
  });

  it('is empty without routes', () => {
    expect(referencedClusters(virtualHost([])).size).toBe(0);
  });
});
