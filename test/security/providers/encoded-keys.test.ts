import { generateKeyPairSync, X509Certificate, type KeyPairKeyObjectResult } from 'node:crypto';
import { parseIdentity, parsePemCertificates } from '../../../src/security/providers/pem';
import { TestCertificates } from '../../support/test-certificates';

const certificates = new TestCertificates();
const root = certificates.authority('root');
afterAll(() => certificates.close());

const block = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString('base64')}\n-----END ${label}-----\n`;
const bytesOf = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
/** Returns a private key in PEM. */
const pemOf = ({ privateKey }: KeyPairKeyObjectResult, type: 'pkcs8' | 'sec1' = 'pkcs8') =>
  String(privateKey.export({ type, format: 'pem' }));

/** The types of Node.js do not have these keys. */
function createDiffieHellmanPair(): KeyPairKeyObjectResult {
  const generate: (type: string, options: object) => KeyPairKeyObjectResult =
    generateKeyPairSync as never;
  return generate('dh', { group: 'modp14' });
}

/** Reads an identity with this private key. @returns what is wrong; empty if nothing is. */
function problemOf(privateKey: string): string {
  const read = parseIdentity(root.certificate, privateKey);
  return read.ok ? '' : read.error;
}

describe('a private key', () => {
  it.each([
    [
      'of DSA',
      () => pemOf(generateKeyPairSync('dsa', { modulusLength: 1024, divisorLength: 160 })),
    ],
    ['of Diffie-Hellman', () => pemOf(createDiffieHellmanPair())],
    ['of X25519', () => pemOf(generateKeyPairSync('x25519'))],
    ['in a form of DSA alone', () => block('DSA PRIVATE KEY', Buffer.alloc(400, 0x30))],
    ['in PKCS#8 that is none', () => block('PRIVATE KEY', Buffer.alloc(400, 0x30))],
    ['in PKCS#8 without an end', () => block('PRIVATE KEY', Buffer.from('308401000000', 'hex'))],
    [
      'after one that can be read',
      () => `${root.privateKey}${block('DSA PRIVATE KEY', Buffer.alloc(9))}`,
    ],
    [
      'beside parameters of Diffie-Hellman',
      () => `${block('DH PARAMETERS', Buffer.alloc(9))}${root.privateKey}`,
    ],
  ])('%s is refused before OpenSSL computes with it', (_name, create) => {
    expect(problemOf(create())).toBe(
      'a private key of another kind than RSA, RSA-PSS, EC, Ed25519, Ed448',
    );
  });

  it('on a curve that it describes is refused', () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' });
    expect(problemOf(pemOf(pair))).toContain('an elliptic curve with parameters of its own');
  });

  it('of EC with more bytes than any curve has is refused', () => {
    const content = Buffer.alloc(2000, 1);
    expect(problemOf(block('EC PRIVATE KEY', content))).toBe(
      'a private key of 2000 bytes, more than the limit of 1024 for EC',
    );
  });

  it.each([
    ['RSA', () => pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }))],
    ['EC', () => pemOf(generateKeyPairSync('ec', { namedCurve: 'P-521' }))],
    ['Ed25519', () => pemOf(generateKeyPairSync('ed25519'))],
    [
      'EC, with the name of its curve before it',
      () =>
        block('EC PARAMETERS', Buffer.from('06082a8648ce3d030107', 'hex')) +
        pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }), 'sec1'),
    ],
  ])('of %s is compared with the certificate', (_name, create) => {
    expect(problemOf(create())).toMatch(
      /not that of the certificate|key values mismatch|key type mismatch/,
    );
  });

  it('of the certificate is accepted', () => {
    expect(problemOf(root.privateKey)).toBe('');
  });
});

describe('a certificate', () => {
  const read = (text: string) => {
    const result = parsePemCertificates(text);
    return result.ok ? result.value.length : result.error;
  };
  const der = bytesOf(root.certificate);

  it('with a curve that it describes is refused before OpenSSL computes with it', () => {
    for (const field of ['06072a8648ce3d0101', '06072a8648ce3d0102']) {
      const text = block('CERTIFICATE', Buffer.concat([der, Buffer.from(field, 'hex')]));
      expect(read(text)).toBe(
        'certificate 1: an elliptic curve with parameters of its own: use a curve with a name',
      );
    }
  });

  it.each([
    ['without settings', '', 1],
    ['with empty settings', '3000', 1],
    ['with a purpose that it is rejected for', '300ea00c060a2b0601050507030106', 'settings'],
    ['with settings that cannot be read', '31', 'settings'],
  ])('in the form TRUSTED CERTIFICATE %s', (_name, settings, expected) => {
    const text = block('TRUSTED CERTIFICATE', Buffer.concat([der, Buffer.from(settings, 'hex')]));
    expect(new X509Certificate(root.certificate).raw.equals(der)).toBe(true);
    const result = read(text);
    if (typeof expected === 'number') expect(result).toBe(expected);
    else
      expect(result).toBe(
        'certificate 1: a TRUSTED CERTIFICATE with settings: remove them, or the certificate',
      );
  });
});
