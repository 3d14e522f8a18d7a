import { findCommonFailure } from '../../../packages/page/src/process/common-failure';

describe('the failure that all calls of a target have in common', () => {
  it.each<[string, number, readonly { name: string; error?: string }[], string | undefined]>([
    ['a virtual host without a route', 0, [], 'virtual host all has no route: every call fails'],
    ['one cluster that fails', 1, [{ name: 'a', error: 'no a' }], 'no a'],
    [
      'clusters that all fail',
      2,
      [
        { name: 'a', error: 'no a' },
        { name: 'b', error: 'no b' },
      ],
      'each cluster fails, such as a: no a',
    ],
    ['a cluster that can be used', 2, [{ name: 'a', error: 'no a' }, { name: 'b' }], undefined],
    ['routes without a cluster, which may be for servers', 1, [], undefined],
  ])('is found: %s', (_case, routes, clusters, expected) => {
    const config = { listener: 'l', routeConfig: 'r', virtualHost: 'all', routes, clusters };
    expect(findCommonFailure(config)).toBe(expected);
  });
});
