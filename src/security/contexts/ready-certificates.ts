import type { Clock } from '../../util/clock';
import { type Handle } from '../../util/handle';
import { silentLogger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import {
  createWatch,
  Watchers,
  type Identity,
  type TrustedRoots,
  type Watch,
} from '../providers/certificate-provider';
import { certificateSteps, payerOf, type CertificateSteps } from '../providers/certificate-steps';
import type { SecureContexts } from './secure-contexts';
import { afterRunning } from '../../util/running-time';

/** The longest that a first load of certificates, and then a handshake, may take. grpc-js has no bound for either. */
export const TLS_TIMEOUT_MS = 20_000;

/** The certificates of handshakes. */
export interface HandshakeCertificates {
  readonly roots: TrustedRoots | 'system';
  /** `undefined` where no certificate is presented. */
  readonly identity: Identity | undefined;
}

/** The certificates of handshakes, or why there are none; `undefined` while they are being read for the first time. */
export type CurrentCertificates = Result<HandshakeCertificates, string> | undefined;

/** What says which certificates handshakes use, such as the policy of a cluster. */
export interface TlsConfiguration {
  /** Watches the certificates. @param onChanged Called after each change, never before `watch` has returned. */
  watch(onChanged: () => void): Watch<CurrentCertificates>;
}

interface ReadyCertificatesOptions {
  readonly contexts: SecureContexts;
  readonly clock: Clock;
}

const readyByConfiguration = new WeakMap<TlsConfiguration, ReadyCertificates>();

/**
 * The certificates of one configuration whose large TLS contexts are made, for all its connections. When certificates
 * change, the contexts of the new ones are made in steps, at once; handshakes use those before until they are.
 */
export class ReadyCertificates {
  private readonly watchers = new Watchers();
  private readonly steps: CertificateSteps;
  private readonly loaded: Watch<CurrentCertificates>;
  private ready: HandshakeCertificates | undefined;
  private readonly work = new Set<Handle>();

  private constructor(
    configuration: TlsConfiguration,
    private readonly options: ReadyCertificatesOptions,
  ) {
    this.steps = certificateSteps({ clock: options.clock, logger: silentLogger });
    this.loaded = configuration.watch(() => this.notify());
  }

  /**
   * Watches the certificates of a configuration.
   * @param onChanged Called after each change, never before `watch` has returned.
   */
  static watch(
    configuration: TlsConfiguration,
    onChanged: () => void,
    options: ReadyCertificatesOptions,
  ): Watch<CurrentCertificates> {
    const known = readyByConfiguration.get(configuration);
    const shared = known ?? new ReadyCertificates(configuration, options);
    readyByConfiguration.set(configuration, shared);
    const watcher = shared.watchers.add(onChanged, () => {
      readyByConfiguration.delete(configuration);
      shared.close();
    });
    return createWatch(
      () => shared.current,
      () => watcher.release(),
    );
  }

  private get current(): CurrentCertificates {
    return this.prepareNext() ?? (this.ready && ok(this.ready));
  }

  /** Makes the contexts of the certificates as of now, unless those of others are being made. @returns why there are none. */
  private prepareNext(): Result<never, string> | undefined {
    const loaded = this.loaded.current;
    if (loaded?.ok !== true) return loaded;
    const { roots, identity } = loaded.value;
    const isReady = this.ready?.roots === roots && this.ready.identity === identity;
    if (!isReady && this.work.size === 0) this.prepare(loaded.value);
    return undefined;
  }

  private prepare(certificates: HandshakeCertificates): void {
    const { contexts } = this.options;
    const { identity } = certificates;
    const due = rootsOf(certificates).filter((roots) => contexts.isDue({ roots, identity }));
    if (due.length === 0) {
      this.ready = certificates;
      return;
    }
    for (const roots of due) {
      const work = contexts.prepare({ roots, identity }, this.stepsFor(certificates), () => {
        this.work.delete(work);
        if (this.work.size > 0) return;
        this.ready = certificates;
        this.notify();
      });
      this.work.add(work);
    }
  }

  /** The work is taken from the time of the sources of the certificates: either may be what has changed. */
  private stepsFor({ roots, identity }: HandshakeCertificates): CertificateSteps {
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
    this.watchers.notify();
  }

  private close(): void {
    for (const work of this.work) work.release();
    this.loaded.release();
  }
}

function rootsOf({ roots }: HandshakeCertificates): readonly (readonly string[])[] {
  if (roots === 'system') return [];
  return roots.bundles === undefined ? [roots.certificates] : [...roots.bundles.values()];
}

interface LoadedCertificatesOptions extends ReadyCertificatesOptions {
  /** Completes an error text. */
  readonly describe: (text: string) => string;
}

/** The certificates that the handshakes of one subchannel use, and the wait for the first ones. */
export class LoadedCertificates {
  private readonly certificates: Watch<CurrentCertificates>;
  /** Called when certificates have changed. */
  private readonly waiters = new Watchers();
  private isReleased = false;

  constructor(
    configuration: TlsConfiguration,
    private readonly options: LoadedCertificatesOptions,
  ) {
    const onChanged = () => this.waiters.notify();
    this.certificates = ReadyCertificates.watch(configuration, onChanged, options);
  }

  /** Returns those as of now. @throws Error if there are none. */
  get(): HandshakeCertificates {
    const { describe } = this.options;
    const loaded = this.load() ?? err(describe('certificates are not loaded yet'));
    if (!loaded.ok) throw new Error(loaded.error);
    return loaded.value;
  }

  /** Waits until they were loaded for the first time. @throws Error why they cannot be used. */
  async wait(): Promise<void> {
    const loaded = this.load() ?? (await this.waitForLoad());
    if (!loaded.ok) throw new Error(loaded.error);
  }

  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.certificates.release();
    this.waiters.notify();
  }

  private load(): CurrentCertificates {
    const { current } = this.certificates;
    return current?.ok === false ? err(this.options.describe(current.error)) : current;
  }

  private waitForLoad(): Promise<Result<HandshakeCertificates, string>> {
    const { clock, describe } = this.options;
    return new Promise((resolve) => {
      const finish = (result: Result<HandshakeCertificates, string>) => {
        waiter.release();
        timer.release();
        resolve(result);
      };
      const waiter = this.waiters.add(() => {
        const loaded = this.isReleased ? err('the subchannel was closed') : this.load();
        if (loaded !== undefined) finish(loaded);
      });
      const timer = afterRunning(
        clock,
        () => finish(err(describe('certificates were not loaded within 20 s'))),
        TLS_TIMEOUT_MS,
      );
    });
  }
}
