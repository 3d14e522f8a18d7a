// Certificates made by openssl, once for each test file that uses them.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Identity } from '../../src/security/certificate-provider';

/** What a certificate says. */
export interface CertificateOptions {
  /** As openssl writes them: `DNS:a.example`, `URI:spiffe://td/a`, `IP:::1`, `email:a@b.example`. Default: none. */
  readonly names?: readonly string[];
  /** Default: now and in a hundred years. As openssl writes them: `20200101000000Z`. */
  readonly validity?: readonly [notBefore: string, notAfter: string];
  /** Whether it may sign others. Default: no. */
  readonly isAuthority?: boolean;
  /** Such as `serverAuth`. Default: unrestricted. */
  readonly extendedUsage?: string;
}

const FOREVER = ['20200101000000Z', '21200101000000Z'] as const;

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
  authority(commonName: string): TestCertificate {
    return this.create(commonName, { isAuthority: true }, undefined);
  }

  close(): void {
    rmSync(this.folder, { recursive: true });
  }

  private create(
    commonName: string,
    { names = [], validity = FOREVER, isAuthority = false, extendedUsage }: CertificateOptions,
    issuer: (TestCertificate & { readonly path: string }) | undefined,
  ): TestCertificate {
    const path = join(this.folder, `${this.serial++}`);
    this.run('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${path}.key`);
    this.run(
      'req',
      '-new',
      '-key',
      `${path}.key`,
      '-subj',
      `/CN=${commonName}`,
      '-out',
      `${path}.csr`,
    );
    const alternatives = names.length === 0 ? '' : `subjectAltName=${names.join(',')}\n`;
    const usage = isAuthority ? 'keyCertSign,cRLSign' : 'digitalSignature';
    const extended = extendedUsage === undefined ? '' : `extendedKeyUsage=${extendedUsage}\n`;
    const basic = isAuthority ? 'CA:true' : 'CA:false';
    writeFileSync(
      `${path}.cnf`,
      `[ca]\ndefault_ca=d\n[d]\ndatabase=${path}.db\nnew_certs_dir=${this.folder}\nserial=${path}.srl\n` +
        `default_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n` +
        `[x]\nbasicConstraints=critical,${basic}\nkeyUsage=${usage}\n${extended}${alternatives}`,
    );
    writeFileSync(`${path}.db`, '');
    writeFileSync(`${path}.srl`, `${1000 + this.serial}`);
    const [notBefore, notAfter] = validity;
    const signer = issuer?.path ?? path;
    const by = issuer === undefined ? ['-selfsign'] : ['-cert', `${signer}.pem`];
    this.run(
      ...[
        'ca',
        '-batch',
        '-notext',
        '-config',
        `${path}.cnf`,
        '-extensions',
        'x',
        '-in',
        `${path}.csr`,
      ],
      ...['-keyfile', `${signer}.key`, ...by, '-startdate', notBefore, '-enddate', notAfter],
      ...['-out', `${path}.pem`],
    );
    const certificate = readFileSync(`${path}.pem`, 'utf8');
    const privateKey = readFileSync(`${path}.key`, 'utf8');
    const isRoot = issuer === undefined;
    const certificateChain = isRoot ? '' : certificate + issuer.certificateChain;
    const self = { certificate, privateKey, certificateChain, path };
    return {
      ...self,
      sign: (name, options = {}) => this.create(name, options, { ...self, sign: () => never() }),
    };
  }

  private run(...args: readonly string[]): void {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }
}

function never(): never {
  throw new Error('not to be called');
}
