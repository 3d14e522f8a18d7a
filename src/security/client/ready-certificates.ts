import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import { silentLogger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import type { Identity, TrustedRoots } from '../providers/certificate-provider';
import { certificateSteps, type CertificateSteps } from '../providers/certificate-steps';
import type { SecureContexts } from './secure-contexts';
import type { TlsMaterialWatch, TlsPolicy } from './tls-policy';
import { payerOf } from '../providers/work-payers';

/** The certificates of handshakes. */
export interface ReadyMaterial {
  readonly roots: TrustedRoots | 'system';
  readonly identity: Identity | undefined;
}

interface ReadyCertificatesOptions {
  readonly contexts: SecureContexts;
  readonly clock: Clock;
}

const readyOfPolicy = new WeakMap<TlsPolicy, ReadyCertificates>();

/**
 * The certificates of one policy whose large TLS contexts are made, for all its subchannels. When certificates change, the
 * contexts of the new ones are made in steps, at once; handshakes use those before until they are.
 */
export class ReadyCertificates {
  private readonly watchers = new Set<() => void>();
  private readonly steps: CertificateSteps;
  private readonly material: TlsMaterialWatch;
  private ready: ReadyMaterial | undefined;
  private readonly work = new Set<Handle>();

  private constructor(
    policy: TlsPolicy,
    private readonly options: ReadyCertificatesOptions,
  ) {
    this.steps = certificateSteps({ clock: options.clock, logger: silentLogger });
    this.material = policy.watch(() => this.notify());
  }

  /**
   * Watches the certificates of a policy.
   * @param onChanged Called after each change, never before `watch` has returned.
   */
  static watch(
    policy: TlsPolicy,
    onChanged: () => void,
    options: ReadyCertificatesOptions,
  ): Handle & { readonly current: Result<ReadyMaterial, string> | undefined } {
    const shared = readyOfPolicy.get(policy) ?? new ReadyCertificates(policy, options);
    readyOfPolicy.set(policy, shared);
    const watcher = () => onChanged();
    shared.watchers.add(watcher);
    const handle = createHandle(() => {
      shared.watchers.delete(watcher);
      if (shared.watchers.size > 0) return;
      readyOfPolicy.delete(policy);
      shared.close();
    });
    return {
      get current() {
        return shared.current;
      },
      release: () => handle.release(),
    };
  }

  /** Or why there are none; `undefined` until there are some for the first time. */
  private get current(): Result<ReadyMaterial, string> | undefined {
    return this.prepareNext() ?? (this.ready && ok(this.ready));
  }

  /** Makes the contexts of the certificates as of now, unless those of others are being made. @returns why there are none. */
  private prepareNext(): Result<never, string> | undefined {
    const loaded = this.load();
    if (loaded === undefined) return undefined;
    if (!loaded.ok) return loaded;
    const { roots, identity } = loaded.value;
    const isReady = this.ready?.roots === roots && this.ready.identity === identity;
    if (!isReady && this.work.size === 0) this.prepare(loaded.value);
    return undefined;
  }

  private load(): Result<ReadyMaterial, string> | undefined {
    const { roots, identity } = this.material.current;
    if (roots === undefined || identity === undefined) return undefined;
    if (roots !== 'system' && !roots.ok) return err(roots.error);
    if (identity !== 'none' && !identity.ok) return err(identity.error);
    return ok({
      roots: roots === 'system' ? roots : roots.value,
      identity: identity === 'none' ? undefined : identity.value,
    });
  }

  private prepare(material: ReadyMaterial): void {
    const { contexts } = this.options;
    const due = rootsOf(material).filter((roots) =>
      contexts.isDue({ roots, identity: material.identity }),
    );
    if (due.length === 0) {
      this.ready = material;
      return;
    }
    for (const roots of due) {
      const { identity } = material;
      const work = contexts.prepare({ roots, identity }, this.stepsFor(material), () => {
        this.work.delete(work);
        if (this.work.size > 0) return;
        this.ready = material;
        this.notify();
      });
      this.work.add(work);
    }
  }

  /** The work is taken from the time of the sources of the certificates: either may be what has changed. */
  private stepsFor({ roots, identity }: ReadyMaterial): CertificateSteps {
    const { clock } = this.options;
    const sources = [roots, identity].filter((each) => typeof each === 'object');
    const payers = new Set(sources.map(payerOf).filter((pay) => pay !== undefined));
    if (payers.size === 0) return this.steps;
    const { batch, timeSlices } = this.steps;
    const run = (task: () => void): void => {
      const startMs = clock.monotonicMs();
      batch.run(task);
      const durationMs = clock.monotonicMs() - startMs;
      for (const pay of payers) pay(durationMs);
    };
    return { timeSlices, batch: { run } };
  }

  private notify(): void {
    this.prepareNext();
    for (const notify of [...this.watchers]) notify();
  }

  private close(): void {
    for (const work of this.work) work.release();
    this.material.release();
  }
}

function rootsOf({ roots }: ReadyMaterial): readonly (readonly string[])[] {
  if (roots === 'system') return [];
  return roots.bundles === undefined ? [roots.certificates] : [...roots.bundles.values()];
}
