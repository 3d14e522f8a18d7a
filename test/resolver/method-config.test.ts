import type { MethodConfig } from '../../src/grpc-js';
import {
  effectiveRetryPolicy,
  effectiveTimeoutMs,
  toMethodConfig,
} from '../../src/resolver/method-config';
import type {
  RetryPolicy,
  Route,
  VirtualHost,
} from '../../src/resources/route-config/route-config';
import { forwardTo, route, virtualHost } from '../support/xds-builders';

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
  return toMethodConfig(effectiveTimeoutMs(of, listenerMs), effectiveRetryPolicy(of, host));
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
