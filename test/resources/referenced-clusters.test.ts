import { clustersOf } from '../../src/resources/route-config/virtual-host-parser';
import { forwardTo, route } from '../support/xds-builders';

describe('clustersOf', () => {
  it('lists the clusters of all routes once, in order of appearance', () => {
    const clusters = clustersOf([
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
    expect([...clusters]).toEqual(['b', 'c', 'a', 'constructor']);
  });

  it('is empty without routes', () => {
    expect(clustersOf([]).size).toBe(0);
  });
});
