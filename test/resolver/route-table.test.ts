import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { Metadata } from '../../src/grpc-js';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { MatchedCall } from '../../src/routing/matched-call';
import type { Route } from '../../src/resources/route-config/route-config';
import { createHandle } from '../../src/util/handle';
import { clusterRefs, tableOf } from '../support/routed-calls';
import { forwardTo, listener, route, routeConfig, virtualHost } from '../support/xds-builders';

const ROUTES = 1000;
const path = (i: number) => ({
  path: { kind: 'path', text: `/s/m${i}`, caseSensitive: true } as const,
});

function setUp(routes: readonly Route[]) {
  const host = virtualHost(routes);
  const config: XdsConfig = {
    listener: listener('l'),
    routeConfig: routeConfig('r', host),
    virtualHost: host,
    clusters: new Map(),
  };
  const log: string[] = [];
  const refs = clusterRefs((cluster) => {
    log.push(`+${cluster}`);
    return createHandle(() => log.push(`-${cluster}`));
  });
  const acquire = jest.spyOn(refs, 'acquire');
  const table = tableOf(config, new HttpFilterRegistry([]), refs);
  const find = (i: number) => table.find(MatchedCall.of(`/s/m${i}`, new Metadata(), () => 0));
  return { acquire, find, log, table };
}

describe('RouteTable', () => {
  it('acquires one reference to each cluster for all its routes, and releases it', () => {
    const names = (i: number) =>
      i % 2 === 0
        ? 'a'
        : ([
            ['a', 1],
            ['b', 1],
          ] as const);
    const routes = Array.from({ length: ROUTES }, (_, i) => route(forwardTo(names(i)), path(i)));
    const { acquire, find, log, table } = setUp(routes);
    expect(acquire).toHaveBeenCalledTimes(2);
    const handles = [table.acquire(), table.acquire()];
    find(7);
    expect(acquire).toHaveBeenCalledTimes(2);
    expect(log).toEqual(['+a', '+b']);
    handles[0]?.release();
    expect(log).toEqual(['+a', '+b']);
    handles[1]?.release();
    expect(log).toEqual(['+a', '+b', '-a', '-b']);
  });

  it('compiles a route when the first call matches it, and once', () => {
    let compiled = 0;
    const routes = Array.from({ length: ROUTES }, (_, i) => {
      const action = Object.defineProperty(forwardTo('a'), 'maxStreamDurationMs', {
        get: () => {
          compiled++;
          return 1000 + i;
        },
      });
      return route(action, path(i));
    });
    const { find } = setUp(routes);
    expect(compiled).toBe(0);
    const found = find(7);
    expect(found?.methodConfig.timeout).toEqual({ seconds: 1, nanos: 7_000_000 });
    expect(find(7)).toBe(found);
    expect(compiled).toBe(1);
  });
});
