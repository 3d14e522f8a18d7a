import type {
  RouteConfigChange,
  RouteConfigResource,
  VirtualHost,
} from '../resources/route-config/route-config';
import { runSteps, STEP_SIZE, type Steps } from '../util/steps';

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
 * pattern within a class, the earlier host among equals (gRFC A27). Case-insensitive. In steps, because there may be
 * hundreds of thousands of domains.
 */
export function* findVirtualHost(
  routeConfig: Pick<RouteConfigResource, 'virtualHosts'>,
  host: string,
): Steps<VirtualHost | undefined> {
  const name = host.toLowerCase();
  let work = 0;
  let found: VirtualHost | undefined;
  let best: DomainMatch | undefined;
  for (const virtualHost of routeConfig.virtualHosts) {
    for (const domain of virtualHost.domains) {
      work++;
      if (work > STEP_SIZE) {
        yield;
        work = 0;
      }
      const match = matchDomain(domain.toLowerCase(), name);
      if (match !== undefined && (best === undefined || isBetter(match, best))) {
        best = match;
        found = virtualHost;
      }
    }
  }
  return found;
}

/** Whether the virtual host found for a host name in one version is surely the one in the next version. */
export function isStillFound(
  found: VirtualHost,
  host: string,
  { virtualHosts, present }: RouteConfigChange,
): boolean {
  if (virtualHosts.has(found.name)) return false;
  // Last, so that one with an equal domain counts as well: it may be the earlier one.
  return runSteps(findVirtualHost({ virtualHosts: [...present, found] }, host)) === found;
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
