import { X509Certificate } from 'node:crypto';
import { DerTag, readDer, readDerChildren } from '../../util/der';
import { MAX_CHAIN_LENGTH } from '../../util/limits';
import { ExtensionId, readCertificateFields } from './certificate-fields';

/** A certificate as Node.js returns it, with its issuer as far as that is known. */
export interface PresentedCertificate {
  readonly raw: Buffer;
  readonly issuerCertificate?: PresentedCertificate;
}

/** Returns a certificate and its issuers by their names: no signature is checked. */
export function chainOf(leaf: PresentedCertificate): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let certificate: PresentedCertificate | undefined = leaf;
  while (certificate !== undefined && chain.length < MAX_CHAIN_LENGTH) {
    chain.push(new X509Certificate(certificate.raw));
    // A certificate that is signed by itself is its own issuer; the last one of an incomplete chain has none.
    const issuer: PresentedCertificate | undefined = certificate.issuerCertificate;
    certificate = issuer === certificate ? undefined : issuer;
  }
  return chain;
}

/** The authorities of bundles, parsed. */
const parsedBundles = new WeakMap<readonly string[], readonly X509Certificate[]>();

/**
 * Returns the certificates from the leaf to the first that is an authority of a bundle, each signed by the next one.
 *
 * @param chain The leaf first.
 * @param bundle One PEM block each. Each is an anchor, also one that another authority has signed.
 * @returns `undefined` if there is no such path.
 */
export function findPath(
  chain: readonly X509Certificate[],
  bundle: readonly string[],
): readonly X509Certificate[] | undefined {
  const anchors = parsedBundles.get(bundle) ?? bundle.map((pem) => new X509Certificate(pem));
  parsedBundles.set(bundle, anchors);
  for (const [index, certificate] of chain.entries()) {
    const previous = chain[index - 1];
    if (previous !== undefined && !isSignedBy(previous, certificate)) return undefined;
    const path = chain.slice(0, index + 1);
    if (anchors.some(({ raw }) => raw.equals(certificate.raw))) return path;
    const anchor = anchors.find((each) => isSignedBy(certificate, each));
    if (anchor !== undefined) return [...path, anchor];
  }
  return undefined;
}

/**
 * Checks that certificates lead to an authority of one bundle, by signatures, validity and the constraints of authorities. It
 * is for chains that OpenSSL has verified against the authorities of several trust domains together: OpenSSL does not say
 * by which of them. A chain with name constraints is refused, since OpenSSL may have verified another chain that has none.
 *
 * @param chain As for {@link findPath}.
 * @returns what is wrong; `undefined` if nothing is.
 */
export function checkPath(
  chain: readonly X509Certificate[],
  bundle: readonly string[],
  nowMs: number,
): string | undefined {
  const path = findPath(chain, bundle);
  if (path === undefined) {
    return 'the certificate is not signed by the trust bundle of its trust domain';
  }
  const [, ...issuers] = path;
  const problems = issuers.map((issuer, below) => findIssuerProblem(issuer, below, nowMs));
  return problems.find((problem) => problem !== undefined);
}

/** @param below How many authorities are below the issuer. */
function findIssuerProblem(
  issuer: X509Certificate,
  below: number,
  nowMs: number,
): string | undefined {
  if (!issuer.ca) return 'a certificate is signed by one that is not an authority';
  const isValid = Date.parse(issuer.validFrom) <= nowMs && nowMs <= Date.parse(issuer.validTo);
  if (!isValid) return 'the certificate of an authority has expired or is not valid yet';
  const extensions = readCertificateFields(issuer.raw)?.extensions;
  if (extensions === undefined) return 'the certificate of an authority cannot be read';
  if (extensions.has(ExtensionId.NAME_CONSTRAINTS)) {
    return 'the certificate of an authority has name constraints, which are supported with a single trust domain only';
  }
  return below > pathLengthOf(extensions.get(ExtensionId.BASIC_CONSTRAINTS)?.value)
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
