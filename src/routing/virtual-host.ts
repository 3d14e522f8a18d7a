import type { RouteConfigResource, VirtualHost } from '../resources/route-config/route-config';

/** The specificity of a domain pattern, ascending. */
const enum MatchClass {
  universal,
  prefix,
  suffix,
  exact,
}

interface DomainMatch {
  readonly matchClass: MatchClass;
  readonly length: number;
}

/**
 * Finds the virtual host for a host name: exact domain over suffix (`*.x`) over prefix (`x.*`) over `*`, the longer
 * pattern within a class, the earlier host among equals (gRFC A27). Case-insensitive.
 */
export function findVirtualHost(
  virtualHosts: readonly VirtualHost[],
  host: string,
): VirtualHost | undefined {
  const name = host.toLowerCase();
  let found: VirtualHost | undefined;
  let best: DomainMatch | undefined;
  for (const virtualHost of virtualHosts) {
    for (const domain of virtualHost.domains) {
      const match = matchDomain(domain.toLowerCase(), name);
      if (match === undefined || (best !== undefined && !isBetter(match, best))) continue;
      best = match;
      found = virtualHost;
    }
  }
  return found;
}

/** The virtual host of a target in one version of the routes. */
export interface FoundVirtualHost {
  readonly routeConfig: RouteConfigResource;
  readonly virtualHost: VirtualHost | undefined;
}

/**
 * Does the same for a new version of the routes. Control planes put the routes of all services into one, and most changes
 * concern one virtual host: only those between the unchanged ones at both ends are searched.
 */
export function findAgain(
  routeConfig: RouteConfigResource,
  host: string,
  previous: FoundVirtualHost | undefined,
): FoundVirtualHost {
  const next = routeConfig.virtualHosts;
  if (previous === undefined) return { routeConfig, virtualHost: findVirtualHost(next, host) };
  if (previous.routeConfig === routeConfig) return previous;
  const before = previous.routeConfig.virtualHosts;
  const shorter = Math.min(next.length, before.length);
  let start = 0;
  while (start < shorter && next[start] === before[start]) start++;
  let tail = 0;
  while (tail < shorter - start && next.at(-1 - tail) === before.at(-1 - tail)) tail++;
  const candidates = next.slice(start, next.length - tail);
  const found = previous.virtualHost;
  const index = found === undefined ? -1 : before.indexOf(found);
  if (found !== undefined && index < start) candidates.unshift(found);
  else if (found !== undefined && index >= before.length - tail) candidates.push(found);
  else if (found !== undefined) return { routeConfig, virtualHost: findVirtualHost(next, host) };
  return { routeConfig, virtualHost: findVirtualHost(candidates, host) };
}

function isBetter(a: DomainMatch, b: DomainMatch): boolean {
  return a.matchClass === b.matchClass ? a.length > b.length : a.matchClass > b.matchClass;
}

function matchDomain(pattern: string, name: string): DomainMatch | undefined {
  const length = pattern.length;
  if (pattern === '*') return { matchClass: MatchClass.universal, length };
  // The star matches at least one character, so the name must be longer than the rest of the pattern.
  if (pattern.startsWith('*')) {
    const matches = name.length >= length && name.endsWith(pattern.slice(1));
    return matches ? { matchClass: MatchClass.suffix, length } : undefined;
  }
  if (pattern.endsWith('*')) {
    const matches = name.length >= length && name.startsWith(pattern.slice(0, -1));
    return matches ? { matchClass: MatchClass.prefix, length } : undefined;
  }
  return pattern === name ? { matchClass: MatchClass.exact, length } : undefined;
}
