import { isIP } from 'node:net';
import type { SanMatcher, UpstreamTls } from '../../resources/tls/tls';
import { listFirst, quoteText, sanitizeText } from '../../util/text';
import { readCertificateNames } from './certificate-names';
import { checkFailure } from './check-failure';
import { matchesDnsName, SanMatchers } from './san-matcher';
import { checkTrustDomain, type TrustDomainExpectations } from './spiffe-id';
import {
  canonicalAddress,
  describeNames,
  MAX_SHOWN_LENGTH,
  type SubjectAltName,
} from './subject-alt-names';

/** What the certificate of a server is checked against, besides the security configuration of the cluster. */
export interface PeerExpectations extends TrustDomainExpectations {
  /** The name of the server; empty for none. */
  readonly serverName: string;
}

/**
 * Checks the certificate of a server, whose chain was verified, in place of the check of the host name (gRFCs A29, A87,
 * A101).
 * @param encoded The certificate in DER.
 * @returns why it must not be used; `undefined` if it may.
 */
export function checkPeer(
  encoded: Buffer,
  tls: UpstreamTls,
  expectations: PeerExpectations,
): Error | undefined {
  const names = readCertificateNames(encoded);
  const problem = names.ok
    ? (checkTrustDomain(names.value.subjectAltNames, expectations) ??
      checkNames(names.value.subjectAltNames, tls, expectations.serverName))
    : names.error;
  return problem === undefined ? undefined : checkFailure(problem);
}

function checkNames(
  names: readonly SubjectAltName[],
  { sanMatchers, autoSniSanValidation }: UpstreamTls,
  serverName: string,
): string | undefined {
  // An address is not sent as SNI, so that the matchers apply. Without matchers, only the address can be compared.
  const isCompared = isIP(serverName) === 0 || sanMatchers.length === 0;
  if (autoSniSanValidation && serverName !== '' && isCompared) {
    if (names.some((name) => isNameOf(name, serverName))) return undefined;
    return `${describeNames(names)} do not include the server name ${quoteText(serverName)}`;
  }
  if (sanMatchers.length === 0) return undefined;
  const matchers =
    sanMatchers.length === 1 ? 'the matcher' : `any of the ${sanMatchers.length} matchers`;
  const match = SanMatchers.of(sanMatchers).match(names);
  if (!match.ok) {
    return `comparing the ${names.length} subject alternative names of the certificate with ${matchers} of the cluster ${match.error}`;
  }
  if (match.value) return undefined;
  return `${describeNames(names)} do not satisfy ${matchers} of the cluster [${describeMatchers(sanMatchers)}]`;
}

/** Whether a name of a certificate is that of the server: an address only as an address (RFC 2818). */
function isNameOf({ type, value }: SubjectAltName, serverName: string): boolean {
  if (isIP(serverName) === 0) return type === 'dns' && matchesDnsName(value, serverName);
  return type === 'ip' && value === canonicalAddress(serverName);
}

function describeMatchers(matchers: readonly SanMatcher[]): string {
  return listFirst(matchers, describeMatcher).join(', ');
}

function describeMatcher({ type, matcher }: SanMatcher): string {
  const text = matcher.kind === 'regex' ? matcher.regex.pattern : matcher.text;
  const kind = type === 'any' ? matcher.kind : `${type} ${matcher.kind}`;
  const inAnyCase = matcher.kind !== 'regex' && matcher.ignoreCase ? ' in any case' : '';
  return `${kind} "${sanitizeText(text, MAX_SHOWN_LENGTH)}"${inAnyCase}`;
}
