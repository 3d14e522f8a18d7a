import { X509Certificate } from 'node:crypto';
import type { CertificatesInUse } from '../../security/providers/certificate-providers';
import type { CertificatesReport, CertificateState } from './inspect-report';
import { toIso } from './report-texts';

/** Describes the certificates of a provider. */
export function describeCertificates({
  instanceName: instance,
  pluginName: plugin,
  certificateName: name,
  current: { identity, roots },
}: CertificatesInUse): CertificatesReport {
  return {
    ...{ instance, plugin, name },
    identity: describeState(identity, ({ certificateChain }) => splitPem(certificateChain)),
    roots: describeState(roots, ({ certificates }) => certificates),
  };
}

function describeState<T>(
  result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly error: string }
    | undefined,
  read: (value: T) => readonly string[],
): CertificateState {
  if (result === undefined) return { state: 'pending' };
  if (!result.ok) return { state: 'failed', error: result.error };
  const pems = read(result.value);
  let firstExpiry = Infinity;
  for (const pem of pems) {
    firstExpiry = Math.min(firstExpiry, Date.parse(new X509Certificate(pem).validTo));
  }
  return { state: 'ready', certificates: pems.length, expiresAt: toIso(firstExpiry) };
}

function splitPem(chain: string): readonly string[] {
  return chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}
