import type { Socket } from 'node:net';
import { CallCredentials, type SecureConnector } from '../../grpc-js';
import type { CertificateInstance } from '../../resources/tls/tls';
import type { Clock } from '../../util/clock';
import { err, ok, type Result } from '../../util/result';
import { afterRunning } from '../../util/running-time';
import { quoteText } from '../../util/text';
import type { CertificateWatch, Identity, TrustedRoots } from '../providers/certificate-provider';
import { TLS_TIMEOUT_MS } from '../contexts/tls-options';
import type { TlsPolicy } from './tls-policy';

/** The certificates of handshakes. */
export interface HandshakeCertificates {
  readonly roots: TrustedRoots | 'system';
  /** `undefined` where no certificate is presented. */
  readonly identity: Identity | undefined;
}

/** Secures the connections of one subchannel with the certificates of a policy, which may change. */
export abstract class PolicyConnector implements SecureConnector {
  /** `undefined` if the system's roots are used, or if the client presents no certificate. */
  private readonly roots: CertificateWatch | undefined;
  private readonly identity: CertificateWatch | undefined;
  /** Called when certificates have changed. */
  private readonly waiters = new Set<() => void>();
  private isReleased = false;

  /** @param serverName Part of every error; empty for none. */
  protected constructor(
    protected readonly policy: TlsPolicy,
    protected readonly serverName: string,
    private readonly callCredentials: CallCredentials | undefined,
    protected readonly clock: Clock,
  ) {
    const { rootCertificates, identity } = policy.tls;
    this.roots = this.watch(rootCertificates.kind === 'instance' ? rootCertificates : undefined);
    this.identity = this.watch(identity);
  }

  /** Performs a handshake with the certificates as of now. @throws Error why it failed. */
  abstract connect(socket: Socket): ReturnType<SecureConnector['connect']>;

  getCallCredentials(): CallCredentials {
    return this.callCredentials ?? CallCredentials.createEmpty();
  }

  /** Waits until the certificates were loaded for the first time. @throws Error why they cannot be used. */
  async waitForReady(): Promise<void> {
    const loaded = this.load() ?? (await this.waitForLoad());
    if (!loaded.ok) throw new Error(loaded.error);
  }

  destroy(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.roots?.release();
    this.identity?.release();
    this.notify();
  }

  /** Returns the certificates as of now. @throws Error if there are none. */
  protected get certificates(): HandshakeCertificates {
    const loaded = this.load() ?? err(this.describe('certificates are not loaded yet'));
    if (!loaded.ok) throw new Error(loaded.error);
    return loaded.value;
  }

  /** Completes an error text. */
  protected describe(text: string): string {
    const server = this.serverName === '' ? '' : ` (server name ${quoteText(this.serverName)})`;
    return `${this.policy.subject}${server}: ${text}`;
  }

  private notify(): void {
    for (const waiter of [...this.waiters]) waiter();
  }

  private watch(instance: CertificateInstance | undefined): CertificateWatch | undefined {
    return instance && this.policy.certificates.watch(instance, () => this.notify());
  }

  /** Returns the certificates, or why there are none; `undefined` while they are being read for the first time. */
  private load(): Result<HandshakeCertificates, string> | undefined {
    const roots = this.roots === undefined ? ok('system' as const) : this.roots.current.roots;
    const identity = this.identity === undefined ? ok(undefined) : this.identity.current.identity;
    if (roots === undefined || identity === undefined) return undefined;
    if (!roots.ok) return err(this.describe(roots.error));
    if (!identity.ok) return err(this.describe(identity.error));
    return ok({ roots: roots.value, identity: identity.value });
  }

  private waitForLoad(): Promise<Result<HandshakeCertificates, string>> {
    return new Promise((resolve) => {
      const finish = (result: Result<HandshakeCertificates, string>) => {
        this.waiters.delete(waiter);
        timer.release();
        resolve(result);
      };
      const waiter = () => {
        const loaded = this.isReleased ? err('the subchannel was closed') : this.load();
        if (loaded !== undefined) finish(loaded);
      };
      this.waiters.add(waiter);
      const late = () => finish(err(this.describe('certificates were not loaded within 20 s')));
      const timer = afterRunning(this.clock, late, TLS_TIMEOUT_MS);
    });
  }
}
