import { constants } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Identity } from './certificate-provider';

/** The certificates of a context: compared by identity. */
export interface ContextCertificates {
  /** One PEM block each; `undefined` for the roots of the system. */
  readonly roots: readonly string[] | undefined;
  readonly identity: Identity | undefined;
}

interface Entry extends ContextCertificates {
  readonly context: SecureContext;
}

/** A context takes 0.4 ms and more, and some 100 kB with many roots. More policies than this at once share none. */
const MAX_CONTEXTS = 64;

/** The TLS contexts of a process, shared by all connections with the same certificates. The oldest ones are dropped. */
export class SecureContexts {
  private readonly entries: Entry[] = [];

  /**
   * Returns the context of certificates.
   * @throws Error if they cannot be used.
   */
  get({ roots, identity }: ContextCertificates): SecureContext {
    const known = this.entries.find(
      (entry) => entry.roots === roots && entry.identity === identity,
    );
    if (known !== undefined) return known.context;
    const context = createSecureContext({
      // Without `ca` Node uses its default roots, also those of NODE_EXTRA_CA_CERTS and of --use-system-ca (gRFC A82).
      // Each of them is an anchor, also one that another authority has signed, as in Go, Java and C-core.
      ...(roots !== undefined && { ca: [...roots], allowPartialTrustChain: true }),
      ...(identity !== undefined && { cert: identity.certificateChain, key: identity.privateKey }),
      minVersion: 'TLSv1.2',
      // HTTP/2 has none (RFC 9113, 9.2.1), and the peer would not be checked again.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    });
    this.entries.push({ roots, identity, context });
    if (this.entries.length > MAX_CONTEXTS) this.entries.shift();
    return context;
  }
}
