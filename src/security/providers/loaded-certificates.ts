import type { Clock } from '../../util/clock';
import { err, type Result } from '../../util/result';
import { ReadyCertificates, type ReadyMaterial } from '../client/ready-certificates';
import { SecureContexts } from '../client/secure-contexts';
import type { TlsPolicy } from '../client/tls-policy';

/** The longest that a first load of certificates, and then a handshake, may take. grpc-js has no bound for either. */
export const TLS_TIMEOUT_MS = 20_000;

/** The TLS contexts of the connections of this process. */
export const processContexts = new SecureContexts();

interface LoadedCertificatesOptions {
  readonly clock: Clock;
  /** Completes an error text. */
  readonly describe: (text: string) => string;
}

/** The certificates that the handshakes of one subchannel use, and the wait for the first ones. */
export class LoadedCertificates {
  private readonly certificates: ReturnType<typeof ReadyCertificates.watch>;
  /** Called when certificates have changed. */
  private readonly waiters = new Set<() => void>();
  private isReleased = false;

  constructor(
    policy: TlsPolicy,
    private readonly options: LoadedCertificatesOptions,
  ) {
    const { clock } = options;
    const onChanged = () => this.notify();
    this.certificates = ReadyCertificates.watch(policy, onChanged, {
      contexts: processContexts,
      clock,
    });
  }

  /** Returns those as of now. @throws Error if there are none. */
  get(): ReadyMaterial {
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
    this.notify();
  }

  /** @returns `undefined` while certificates are being read for the first time. */
  private load(): Result<ReadyMaterial, string> | undefined {
    const { current } = this.certificates;
    return current?.ok === false ? err(this.options.describe(current.error)) : current;
  }

  private waitForLoad(): Promise<Result<ReadyMaterial, string>> {
    const { clock, describe } = this.options;
    return new Promise((resolve) => {
      const finish = (result: Result<ReadyMaterial, string>) => {
        this.waiters.delete(check);
        timer.release();
        resolve(result);
      };
      const check = () => {
        const loaded = this.isReleased ? err('the subchannel was closed') : this.load();
        if (loaded !== undefined) finish(loaded);
      };
      const timer = clock.setTimer(
        () => finish(err(describe('certificates were not loaded within 20 s'))),
        TLS_TIMEOUT_MS,
      );
      this.waiters.add(check);
    });
  }

  private notify(): void {
    for (const notify of [...this.waiters]) notify();
  }
}
