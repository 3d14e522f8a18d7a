import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { Handle } from '../../util/handle';
import { inSteps, type Steps } from '../../util/steps';
import { certificateSize, STEP_CERTIFICATES } from '../providers/certificate-limits';
import { Watchers, type Identity } from '../providers/certificate-provider';
import type { CertificateSteps } from '../providers/certificate-steps';

/** The certificates of a context: compared by identity. */
export interface ContextCertificates {
  /** One PEM block each; `undefined` for the roots of the system. */
  readonly roots: readonly string[] | undefined;
  readonly identity: Identity | undefined;
}

/** Characters in PEM of roots that are added to a context in one turn: some dozens, which take a few milliseconds. */
const MAX_SMALL_LENGTH = 32_768;

const SYSTEM_ROOTS: readonly string[] = [];
const NO_IDENTITY: Identity = { certificateChain: '', privateKey: '' };

/**
 * TLS contexts of a process, shared by all connections with the same certificates. A context takes a tenth of a
 * millisecond or two for each root, and 20 kB and more: it is made once, and kept for as long as its roots and identity are in
 * use. One with few roots is made at the first handshake that needs it; one with many in steps, before such a handshake.
 * Certificates that are read again from the same bytes are the same.
 */
export class SecureContexts {
  private readonly entries = new WeakMap<readonly string[], WeakMap<Identity, Entry>>();

  /** @param options Returns the options of every context. */
  constructor(private readonly options: () => SecureContextOptions) {}

  /**
   * Returns the context of certificates.
   * @throws Error if they cannot be used.
   */
  get(certificates: ContextCertificates): SecureContext {
    return (this.entryOf(certificates).context ??= this.create(certificates));
  }

  /** Whether the context of certificates is best made in steps before it is needed, and is not made yet. */
  isDue(certificates: ContextCertificates): boolean {
    const { roots } = certificates;
    if (roots === undefined || !isLarge(roots)) return false;
    return this.entryOf(certificates).context === undefined;
  }

  /**
   * Makes the context of certificates in steps, once for all that wait for it.
   * @param onMade Called afterwards, unless the handle is released before; never before this returns.
   */
  prepare(certificates: ContextCertificates, steps: CertificateSteps, onMade: () => void): Handle {
    const entry = this.entryOf(certificates);
    const making = (entry.making ??= new Making());
    const waiter = making.waiters.add(onMade, () => {
      if (entry.making !== making) return;
      entry.making = undefined;
      making.work?.release();
    });
    const { batch, timeSlices } = steps;
    making.work ??= timeSlices.startLater({ batch, steps: this.make(certificates, entry) });
    return waiter;
  }

  /** What cannot be used is left to `get`, which throws. */
  private *make(certificates: ContextCertificates, entry: Entry): Steps<void> {
    try {
      const context = yield* this.createInSteps(certificates);
      // A handshake that did not wait for it may have made one.
      entry.context ??= context;
    } finally {
      const { making } = entry;
      entry.making = undefined;
      making?.waiters.notify();
    }
  }

  /** @returns `undefined` where roots cannot be added later, as in other runtimes. */
  private *createInSteps({
    roots = SYSTEM_ROOTS,
    identity,
  }: ContextCertificates): Steps<SecureContext | undefined> {
    const context = this.create({ roots: roots.slice(0, STEP_CERTIFICATES), identity });
    const store: unknown = context.context;
    // Only its types are public.
    if (!takesRoots(store)) return undefined;
    const add = (root: string, index: number) => {
      if (index >= STEP_CERTIFICATES) store.addCACert(root);
    };
    yield* inSteps(roots, add, certificateSize);
    return context;
  }

  private entryOf({ roots = SYSTEM_ROOTS, identity = NO_IDENTITY }: ContextCertificates): Entry {
    const byIdentity = this.entries.get(roots) ?? new WeakMap<Identity, Entry>();
    this.entries.set(roots, byIdentity);
    const entry = byIdentity.get(identity) ?? { context: undefined, making: undefined };
    byIdentity.set(identity, entry);
    return entry;
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

interface Entry {
  context: SecureContext | undefined;
  /** While it is made in steps. */
  making: Making | undefined;
}

/** A context that is being made. */
class Making {
  readonly waiters = new Watchers();
  work: Handle | undefined;
}

function isLarge(roots: readonly string[]): boolean {
  let length = 0;
  for (const root of roots) length += root.length;
  return roots.length > STEP_CERTIFICATES && length > MAX_SMALL_LENGTH;
}

function takesRoots(store: unknown): store is { addCACert(root: string): void } {
  if (typeof store !== 'object' || store === null || !('addCACert' in store)) return false;
  return typeof store.addCACert === 'function';
}
