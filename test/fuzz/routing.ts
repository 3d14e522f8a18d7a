import { findVirtualHost } from '../../src/routing/virtual-host';
import { Metadata } from '../../src/grpc-js';
import { PathIndex } from '../../src/routing/path-index';
import { MatchedCall } from '../../src/routing/matched-call';
import { matchesPath, matchesRoute } from '../../src/routing/route-matcher';
import type { ResourceTypes } from '../../src/resources/resource-types';
import type { Random } from '../../src/util/random';
import { serverWith } from '../resources/decode-json';
import { decodeWhole } from '../../src/xds-client/resource-type';

const hosts = ['shop.test', 'a.shop.test', 'A.SHOP.TEST', '', '*', 'x'.repeat(300)];
const paths = ['/shop.Cart/Add', '/SHOP.cart/ADD', '/shop.Cart/', '/', '', '/a/b', '/aaaaaaaab/'];

/** Routes calls by a route configuration. @returns what is wrong with where they go. */
export function checkRouting(
  { routeConfig }: ResourceTypes,
  bytes: Uint8Array,
  random: Random,
): string | undefined {
  const { result } = decodeWhole(routeConfig, bytes, {
    server: serverWith(),
    previous: () => undefined,
  });
  if (!result.ok) return undefined;
  for (const host of hosts) findVirtualHost(result.value.virtualHosts, host);
  const metadata = new Metadata();
  metadata.set('a', '5');
  metadata.set('b', 'xxx');
  for (const { routes } of result.value.virtualHosts) {
    const matchers = routes.map(({ match }) => match.path);
    const index = new PathIndex();
    matchers.forEach((matcher, position) => index.add(matcher, position));
    const own = matchers.flatMap((path) =>
      path.kind === 'regex' ? [] : [path.text, `${path.text}x`],
    );
    for (const path of [...paths, ...own]) {
      const call = MatchedCall.of(path, metadata, random);
      const isMatch = (at: number) => {
        const matcher = matchers[at];
        return matcher !== undefined && matchesPath(matcher, call);
      };
      const found = index.findFirst(path, isMatch, undefined);
      const first = matchers.findIndex((_, at) => isMatch(at));
      if (found !== (first === -1 ? undefined : first)) {
        return `the index finds ${found} for ${path}, going through the routes ${first}`;
      }
      for (const { match } of routes) matchesRoute(match, call);
    }
  }
  return undefined;
}
