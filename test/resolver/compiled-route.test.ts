import type { MethodConfig } from '../../src/grpc-js';
import type { ClusterRef } from '../../src/resolver/cluster-refs';
import { ClusterChoice, compileRoute } from '../../src/resolver/compiled-route';
import type {
  RetryPolicy,
  Route,
  VirtualHost,
} from '../../src/resources/route-config/route-config';
import { clusterRefs } from '../support/routed-calls';
import { forwardTo, route, virtualHost, weighted, type Weighted } from '../support/xds-builders';

function refOf(): (cluster: string) => ClusterRef {
  const refs = clusterRefs();
  return (cluster) => refs.acquire(cluster);
}

const policy: RetryPolicy = {
  retryOn: ['unavailable'],
  maxAttempts: 2,
  baseIntervalMs: 25,
  maxIntervalMs: 250,
};

function methodConfigOf(
  of: Route,
  host: VirtualHost,
  listenerMs: number | undefined,
): MethodConfig {
  return compileRoute(of, {
    virtualHost: host,
    maxStreamDurationMs: listenerMs,
    defaultAuthority: 'svc',
    filters: [],
    refOf: refOf(),
  }).methodConfig;
}

function timeoutOf(routeMs: number | undefined, listenerMs: number | undefined) {
  const forward = route(forwardTo('c', { maxStreamDurationMs: routeMs }));
  return methodConfigOf(forward, virtualHost([]), listenerMs).timeout;
}

function retryOf(
  ofRoute: RetryPolicy | 'none' | undefined,
  ofHost: RetryPolicy | 'none' | undefined,
): MethodConfig['retryPolicy'] {
  const forward = route(forwardTo('c', { retryPolicy: ofRoute }));
  return methodConfigOf(forward, virtualHost([], { retryPolicy: ofHost }), undefined).retryPolicy;
}

describe('method config: timeout (gRFC A31)', () => {
  // The route's value is grpc_timeout_header_max if set, else max_stream_duration: the parser chooses.
  it.each([
    ['neither says anything', undefined, undefined, undefined],
    ['the route alone', 10_000, undefined, { seconds: 10, nanos: 0 }],
    ['the listener alone', undefined, 5000, { seconds: 5, nanos: 0 }],
    ['the route over a longer listener', 10_000, 20_000, { seconds: 10, nanos: 0 }],
    ['the route over a shorter listener', 20_000, 10_000, { seconds: 20, nanos: 0 }],
    ['a route without limit over the listener', 0, 10_000, undefined],
    ['a route without limit alone', 0, undefined, undefined],
    ['a listener without limit', undefined, 0, undefined],
    ['a limit over a listener without limit', 10_000, 0, { seconds: 10, nanos: 0 }],
    ['fractions of a second', 2500, undefined, { seconds: 2, nanos: 500_000_000 }],
    ['less than a second', 1, undefined, { seconds: 0, nanos: 1_000_000 }],
    ['fractions of a millisecond', 1000.25, undefined, { seconds: 1, nanos: 250_000 }],
    ['an hour', 3_600_000, undefined, { seconds: 3600, nanos: 0 }],
  ])('%s', (_what, routeMs, listenerMs, expected) => {
    expect(timeoutOf(routeMs, listenerMs)).toEqual(expected);
  });

  it('has no member at all where there is no limit', () => {
    const config = methodConfigOf(route(forwardTo('c')), virtualHost([]), undefined);
    expect(config).toEqual({ name: [] });
    expect(Object.keys(config)).toEqual(['name']);
  });
});

describe('method config: retries (gRFC A44)', () => {
  const other: RetryPolicy = { ...policy, maxAttempts: 5 };
  it.each([
    ['neither', undefined, undefined, undefined],
    ['the route', policy, undefined, 2],
    ['the virtual host', undefined, other, 5],
    ['the route over the virtual host', policy, other, 2],
    ['a route that turns retries off over the virtual host', 'none', other, undefined],
    ['a virtual host that turns retries off', undefined, 'none', undefined],
    ['the route over a virtual host that turns retries off', policy, 'none', 2],
  ] as const)('come from: %s', (_what, ofRoute, ofHost, maxAttempts) => {
    expect(retryOf(ofRoute, ofHost)?.maxAttempts).toBe(maxAttempts);
  });

  it.each([
    [1000, 10_000, '1s', '10s'],
    [2500, 25_000, '2.5s', '25s'],
    [25, 250, '0.025s', '0.25s'],
    [1, 10, '0.001s', '0.01s'],
    [60_000, 3_600_000, '60s', '3600s'],
    [1e-6, 1e-5, '0.000000001s', '0.00000001s'],
  ])(
    'back off from %d ms to %d ms, spelled %s and %s',
    (baseIntervalMs, maxIntervalMs, ...text) => {
      const built = retryOf({ ...policy, baseIntervalMs, maxIntervalMs }, undefined);
      expect([built?.initialBackoff, built?.maxBackoff]).toEqual(text);
      expect(built?.backoffMultiplier).toBe(2);
    },
  );

  it('name every code as the host library does', () => {
    const retryOn = [
      'cancelled',
      'deadline-exceeded',
      'internal',
      'resource-exhausted',
      'unavailable',
    ] as const;
    expect(retryOf({ ...policy, retryOn }, undefined)?.retryableStatusCodes).toEqual([
      'CANCELLED',
      'DEADLINE_EXCEEDED',
      'INTERNAL',
      'RESOURCE_EXHAUSTED',
      'UNAVAILABLE',
    ]);
  });
});

