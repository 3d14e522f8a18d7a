import { constants } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Identity } from './certificate-provider';

/** The certificates of a context: compared by identity. */
export interface ContextCertificates {
  /** One PEM block each; `undefined` for the roots of the system. */
  readonly roots: readonly string[] | undefined;
  readonly identity: Identity | undefined;
}

const SYSTEM_ROOTS: readonly string[] = [];
const NO_IDENTITY: Identity = { certificateChain: '', privateKey: '' };

/**
 * The TLS contexts of a process, shared by all connections with the same certificates. A context takes a tenth of a
 * millisecond or two for each root, and 20 kB and more: it is made once, at the first handshake with its roots and identity, and
 * kept for as long as both are in use. Certificates that are read again from the same bytes are the same.
 */
export class SecureContexts {
  private readonly contexts = new WeakMap<readonly string[], WeakMap<Identity, SecureContext>>();

  /**
   * Returns the context of certificates.
   * @throws Error if they cannot be used.
   */
  get({ roots, identity }: ContextCertificates): SecureContext {
    const byIdentity = this.contextsOf(roots ?? SYSTEM_ROOTS);
    const known = byIdentity.get(identity ?? NO_IDENTITY);
    if (known !== undefined) return known;
    const context = createContext({ roots, identity });
    byIdentity.set(identity ?? NO_IDENTITY, context);
    return context;
  }

  private contextsOf(roots: readonly string[]): WeakMap<Identity, SecureContext> {
    const known = this.contexts.get(roots);
    if (known !== undefined) return known;
    const added = new WeakMap<Identity, SecureContext>();
    this.contexts.set(roots, added);
    return added;
  }
}

function createContext({ roots, identity }: ContextCertificates): SecureContext {
  return createSecureContext({
    // Without `ca` Node uses its default roots, also those of NODE_EXTRA_CA_CERTS and of --use-system-ca (gRFC A82).
    // Each of them is an anchor, also one that another authority has signed, as in Go, Java and C-core.
    ...(roots !== undefined && { ca: [...roots], allowPartialTrustChain: true }),
    ...(identity !== undefined && { cert: identity.certificateChain, key: identity.privateKey }),
    minVersion: 'TLSv1.2',
    // HTTP/2 has none (RFC 9113, 9.2.1), and the peer would not be checked again.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  });
}
