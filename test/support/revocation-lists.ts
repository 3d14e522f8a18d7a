// Certificate revocation lists made by openssl.

import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestCertificate } from './test-certificates';

/** What a list says. */
export interface ListOptions {
  /** From when to when it is the latest. Default: from 2020 to 2120. As openssl writes them: `20200101000000Z`. */
  readonly validity?: readonly [lastUpdate: string, nextUpdate: string];
  /** Lines of openssl, such as `2.5.29.27=critical,DER:020101`. Default: none. */
  readonly extensions?: readonly string[];
  /** Who signs it in place of the authority of its name. */
  readonly signer?: TestCertificate;
  /** Default: PEM. */
  readonly form?: 'PEM' | 'DER';
}

const FOREVER = ['20200101000000Z', '21200101000000Z'] as const;

/** Makes the list of an authority, with the certificates that it has revoked. */
export function revocationList(
  authority: TestCertificate,
  revoked: readonly TestCertificate[] = [],
  { validity = FOREVER, extensions = [], signer = authority, form = 'PEM' }: ListOptions = {},
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-lists-'));
  const path = (name: string) => join(folder, name);
  const write = (name: string, text: string) => {
    writeFileSync(path(name), text);
    return path(name);
  };
  const entries = revoked.map(({ certificate }) => {
    const { serialNumber } = new X509Certificate(certificate);
    const times = ['491231235959Z', '200102000000Z,keyCompromise'];
    return `${['R', ...times, serialNumber, 'unknown', '/CN=revoked'].join('\t')}\n`;
  });
  const config = [
    ...['[ca]', 'default_ca=d', '[d]', `database=${write('index', entries.join(''))}`],
    ...['default_md=sha256', 'unique_subject=no', '[x]', ...extensions],
  ];
  try {
    const files = ['-config', write('cnf', `${config.join('\n')}\n`)];
    const keys = [
      '-keyfile',
      write('key', signer.privateKey),
      '-cert',
      write('pem', signer.certificate),
    ];
    const times = ['-crl_lastupdate', validity[0], '-crl_nextupdate', validity[1]];
    const own = extensions.length > 0 ? ['-crlexts', 'x'] : [];
    const run = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
    run('ca', '-gencrl', ...files, ...keys, ...times, ...own, '-out', path('crl'));
    if (form === 'DER') run('crl', '-in', path('crl'), '-outform', 'DER', '-out', path('crl'));
    return readFileSync(path('crl'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
