// Before any certificate: see test/support/der-certificate.ts.
import 'node:tls';
import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCertificateNames } from '../../../src/security/peer/certificate-names';
import { certificateWithNames, type RawName } from '../../support/der-certificate';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-names-'));
afterAll(() => rmSync(folder, { recursive: true }));

const text = (type: RawName['type'], value: string): RawName => ({
  type,
  bytes: Buffer.from(value),
});
const address = (...bytes: readonly number[]): RawName => ({
  type: 'ip',
  bytes: Buffer.from(bytes),
});
const read = (...names: readonly RawName[]) =>
  readCertificateNames(certificateWithNames(names).raw);

describe('the names of a certificate', () => {
  it('are read from its bytes, in order', () => {
    const names = read(
      text('uri', 'spiffe://td/a'),
      text('dns', 'a.example'),
      text('other', 'x'),
      text('directory', 'x'),
      address(10, 0, 0, 1),
      address(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
      text('uri', 'https://b.example/'),
      text('email', 'a@b.example'),
    );
    expect(names).toEqual({
      ok: true,
      value: {
        subjectAltNames: [
          { type: 'uri', value: 'spiffe://td/a' },
          { type: 'dns', value: 'a.example' },
          { type: 'ip', value: '10.0.0.1' },
          { type: 'ip', value: '2001:db8::1' },
          { type: 'uri', value: 'https://b.example/' },
          { type: 'email', value: 'a@b.example' },
        ],
        uriSans: ['spiffe://td/a', 'https://b.example/'],
        dnsSans: ['a.example'],
        subject: '',
      },
    });
  });

  it.each<[string, string]>([
    ['a comma', 'a, DNS:admin.example'],
    ['quotes', '"a", DNS:b'],
    ['an escape', 'a\\u002c DNS:b'],
  ])('are not split at what they contain: %s', (_, value) => {
    expect(read(text('dns', value))).toMatchObject({ value: { dnsSans: [value] } });
  });

  it.each<[string, RawName]>([
    ['a zero byte', text('dns', 'admin.example\0.evil.example')],
    ['a line break', text('uri', 'spiffe://td/a\nx')],
    ['what is not ASCII', text('uri', 'spiffe://td/ä')],
    ['an address of three bytes', address(10, 0, 0)],
    ['an address with a mask', address(10, 0, 0, 0, 255, 0, 0, 0)],
  ])('make a certificate unusable with %s', (_, name) => {
    const error = 'the certificate has a subject alternative name that is not valid';
    expect(read(text('uri', 'spiffe://td/a'), name)).toEqual({ ok: false, error });
  });

  it('are at most 1,000', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => text('dns', `${index}.example`));
    expect(read(...names.slice(0, 1000))).toMatchObject({ ok: true });
    expect(read(...names)).toMatchObject({ ok: false, error: expect.stringContaining('1000') });
  });

  it('are none of bytes that are cut off or changed anywhere, without an exception', () => {
    const { raw } = certificateWithNames([text('uri', 'spiffe://td/a'), text('dns', 'a.example')]);
    for (let end = 0; end < raw.length; end++) {
      expect(readCertificateNames(raw.subarray(0, end)).ok).toBe(false);
    }
    for (let at = 0; at < raw.length; at++) {
      for (const bit of [0, 3, 7]) {
        const changed = Buffer.from(raw);
        changed[at] = (raw[at] ?? 0) ^ (1 << bit);
        expect(() => readCertificateNames(changed)).not.toThrow();
      }
    }
  });
});

/** Makes a certificate with a subject as openssl takes it. @returns its path. */
function create(subject: string): string {
  const path = join(folder, 'x.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', path];
  const request = ['req', '-x509', ...key, '-out', path, '-subj', subject];
  execFileSync('openssl', [...request, '-days', '1'], { stdio: 'pipe' });
  return path;
}

function subjectOf(path: string): string {
  const read = readCertificateNames(new X509Certificate(readFileSync(path)).raw);
  return read.ok ? read.value.subject : '';
}

describe('the subject of a certificate', () => {
  it.each<[string]>([
    ['/CN=web'],
    ['/C=DE/ST=Berlin/L=Berlin/O=Acme/OU=Shop/CN=web'],
    ['/DC=example/DC=corp/UID=web/street=1 Main St'],
    ['/O=Acme, Inc. <x>; "y" \\+ z\\\\/CN=#web '],
    ['/CN= web'],
    ['/serialNumber=12345/emailAddress=a@b.example/CN=x'],
  ])('is in the text of RFC 2253, as OpenSSL writes it: %s', (subject) => {
    const path = create(subject);
    const names = ['-in', path, '-noout', '-subject', '-nameopt', 'RFC2253'];
    const expected = execFileSync('openssl', ['x509', ...names])
      .toString()
      .trim();
    const own = subjectOf(path);
    // OpenSSL has names for more types than RFC 2253, whose values it writes as text.
    const known = own
      .replace(/2\.5\.4\.5=#1305(\w+)/, (_, hex: string) => `serialNumber=${fromHex(hex)}`)
      .replace(
        /1\.2\.840\.113549\.1\.9\.1=#16..(\w+)/,
        (_, hex: string) => `emailAddress=${fromHex(hex)}`,
      )
      .replace('STREET=', 'street=');
    expect(`subject=${known}`).toBe(expected);
  });

  it('has the parts of one attribute in their order, as in Go', () => {
    expect(subjectOf(create('/CN=a+OU=b/O=c'))).toBe('O=c,CN=a+OU=b');
  });
});

const fromHex = (hex: string) => Buffer.from(hex, 'hex').toString();
