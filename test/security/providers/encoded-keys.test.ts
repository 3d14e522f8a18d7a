import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { parseIdentity, parsePemCertificates } from '../../../src/security/providers/pem';
import { runSteps } from '../../../src/util/steps';
import { TestCertificates } from '../../support/test-certificates';

const certificates = new TestCertificates();
const root = certificates.authority('root');
afterAll(() => certificates.close());

const block = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString('base64')}\n-----END ${label}-----\n`;
const bytesOf = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64');
const pkcs8 = { type: 'pkcs8', format: 'pem' } as const;
const publicKeyEncoding = { type: 'spki', format: 'pem' } as const;

/** Reads an identity with this private key. @returns what is wrong; empty if nothing is. */
function problemOf(privateKey: string): string {
  const read = runSteps(parseIdentity(root.certificate, privateKey));
  return read.ok ? '' : read.error;
}

describe('a private key', () => {
  it.each([
    [
      'of DSA',
      () =>
        generateKeyPairSync('dsa', {
          ...{ modulusLength: 1024, divisorLength: 160 },
          ...{ publicKeyEncoding, privateKeyEncoding: pkcs8 },
        }).privateKey,
    ],
    [
      'of Diffie-Hellman',
      () =>
        generateKeyPairSync('dh', {
          ...{ group: 'modp14' },
          ...{ publicKeyEncoding, privateKeyEncoding: pkcs8 },
        } as never).privateKey as unknown as string,
    ],
    [
      'of X25519',
      () =>
        generateKeyPairSync('x25519', { publicKeyEncoding, privateKeyEncoding: pkcs8 }).privateKey,
    ],
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
    const { privateKey } = generateKeyPairSync('ec', {
      ...{ namedCurve: 'P-256', paramEncoding: 'explicit' },
      ...{ publicKeyEncoding, privateKeyEncoding: pkcs8 },
    });
    expect(problemOf(privateKey)).toContain('an elliptic curve with parameters of its own');
  });

  it('of EC with more bytes than any curve has is refused', () => {
    const content = Buffer.alloc(2000, 1);
    expect(problemOf(block('EC PRIVATE KEY', content))).toBe(
      'a private key of 2000 bytes, more than the limit of 1024 for EC',
    );
  });

  it.each([
    [
      'RSA',
      () =>
        generateKeyPairSync('rsa', {
          modulusLength: 1024,
          publicKeyEncoding,
          privateKeyEncoding: pkcs8,
        }).privateKey,
    ],
    [
      'EC',
      () =>
        generateKeyPairSync('ec', {
          namedCurve: 'P-521',
          publicKeyEncoding,
          privateKeyEncoding: pkcs8,
        }).privateKey,
    ],
    [
      'Ed25519',
      () =>
        generateKeyPairSync('ed25519', { publicKeyEncoding, privateKeyEncoding: pkcs8 }).privateKey,
    ],
    [
      'EC, with the name of its curve before it',
      () => {
        const { privateKey } = generateKeyPairSync('ec', {
          namedCurve: 'P-256',
          publicKeyEncoding,
          privateKeyEncoding: { type: 'sec1', format: 'pem' },
        });
        return block('EC PARAMETERS', Buffer.from('06082a8648ce3d030107', 'hex')) + privateKey;
      },
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
    const result = runSteps(parsePemCertificates(text));
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
