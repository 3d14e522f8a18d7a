import { X509Certificate } from 'node:crypto';
import type { TestCertificate } from './test-certificates';

/** A SPIFFE trust bundle map, by trust domain. */
export function bundleMap(bundles: Readonly<Record<string, readonly TestCertificate[]>>): string {
  const domains = Object.entries(bundles).map(([name, authorities]) => {
    const keys = authorities.map(({ certificate }) => ({
      kty: 'EC',
      use: 'x509-svid',
      x5c: [new X509Certificate(certificate).raw.toString('base64')],
    }));
    return [name, { keys }] as const;
  });
  return JSON.stringify({ trust_domains: Object.fromEntries(domains) });
}
