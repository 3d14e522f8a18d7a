import { createSecureContext, type SecureContext } from 'node:tls';
import type { Identity } from '../providers/certificate-provider';
import { tlsOptions } from './tls-options';

const SYSTEM_ROOTS: readonly string[] = [];
const NO_IDENTITY: Identity = { certificateChain: '', privateKey: '' };

const contexts = new WeakMap<readonly string[], WeakMap<Identity, SecureContext>>();

/**
 * Returns the TLS context of the connections of clients with these certificates, which all of them share. A context takes a
 * tenth of a millisecond or two for each root, and 20 kB and more: it is made once, at the first handshake that needs it, and
 * kept for as long as its roots and identity are in use. Certificates that are read again from the same bytes are the same.
 *
 * @param roots One PEM block each; `undefined` for the roots of the system.
 * @throws Error if they cannot be used.
 */
export function clientContext(
  roots: readonly string[] | undefined,
  identity: Identity | undefined,
): SecureContext {
  const byIdentity = contexts.get(roots ?? SYSTEM_ROOTS) ?? new WeakMap<Identity, SecureContext>();
  contexts.set(roots ?? SYSTEM_ROOTS, byIdentity);
  const known = byIdentity.get(identity ?? NO_IDENTITY);
  if (known !== undefined) return known;
  const context = createSecureContext({
    // Without `ca` Node uses its default roots, also those of NODE_EXTRA_CA_CERTS and of --use-system-ca (gRFC A82).
    // Each of them is an anchor, also one that another authority has signed, as in Go, Java and C-core.
    ...(roots !== undefined && { ca: [...roots], allowPartialTrustChain: true }),
    ...(identity !== undefined && { cert: identity.certificateChain, key: identity.privateKey }),
    ...tlsOptions(),
  });
  byIdentity.set(identity ?? NO_IDENTITY, context);
  return context;
}
