import { X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates } from 'node:tls';
import type {
  CaCertificateListener,
  CertificateProvider,
  IdentityCertificateListener,
} from '../grpc-js';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import { readRegularFile } from '../util/read-regular-file';
import { err, ok, type Result } from '../util/result';

/** The paths of PEM files. */
export interface CertificateFiles {
  /** The root certificates. Default: those of Node. */
  readonly ca: string | undefined;
  /** The certificate of the client, if any. */
  readonly identity: { readonly certificate: string; readonly privateKey: string } | undefined;
}

/** Options of file reloads. */
export interface FileCertificatesOptions {
  readonly refreshIntervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Certificates {
  readonly ca: Buffer;
  readonly identity: { readonly certificate: Buffer; readonly privateKey: Buffer } | undefined;
}

/** A bundle of all public certificate authorities has a quarter of a megabyte. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * Provides certificates from files, which are reloaded at an interval while there is a listener. Files that cannot be
 * read or used have no effect: the last valid certificates stay in use.
 */
export class FileCertificates implements CertificateProvider {
  private readonly caListeners = new Set<CaCertificateListener>();
  private readonly identityListeners = new Set<IdentityCertificateListener>();
  private timer: Handle | undefined;
  /** Time of the last read, on the monotonic clock. */
  private readAtMs: number;
  /** The error of the last read, if it failed. */
  private problem: string | undefined;

  private constructor(
    private readonly files: CertificateFiles,
    private certificates: Certificates,
    private readonly options: FileCertificatesOptions,
  ) {
    this.readAtMs = options.clock.monotonicMs();
  }

  /** Reads the files for the first time. @returns the certificates, or an error text. */
  static load(
    files: CertificateFiles,
    options: FileCertificatesOptions,
  ): Result<FileCertificates, string> {
    const certificates = readCertificates(files);
    if (!certificates.ok) return certificates;
    return ok(new FileCertificates(files, certificates.value, options));
  }

  /** See `CertificateProvider`. */
  addCaCertificateListener(listener: CaCertificateListener): void {
    this.start();
    this.caListeners.add(listener);
    listener({ caCertificate: this.certificates.ca });
  }

  /** See `CertificateProvider`. */
  removeCaCertificateListener(listener: CaCertificateListener): void {
    this.caListeners.delete(listener);
    this.stopIfUnused();
  }

  /** See `CertificateProvider`. */
  addIdentityCertificateListener(listener: IdentityCertificateListener): void {
    this.start();
    this.identityListeners.add(listener);
    listener(this.certificates.identity ?? null);
  }

  /** See `CertificateProvider`. */
  removeIdentityCertificateListener(listener: IdentityCertificateListener): void {
    this.identityListeners.delete(listener);
    this.stopIfUnused();
  }

  private start(): void {
    if (this.timer !== undefined) return;
    const { clock, refreshIntervalMs } = this.options;
    // The files may have been replaced while there was no listener.
    if (clock.monotonicMs() - this.readAtMs >= refreshIntervalMs) this.read();
    this.schedule();
  }

  private schedule(): void {
    this.timer = this.options.clock.setTimer(() => {
      this.schedule();
      this.read();
    }, this.options.refreshIntervalMs);
  }

  private stopIfUnused(): void {
    if (this.caListeners.size + this.identityListeners.size > 0) return;
    this.timer?.release();
    this.timer = undefined;
  }

  private read(): void {
    this.readAtMs = this.options.clock.monotonicMs();
    const read = readCertificates(this.files);
    if (!read.ok) {
      if (read.error !== this.problem) {
        this.options.logger.error(() => `${read.error}; the certificates read before stay in use`);
      }
      this.problem = read.error;
      return;
    }
    this.problem = undefined;
    this.certificates = read.value;
    for (const listener of this.caListeners) listener({ caCertificate: read.value.ca });
    for (const listener of this.identityListeners) listener(read.value.identity ?? null);
  }
}

function readCertificates(files: CertificateFiles): Result<Certificates, string> {
  const ca = files.ca === undefined ? ok(systemRoots()) : readCa(files.ca);
  if (!ca.ok) return ca;
  if (files.identity === undefined) return ok({ ca: ca.value, identity: undefined });
  const { certificate: certificateFile, privateKey: keyFile } = files.identity;
  const certificate = readFile('certificate_file', certificateFile);
  if (!certificate.ok) return certificate;
  const privateKey = readFile('private_key_file', keyFile);
  if (!privateKey.ok) return privateKey;
  try {
    createSecureContext({ cert: certificate.value, key: privateKey.value });
  } catch (error) {
    return err(
      `certificate_file ${certificateFile} and private_key_file ${keyFile} cannot be used together: ${errorMessage(error)}`,
    );
  }
  const identity = { certificate: certificate.value, privateKey: privateKey.value };
  return ok({ ca: ca.value, identity });
}

function readCa(path: string): Result<Buffer, string> {
  const read = readFile('ca_certificate_file', path);
  if (!read.ok) return read;
  try {
    // A secure context would accept text without any certificate, and trust none.
    new X509Certificate(read.value);
    return read;
  } catch (error) {
    return err(`ca_certificate_file ${path} cannot be used: ${errorMessage(error)}`);
  }
}

function readFile(field: string, path: string): Result<Buffer, string> {
  const read = readRegularFile(path, { maxBytes: MAX_FILE_BYTES });
  return read.ok ? read : err(`${field} ${path} cannot be read: ${read.error}`);
}

function systemRoots(): Buffer {
  return Buffer.from(rootCertificates.join('\n'));
}
