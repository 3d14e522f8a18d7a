// Certificates made by openssl, once for each test file that uses them.

import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Identity } from '../../src/security/providers/certificate-provider';
import { signCertificate, type CertificateOptions as SignedOptions } from './sign-certificate';

/** What a certificate says, and the key that it has. */
export interface CertificateOptions extends SignedOptions {
  /** Whose key it has. Default: one of its own. */
  readonly keyOf?: Identity;
}

/** A certificate with its key, which may sign others. */
export interface TestCertificate extends Identity {
  /** In PEM, without those that signed it. */
  readonly certificate: string;
  /** Signs a certificate for a new key. */
  sign(commonName: string, options?: CertificateOptions): TestCertificate;
}

/** Makes certificates in a folder, which `close` removes. */
export class TestCertificates {
  private readonly folder = mkdtempSync(join(tmpdir(), 'grpc-xds-certificates-'));
  private serial = 0;

  /** Makes a certificate authority that is signed by itself. */
  authority(commonName: string, options: CertificateOptions = {}): TestCertificate {
    return this.create(commonName, { ...options, isAuthority: true }, undefined);
  }

  close(): void {
    rmSync(this.folder, { recursive: true });
  }

  private create(
    commonName: string,
    options: CertificateOptions,
    issuer: (TestCertificate & { readonly path: string }) | undefined,
  ): TestCertificate {
    const path = join(this.folder, `${this.serial++}`);
    writeFileSync(`${path}.key`, options.keyOf?.privateKey ?? createKey());
    const request = ['-key', `${path}.key`, '-subj', `/CN=${commonName}`, '-out', `${path}.csr`];
    this.run('req', '-new', ...request);
    signCertificate({
      ...options,
      path: `${path}.pem`,
      commonName,
      requestPath: `${path}.csr`,
      serial: 1000 + this.serial,
      issuer: {
        keyPath: `${issuer?.path ?? path}.key`,
        ...(issuer !== undefined && { certificatePath: `${issuer.path}.pem` }),
      },
    });
    const certificate = readFileSync(`${path}.pem`, 'utf8');
    const privateKey = readFileSync(`${path}.key`, 'utf8');
    const isRoot = issuer === undefined;
    const certificateChain = isRoot ? '' : certificate + issuer.certificateChain;
    const self = { certificate, privateKey, certificateChain, path };
    return {
      ...self,
      sign: (name, signed = {}) => this.create(name, signed, { ...self, sign: () => never() }),
    };
  }

  private run(...args: readonly string[]): void {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }
}

/** In PEM. */
function createKey(): string | Buffer {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return privateKey.export({ type: 'sec1', format: 'pem' });
}

function never(): never {
  throw new Error('not to be called');
}
