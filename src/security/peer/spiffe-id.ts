import type { SanMatcher, UpstreamTls } from '../../resources/tls/tls';
import { err, ok, type Result } from '../../util/result';
import { describeNames, type SubjectAltName } from './subject-alt-names';

const MAX_LENGTH = 2048;
const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/;
const SEGMENT = /^[A-Za-z0-9._-]+$/;

/**
 * Returns the trust domain of a SPIFFE id such as `spiffe://example.org/ns/default`; `undefined` if it is not a valid id
 * (https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE-ID.md).
 */
export function trustDomainOf(id: string): string | undefined {
  if (id.length > MAX_LENGTH || !/^spiffe:\/\//i.test(id)) return undefined;
  const [trustDomain = '', ...path] = id.slice('spiffe://'.length).split('/');
  if (!isTrustDomain(trustDomain)) return undefined;
  return path.every(isSegment) ? trustDomain : undefined;
}

/** Whether a text is the name of a trust domain. */
export function isTrustDomain(name: string): boolean {
  return TRUST_DOMAIN.test(name);
}

function isSegment(segment: string): boolean {
  return SEGMENT.test(segment) && segment !== '.' && segment !== '..';
}

/** A SPIFFE id, and its trust domain. */
export interface SpiffeId {
  readonly id: string;
  readonly trustDomain: string;
}

/** Returns the SPIFFE id of a certificate; `undefined` unless its names have exactly one URI, which is such an id. */
export function spiffeIdOf(names: readonly SubjectAltName[]): SpiffeId | undefined {
  const [uri, ...others] = names.filter(({ type }) => type === 'uri');
  if (uri === undefined || others.length > 0) return undefined;
  const trustDomain = trustDomainOf(uri.value);
  return trustDomain === undefined ? undefined : { id: uri.value, trustDomain };
}

/** Returns the trust domain of a certificate, or why its names are not one SPIFFE ID (gRFC A87). */
export function readTrustDomain(names: readonly SubjectAltName[]): Result<string, string> {
  const spiffeId = spiffeIdOf(names);
  if (spiffeId !== undefined) return ok(spiffeId.trustDomain);
  return err(`${describeNames(names)} are not one SPIFFE ID, which the trust bundles are for`);
}

/** By which trust bundle the chain of a certificate was verified (gRFC A87). */
export interface TrustDomainExpectations {
  /** The trust domain of the bundle; `undefined` if the roots are not those of trust domains. */
  readonly trustDomain?: string | undefined;
  /** All bundles, by trust domain. */
  readonly bundles?: ReadonlyMap<string, unknown> | undefined;
}

/**
 * Checks that the SPIFFE ID of a certificate is of the trust domain whose bundle verified its chain: a trust domain vouches
 * only for its own identities (gRFC A87).
 *
 * @returns what is wrong.
 */
export function checkTrustDomain(
  names: readonly SubjectAltName[],
  { trustDomain, bundles }: TrustDomainExpectations,
): string | undefined {
  if (trustDomain === undefined) return undefined;
  const own = readTrustDomain(names);
  if (!own.ok) return own.error;
  if (own.value === trustDomain) return undefined;
  if (bundles?.has(own.value) !== true) return describeMissingBundle(own.value);
  return `the certificate is of the trust domain "${own.value}", and was verified by the trust bundle of "${trustDomain}"`;
}

/** Describes why no certificate of a trust domain is accepted. */
export function describeMissingBundle(trustDomain: string): string {
  return `there is no trust bundle for the trust domain "${trustDomain}"`;
}

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
