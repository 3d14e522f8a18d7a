import type {
  CaCertificateListener,
  CertificateProvider,
  IdentityCertificateListener,
} from '../../grpc-js';
import {
  CertificateFiles,
  type CertificateFilesConfig,
  type CertificateFilesOptions,
} from '../providers/certificate-files';
import type { CertificateSource } from '../providers/certificate-provider';
import type { Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';

/**
 * Certificates from files in the form that the host library takes, for connections to management servers. The files are
 * watched while there is a listener.
 */
export class FileCertificates implements CertificateProvider {
  private readonly caListeners = new Set<CaCertificateListener>();
  private readonly identityListeners = new Set<IdentityCertificateListener>();
  private watch: Handle | undefined;
  /** What the listeners have. */
  private notified: CertificateFiles['current'];

  private constructor(
    private readonly config: CertificateFilesConfig,
    private readonly files: CertificateFiles,
  ) {
    this.notified = files.current;
  }

  /** Reads the files for the first time. @returns the certificates, or which file cannot be used and why. */
  static load(
    config: CertificateFilesConfig,
    options: Pick<CertificateFilesOptions, 'clock' | 'logger'>,
  ): Result<FileCertificates, string> {
    // A failure is the reason why the server cannot be used, which is logged there.
    const files = new CertificateFiles(config, {
      ...options,
      subject: '',
      logsFirstFailure: false,
    });
    files.read();
    const { roots, identity } = files.current;
    if (config.roots !== undefined && roots?.ok === false) return err(roots.error);
    if (config.identity !== undefined && identity?.ok === false) return err(identity.error);
    return ok(new FileCertificates(config, files));
  }

  /** The same certificates as those of a policy, whatever instance it names. */
  get source(): CertificateSource {
    return {
      nodeId: '',
      watch: (_instance, _certificate, onChanged) => this.files.watch(onChanged),
    };
  }

  addCaCertificateListener(listener: CaCertificateListener): void {
    this.start();
    this.caListeners.add(listener);
    this.notifyCa(listener);
  }

  removeCaCertificateListener(listener: CaCertificateListener): void {
    this.caListeners.delete(listener);
    this.stopIfUnused();
  }

  addIdentityCertificateListener(listener: IdentityCertificateListener): void {
    this.start();
    this.identityListeners.add(listener);
    this.notifyIdentity(listener);
  }

  removeIdentityCertificateListener(listener: IdentityCertificateListener): void {
    this.identityListeners.delete(listener);
    this.stopIfUnused();
  }

  private start(): void {
    if (this.watch !== undefined || this.isWithoutFiles) return;
    this.watch = this.files.watch(() => this.onChanged());
    this.notified = this.files.current;
  }

  private get isWithoutFiles(): boolean {
    return this.config.roots === undefined && this.config.identity === undefined;
  }

  private stopIfUnused(): void {
    if (this.caListeners.size + this.identityListeners.size > 0) return;
    this.watch?.release();
    this.watch = undefined;
  }

  private onChanged(): void {
    const before = this.notified;
    this.notified = this.files.current;
    if (before.roots !== this.notified.roots)
      this.caListeners.forEach((each) => this.notifyCa(each));
    if (before.identity === this.notified.identity) return;
    this.identityListeners.forEach((each) => this.notifyIdentity(each));
  }

  private notifyCa(listener: CaCertificateListener): void {
    const { roots } = this.files.current;
    const ca = roots?.ok === true ? Buffer.from(roots.value.certificates.join('')) : undefined;
    // eslint-disable-next-line no-restricted-syntax -- without `ca`, Node.js uses the roots of the system; the type has no word for it
    listener({ caCertificate: ca as Buffer });
  }

  private notifyIdentity(listener: IdentityCertificateListener): void {
    const { identity } = this.files.current;
    if (identity?.ok !== true) {
      listener(null);
      return;
    }
    const { certificateChain, privateKey } = identity.value;
    listener({ certificate: Buffer.from(certificateChain), privateKey: Buffer.from(privateKey) });
  }
}
