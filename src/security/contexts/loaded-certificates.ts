import type { Clock } from '../../util/clock';
import { err, type Result } from '../../util/result';
import {
  Watchers,
  type Identity,
  type TrustedRoots,
  type Watch,
} from '../providers/certificate-provider';
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

interface LoadedCertificatesOptions {
  readonly clock: Clock;
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
    this.certificates = configuration.watch(() => this.waiters.notify());
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
