import type { SanMatcher, UpstreamTls } from '../../resources/tls/tls';
import { trustDomainOf } from './spiffe-id';

/** The trust domains that matchers name; `undefined` for those that name none. */
const namedDomains = new WeakMap<readonly SanMatcher[], ReadonlySet<string | undefined>>();

/**
 * Returns the only trust domain that a server can be of (gRFC A87): that of a map with one, or the one that every matcher names
 * in full. Its bundle alone verifies the chain.
 *
 * @returns `undefined` if the server decides.
 */
export function onlyTrustDomain(
  { sanMatchers, autoSniSanValidation }: UpstreamTls,
  serverName: string,
  bundles: ReadonlyMap<string, unknown>,
): string | undefined {
  if (bundles.size === 1) return [...bundles.keys()][0];
  if (autoSniSanValidation && serverName !== '') return undefined;
  const named = namedDomains.get(sanMatchers) ?? new Set(sanMatchers.map(trustDomainOfMatcher));
  namedDomains.set(sanMatchers, named);
  return named.size === 1 ? [...named][0] : undefined;
}

/** Returns the trust domain of all SPIFFE IDs that satisfy a matcher; `undefined` if they may be of several. */
function trustDomainOfMatcher({ matcher }: SanMatcher): string | undefined {
  if (matcher.kind === 'exact') return trustDomainOf(matcher.text);
  if (matcher.kind !== 'prefix') return undefined;
  const [, trustDomain] = /^spiffe:\/\/([^/]+)\//i.exec(matcher.text) ?? [];
  return trustDomain === undefined ? undefined : trustDomainOf(`spiffe://${trustDomain}`);
}
