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