describe('method config for a route that sends nowhere', () => {
  it('is empty', () => {
    const redirect = route({ kind: 'unsupported', action: 'redirect' });
    const host = virtualHost([], { retryPolicy: policy });
    expect(methodConfigOf(redirect, host, 5000)).toEqual({ name: [] });
  });
});

function choose(clusters: readonly Weighted[], drawn: number): string {
  return new ClusterChoice(weighted(...clusters), refOf(), []).draw(() => drawn).ref.childName;
}

const ALMOST_ONE = 1 - 2 ** -53;

describe('ClusterChoice', () => {
  it('has no choice with one cluster, and draws nothing', () => {
    const choice = new ClusterChoice({ kind: 'cluster', name: 'a' }, refOf(), []);
    const random = () => {
      throw new Error('A random number was drawn');
    };
    expect(choice.draw(random).ref.childName).toBe('cluster:a');
  });

  it.each<[number, string]>([
    [0, 'cluster:a'],
    [0.2499999, 'cluster:a'],
    [0.25, 'cluster:b'],
    [0.7499999, 'cluster:b'],
    [0.75, 'cluster:c'],
    [ALMOST_ONE, 'cluster:c'],
  ])('gives each cluster exactly its share: %d draws %s', (drawn, expected) => {
    const clusters = [
      ['a', 25],
      ['b', 50],
      ['c', 25],
    ] as const;
    expect(choose(clusters, drawn)).toBe(expected);
  });

  it.each<[string, readonly Weighted[], number, string]>([
    [
      'first of two near 2^32',
      [
        ['a', 4294967294],
        ['b', 1],
      ],
      0.9999,
      'cluster:a',
    ],
    [
      'last of two near 2^32',
      [
        ['a', 4294967294],
        ['b', 1],
      ],
      ALMOST_ONE,
      'cluster:b',
    ],
    [
      'first half beyond 2^31',
      [
        ['a', 2147483648],
        ['b', 2147483647],
      ],
      0.49,
      'cluster:a',
    ],
    [
      'second half beyond 2^31',
      [
        ['a', 2147483648],
        ['b', 2147483647],
      ],
      0.51,
      'cluster:b',
    ],
    [
      'exact boundary beyond 2^31',
      [
        ['a', 2147483648],
        ['b', 2147483648],
      ],
      0.5,
      'cluster:b',
    ],
  ])('does not truncate weights: %s', (_what, clusters, drawn, expected) => {
    expect(choose(clusters, drawn)).toBe(expected);
  });

  it('never chooses a cluster whose weight is zero', () => {
    const clusters = [
      ['a', 0],
      ['b', 1],
      ['c', 0],
      ['d', 1],
      ['e', 0],
    ] as const;
    const draws = [0, 0.25, 0.4999999, 0.5, 0.75, ALMOST_ONE].map((drawn) =>
      choose(clusters, drawn),
    );
    expect(draws).toEqual([
      'cluster:b',
      'cluster:b',
      'cluster:b',
      'cluster:d',
      'cluster:d',
      'cluster:d',
    ]);
  });

  it('finds the cluster of a session by one look-up, whatever number of clusters the route has', () => {
    const names = Array.from({ length: 12_000 }, (_, i): Weighted => [`c${i}`, 1]);
    const choice = new ClusterChoice(weighted(...names), refOf(), []);
    expect(choice.find('cluster:c7')?.ref.cluster).toBe('c7');
    const searched = jest.spyOn(Array.prototype, 'find');
    const found = choice.find('cluster:c11999');
    const absent = choice.find('cluster:x');
    const searches = searched.mock.calls.length;
    searched.mockRestore();
    expect([found?.ref.cluster, absent, searches]).toEqual(['c11999', undefined, 0]);
  });

  it('finds the first of several with one name', () => {
    const choice = new ClusterChoice(weighted(['a', 1], ['b', 2], ['a', 3]), refOf(), []);
    expect(choice.find('cluster:a')?.weight).toBe(1);
  });
});
