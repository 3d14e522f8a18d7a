import { X509Certificate } from 'node:crypto';
import { DerTag, readDer, readDerChildren } from '../../util/der';
import { Extension, readExtensions } from './certificate-names';

/** The authorities of bundles, parsed. */
const parsedBundles = new WeakMap<readonly string[], readonly X509Certificate[]>();

/**
 * Checks that certificates lead to an authority of one bundle, by signatures, validity and the constraints of authorities. It
 * is for chains that OpenSSL has verified against the authorities of several trust domains together: OpenSSL does not say
 * by which of them. A chain with name constraints is refused, since OpenSSL may have verified another chain that has none.
 *
 * @param chain The leaf first, each signed by the next one.
 * @param bundle One PEM block each. Each is an anchor, also one that another authority has signed.
 * @returns what is wrong; `undefined` if nothing is.
 */
export function checkPath(
  chain: readonly X509Certificate[],
  bundle: readonly string[],
  nowMs: number,
): string | undefined {
  const anchors = parsedBundles.get(bundle) ?? bundle.map((pem) => new X509Certificate(pem));
  parsedBundles.set(bundle, anchors);
  for (const [index, certificate] of chain.entries()) {
    const previous = chain[index - 1];
    const problem = previous && findLinkProblem(previous, certificate, index - 1, nowMs);
    if (problem !== undefined) return problem;
    if (anchors.some(({ raw }) => raw.equals(certificate.raw))) return undefined;
    const anchor = anchors.find((each) => isSignedBy(certificate, each));
    if (anchor !== undefined) return findLinkProblem(certificate, anchor, index, nowMs);
  }
  return 'the certificate is not signed by the trust bundle of its trust domain';
}

/** @param below How many authorities are below the issuer. */
function findLinkProblem(
  certificate: X509Certificate,
  issuer: X509Certificate,
  below: number,
  nowMs: number,
): string | undefined {
  if (!isSignedBy(certificate, issuer)) return 'a certificate is not signed by the next one';
  if (!issuer.ca) return 'a certificate is signed by one that is not an authority';
  const isValid = Date.parse(issuer.validFrom) <= nowMs && nowMs <= Date.parse(issuer.validTo);
  if (!isValid) return 'the certificate of an authority has expired or is not valid yet';
  const extensions = readExtensions(issuer.raw);
  if (extensions === undefined) return 'the certificate of an authority cannot be read';
  if (extensions.has(Extension.NAME_CONSTRAINTS)) {
    return 'the certificate of an authority has name constraints, which are supported with a single trust domain only';
  }
  return below > pathLengthOf(extensions.get(Extension.BASIC_CONSTRAINTS))
    ? 'more authorities are below one than it allows'
    : undefined;
}

function isSignedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/** Returns how many authorities may be below one. */
function pathLengthOf(constraints: Buffer | undefined): number {
  const sequence = constraints && readDer(constraints, 0);
  const parts = sequence && readDerChildren(constraints, sequence);
  const length = parts?.find(({ tag }) => tag === DerTag.INTEGER);
  if (constraints === undefined || length === undefined) return Infinity;
  const bytes = constraints.subarray(length.start, length.end);
  // No chain is longer.
  return bytes.length === 1 ? bytes.readUInt8() : Infinity;
}
