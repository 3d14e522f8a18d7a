import type { CertificateState } from 'grpc-xds';
import type { describeCertificates } from 'grpc-xds/internal';
import { cellText, type Row } from '../live-page/view';

/** Returns the row of the certificates of a provider. */
export function toCertificateRow(
  { instance, plugin, name, identity, roots }: ReturnType<typeof describeCertificates>,
  index: number,
): Row {
  return {
    id: `${index}`,
    instance: cellText(instance),
    plugin: cellText(plugin),
    name: cellText(name),
    identity: describeCertificate(identity),
    roots: describeCertificate(roots),
  };
}

function describeCertificate(certificate: CertificateState): string {
  switch (certificate.state) {
    case 'pending':
      return 'pending';
    case 'failed':
      return cellText(`failed: ${certificate.error}`);
    case 'ready':
      return `ready, ${certificate.certificates} valid until ${certificate.expiresAt}`;
  }
}
