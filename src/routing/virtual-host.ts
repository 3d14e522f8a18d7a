import type {
  RouteConfigChange,
  RouteConfigResource,
  VirtualHost,
} from '../resources/route-config/route-config';
import { inSteps, runSteps, type Steps } from '../util/steps';

/** Domains of changed virtual hosts that are compared at once, rather than in steps. */
const MAX_DOMAINS_AT_ONCE = 1024;

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
  let found: VirtualHost | undefined;
  let best: DomainMatch | undefined;
  yield* inSteps(domainsOf(routeConfig.virtualHosts), ({ virtualHost, domain }) => {
    const match = matchDomain(domain.toLowerCase(), name);
    if (match === undefined || (best !== undefined && !isBetter(match, best))) return;
    best = match;
    found = virtualHost;
  });
  return found;
}

/** Yields the domains of all virtual hosts, each with its host. */
function* domainsOf(
  virtualHosts: readonly VirtualHost[],
): Iterable<{ readonly virtualHost: VirtualHost; readonly domain: string }> {
  for (const virtualHost of virtualHosts) {
    for (const domain of virtualHost.domains) yield { virtualHost, domain };
  }
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

/** Searches the virtual host of a target, once for each version of the routes. */
export class HostSearch {
  private latest:
    | { readonly routeConfig: RouteConfigResource; readonly virtualHost: VirtualHost | undefined }
    | undefined;

  /** @param host The data-plane authority, by which the virtual host is chosen. */
  constructor(private readonly host: string) {}

  /** Searches in steps, so that {@link find} has the result at once. */
  *prepare(routeConfig: RouteConfigResource): Steps<void> {
    const virtualHost = yield* findVirtualHost(routeConfig, this.host);
    this.latest = { routeConfig, virtualHost };
  }

  /** Returns the virtual host of the target; `undefined` if there is none. */
  find(routeConfig: RouteConfigResource): VirtualHost | undefined {
    if (this.latest?.routeConfig !== routeConfig) runSteps(this.prepare(routeConfig));
    return this.latest?.virtualHost;
  }

  /** Whether the virtual host found in one version is surely that of the next. */
  isStillFound(found: VirtualHost, next: RouteConfigResource, change: RouteConfigChange): boolean {
    const { latest, host } = this;
    if (latest?.routeConfig === next) return latest.virtualHost === found;
    let domains = 0;
    for (const virtualHost of change.present) domains += virtualHost.domains.length;
    return domains <= MAX_DOMAINS_AT_ONCE && isStillFound(found, host, change);
  }
}
