import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What a certificate says. */
export interface CertificateOptions {
  /** As openssl writes them: `DNS:a.example`, `URI:spiffe://td/a`, `IP:::1`, `email:a@b.example`. Default: none. */
  readonly names?: readonly string[];
  /** Default: from 2020 to 2120. As openssl writes them: `20200101000000Z`. */
  readonly validity?: readonly [notBefore: string, notAfter: string];
  /** Whether it may sign others. Default: no. */
  readonly isAuthority?: boolean;
  /** How many authorities may be below it. Default: any number. */
  readonly pathLength?: number;
  /** Such as `digitalSignature`. Default: what an authority or a leaf needs; empty for no such extension. */
  readonly usage?: string;
  /** Such as `serverAuth`. Default: unrestricted. */
  readonly extendedUsage?: string;
  /** Such as `nameConstraints=critical,permitted;URI:td.test`. Default: none. */
  readonly extensions?: string;
  /** Of the signature, such as `sha1`. Default: `sha256`. */
  readonly digest?: string;
}

const FOREVER = ['20200101000000Z', '21200101000000Z'] as const;

/** A certificate to be signed. All files of openssl are beside it. */
export interface SigningRequest extends CertificateOptions {
  /** Where the certificate is written, in PEM; its files are named after it. */
  readonly path: string;
  readonly commonName: string;
  /** The request, which has the key. Its names are not read. */
  readonly requestPath: string;
  readonly serial: number;
  /** Who signs it; without `certificatePath`, it is signed by its own key. */
  readonly issuer: { readonly keyPath: string; readonly certificatePath?: string };
}

/** Signs a certificate with `openssl ca`, which can set both ends of its validity. */
export function signCertificate(request: SigningRequest): void {
  execFileSync('openssl', prepare(request), { stdio: 'pipe' });
}

/** As {@link signCertificate}, without blocking. */
export async function signCertificateAsync(request: SigningRequest): Promise<void> {
  await run('openssl', prepare(request));
}

/** @returns the arguments of openssl. */
function prepare(request: SigningRequest): readonly string[] {
  const { path, commonName, requestPath, serial, issuer, validity = FOREVER } = request;
  writeFileSync(`${path}.cnf`, configOf(request));
  writeFileSync(`${path}.db`, '');
  writeFileSync(`${path}.srl`, String(serial));
  const { keyPath, certificatePath } = issuer;
  const by = certificatePath === undefined ? ['-selfsign'] : ['-cert', certificatePath];
  return [
    'ca',
    '-batch',
    '-notext',
    '-config',
    `${path}.cnf`,
    '-extensions',
    'x',
    '-in',
    requestPath,
    '-subj',
    `/CN=${commonName}`,
    '-keyfile',
    keyPath,
    ...by,
    '-startdate',
    validity[0],
    '-enddate',
    validity[1],
    '-out',
    path,
  ];
}

function configOf({ path, digest = 'sha256', ...options }: SigningRequest): string {
  const { names = [], isAuthority = false, pathLength, extendedUsage, extensions } = options;
  const usage = options.usage ?? (isAuthority ? 'keyCertSign,cRLSign' : 'digitalSignature');
  const length = pathLength === undefined ? '' : `,pathlen:${pathLength}`;
  // In a section of their own, in which a comma is a part of the name.
  const alternatives = names.map((name, index) => {
    const colon = name.indexOf(':');
    return `${name.slice(0, colon)}.${index}=${name.slice(colon + 1).replaceAll(/[#$\\"']/g, '\\$&')}`;
  });
  const lines = [
    '[ca]',
    'default_ca=d',
    '[d]',
    `database=${path}.db`,
    `new_certs_dir=${dirname(path)}`,
    `serial=${path}.srl`,
    `default_md=${digest}`,
    'policy=p',
    'unique_subject=no',
    '[p]',
    'commonName=supplied',
    '[x]',
    `basicConstraints=critical,CA:${isAuthority}${length}`,
    ...(usage === '' ? [] : [`keyUsage=${usage}`]),
    ...(extendedUsage === undefined ? [] : [`extendedKeyUsage=${extendedUsage}`]),
    ...(extensions === undefined ? [] : [extensions]),
    ...(names.length === 0 ? [] : ['subjectAltName=@names', '[names]', ...alternatives]),
  ];
  return `${lines.join('\n')}\n`;
}
