import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { Identity } from '../providers/certificate-provider';

/** The certificates of a context: compared by identity. */
export interface ContextCertificates {
  /** One PEM block each; `undefined` for the roots of the system. */
  readonly roots: readonly string[] | undefined;
  readonly identity: Identity | undefined;
}

const SYSTEM_ROOTS: readonly string[] = [];
const NO_IDENTITY: Identity = { certificateChain: '', privateKey: '' };

/**
 * TLS contexts of a process, shared by all connections with the same certificates. A context takes a tenth of a
 * millisecond or two for each root, and 20 kB and more: it is made once, at the first handshake that needs it, and kept for as
 * long as its roots and identity are in use. Certificates that are read again from the same bytes are the same.
 */
export class SecureContexts {
  private readonly known = new WeakMap<readonly string[], WeakMap<Identity, SecureContext>>();

  /** @param options Returns the options of every context. */
  constructor(private readonly options: () => SecureContextOptions) {}

  /**
   * Returns the context of certificates.
   * @throws Error if they cannot be used.
   */
  get(certificates: ContextCertificates): SecureContext {
    const { roots = SYSTEM_ROOTS, identity = NO_IDENTITY } = certificates;
    const byIdentity = this.known.get(roots) ?? new WeakMap<Identity, SecureContext>();
    this.known.set(roots, byIdentity);
    const context = byIdentity.get(identity) ?? this.create(certificates);
    byIdentity.set(identity, context);
    return context;
  }

  private create({ roots, identity }: ContextCertificates): SecureContext {
    return createSecureContext({
      // Without `ca` Node uses its default roots, also those of NODE_EXTRA_CA_CERTS and of --use-system-ca (gRFC A82).
      // Each of them is an anchor, also one that another authority has signed, as in Go, Java and C-core.
      ...(roots !== undefined && { ca: [...roots], allowPartialTrustChain: true }),
      ...(identity !== undefined && { cert: identity.certificateChain, key: identity.privateKey }),
      ...this.options(),
    });
  }
}
