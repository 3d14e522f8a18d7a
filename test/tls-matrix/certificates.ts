import { execFile } from 'node:child_process';
import { generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { signCertificateAsync, type CertificateOptions } from '../support/sign-certificate';

const run = promisify(execFile);

/** The kinds of keys. */
const KEYS = {
  p256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  secp256k1: () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  'rsa-512': () => generateKeyPairSync('rsa', { modulusLength: 512 }),
  'rsa-1024': () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  'rsa-2048': () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'rsa-3072': () => generateKeyPairSync('rsa', { modulusLength: 3072 }),
  'rsa-pss': () => generateKeyPairSync('rsa-pss', { modulusLength: 2048 }),
  ed25519: () => generateKeyPairSync('ed25519'),
  ed448: () => generateKeyPairSync('ed448'),
} satisfies Record<string, () => { readonly privateKey: KeyObject }>;

export type KeyKind = keyof typeof KEYS;

/** A certificate as the table has it. */
export interface CertificateDescription extends CertificateOptions {
  /** The one that signs it. Default: itself. */
  readonly by?: string;
  /** Default: its name in the table. */
  readonly commonName?: string;
  /** Default: `p256`. Certificates that sign no others share the key of their kind. */
  readonly key?: KeyKind;
  /** The one whose key it has. Default: none. */
  readonly keyOf?: string;
}

/** The certificates of a table by name, each made when it is first needed, in one folder. */
export class CertificateFolder {
  private readonly made = new Map<string, Promise<void>>();
  private readonly requests = new Map<string, Promise<void>>();
  private readonly numbers = new Map<string, number>();
  private serial = 1000;

  constructor(
    private readonly folder: string,
    private readonly table: Readonly<Record<string, CertificateDescription>>,
  ) {
    mkdirSync(folder, { recursive: true });
  }

  /** Makes certificates, and those that signed them. Several at once: openssl is a process of its own. */
  async make(names: Iterable<string>): Promise<void> {
    await Promise.all([...names].map((name) => this.makeOne(name)));
  }

  /** The file with a certificate. */
  file(name: string): string {
    return this.path(name, 'pem');
  }

  /** A certificate in PEM, without those that signed it. It must have been made. */
  leaf(name: string): string {
    return readFileSync(this.path(name, 'pem'), 'utf8');
  }

  /** A certificate with those that signed it, up to the root, which is left out. */
  chain(name: string): string {
    return this.namesOfChain(name)
      .map((one) => this.leaf(one))
      .join('');
  }

  /** Its private key in PEM. */
  key(name: string): string {
    return readFileSync(this.path(this.keyName(name), 'key'), 'utf8');
  }

  /** The entry of a certificate in a SPIFFE trust bundle. */
  bundleKey(name: string): object {
    const certificate = new X509Certificate(this.leaf(name));
    const key = certificate.publicKey.export({ format: 'jwk' });
    return { use: 'x509-svid', ...key, x5c: [certificate.raw.toString('base64')] };
  }

  private namesOfChain(name: string): readonly string[] {
    const { by } = this.describe(name);
    if (by === undefined || this.describe(by).by === undefined) return [name];
    return [name, ...this.namesOfChain(by)];
  }

  private makeOne(name: string): Promise<void> {
    const existing = this.made.get(name);
    if (existing !== undefined) return existing;
    const created = this.create(name);
    this.made.set(name, created);
    return created;
  }

  private async create(name: string): Promise<void> {
    const description = this.describe(name);
    const { by, commonName = name } = description;
    // Another process has made it.
    if (existsSync(this.path(name, 'pem'))) return;
    const key = this.keyName(name);
    await Promise.all([
      this.request(key, description),
      by === undefined ? undefined : this.makeOne(by),
    ]);
    await signCertificateAsync({
      ...description,
      path: this.path(name, 'pem'),
      commonName,
      serial: this.serial++,
      requestPath: this.path(key, 'csr'),
      issuer:
        by === undefined
          ? { keyPath: this.path(key, 'key') }
          : { keyPath: this.path(this.keyName(by), 'key'), certificatePath: this.path(by, 'pem') },
    });
  }

  /** Makes a key, and the request for certificates of it. */
  private request(name: string, { key = 'p256' }: CertificateDescription): Promise<void> {
    const existing = this.requests.get(name);
    if (existing !== undefined) return existing;
    const { privateKey } = KEYS[key]();
    const path = this.path(name, 'key');
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const args = ['req', '-new', '-key', path, '-subj', '/CN=x', '-out', this.path(name, 'csr')];
    // In the request itself, which no one reads, the default digest may be too long for the key.
    const created = run('openssl', key === 'rsa-512' ? [...args, '-sha256'] : args).then(() => {});
    this.requests.set(name, created);
    return created;
  }

  private keyName(name: string): string {
    const { keyOf, key = 'p256', by } = this.describe(name);
    if (keyOf !== undefined) return keyOf;
    const signs = by === undefined || Object.values(this.table).some((other) => other.by === name);
    return signs ? name : `leaf-${key}`;
  }

  private describe(name: string): CertificateDescription {
    const description = this.table[name];
    if (description === undefined)
      throw new Error(`There is no certificate "${name}" in the table.`);
    return description;
  }

  private path(name: string, extension: string): string {
    if (/^[\w-]+$/.test(name)) return join(this.folder, `${name}.${extension}`);
    let number = this.numbers.get(name);
    if (number === undefined) this.numbers.set(name, (number = this.numbers.size));
    return join(this.folder, `${number}.${extension}`);
  }
}
