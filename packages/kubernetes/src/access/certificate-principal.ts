import type { PeerCertificate } from 'node:tls';
import type { ServiceAccount } from './token-review';

/** Who a certificate is of. */
export interface CertificateOwner {
  /** A service account as `namespace/name`, or a name of the certificate. */
  readonly name: string;
  /** Undefined if the names of the certificate have none. */
  readonly namespace: string | undefined;
}

/** A name of the kinds that are read, without quotes: Node.js quotes those with characters that could forge another name. */
const SAN = /(?:^|, )(?:(URI|DNS):([^",]+)|[^:,]+:(?:"(?:[^"\\]|\\.)*"|[^",]*))(?=, |$)/gy;
const SPIFFE = /^spiffe:\/\/[^/?#]+\/ns\/([a-z0-9-]+)\/sa\/([a-z0-9.-]+)$/;

/**
 * Returns who a verified certificate is of: the service account of its SPIFFE id, `spiffe://DOMAIN/ns/NAMESPACE/sa/NAME` as Istio
 * and SPIRE have it, or else its first DNS name, whose namespace is that of `NAME.NAMESPACE.svc` or `NAME.NAMESPACE.svc.DOMAIN`, also of
 * a pod below a service.
 *
 * @param domain The domain of the cluster.
 * @returns `undefined` if it has no such name, or several SPIFFE ids.
 */
export function ownerOf(
  certificate: Pick<PeerCertificate, 'subjectaltname'>,
  domain: string,
): CertificateOwner | undefined {
  const names = [...(certificate.subjectaltname ?? '').matchAll(SAN)];
  const uris = names.flatMap(([, kind, value]) =>
    kind === 'URI' && value !== undefined ? [value] : [],
  );
  const ids = uris.filter((uri) => uri.toLowerCase().startsWith('spiffe:'));
  const [id] = ids;
  if (ids.length > 1) return undefined;
  if (id !== undefined) {
    const account = serviceAccountOf(id);
    return account === undefined
      ? { name: id, namespace: undefined }
      : { name: `${account.namespace}/${account.name}`, namespace: account.namespace };
  }
  const dns = names.find(([, kind]) => kind === 'DNS')?.[2];
  return dns === undefined ? undefined : { name: dns, namespace: namespaceOf(dns, domain) };
}

function serviceAccountOf(id: string): ServiceAccount | undefined {
  const [, namespace, name] = SPIFFE.exec(id) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

function namespaceOf(name: string, domain: string): string | undefined {
  const suffix = `.svc.${domain}`;
  const short = name.endsWith(suffix) ? name.slice(0, -suffix.length) : trimSvc(name);
  const [namespace] = short?.split('.').slice(-1) ?? [];
  return short?.includes('.') === true && namespace !== '' ? namespace : undefined;
}

function trimSvc(name: string): string | undefined {
  return name.endsWith('.svc') ? name.slice(0, -'.svc'.length) : undefined;
}
