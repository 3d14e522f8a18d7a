import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { parseIdentity, parsePemCertificates } from '../../../src/security/providers/pem';
import { TestCertificates } from '../../support/test-certificates';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const other = certificates.authority('other');
const leaf = root.sign('leaf');

/** The text with the last lines of its last block missing. */
const truncated = (pem: string) => pem.slice(0, pem.lastIndexOf('\n', pem.length - 60));

afterAll(() => certificates.close());

describe('parsePemCertificates', () => {
  it('returns each certificate in a block of its own', () => {
    const text = `# of the mesh\n${root.certificate}\nother\r\n${other.certificate.replace(/\n/g, '\r\n')}`;
    const parsed = parsePemCertificates(text);
    expect(parsed).toEqual({ ok: true, value: [root.certificate, other.certificate] });
  });

  it('skips blocks of other kinds', () => {
    const parsed = parsePemCertificates(root.privateKey + root.certificate);
    expect(parsed).toEqual({ ok: true, value: [root.certificate] });
  });

  it('accepts the labels that OpenSSL accepts', () => {
    const text = root.certificate.replace(/ CERTIFICATE/g, ' X509 CERTIFICATE');
    expect(parsePemCertificates(text)).toEqual({ ok: true, value: [root.certificate] });
  });

  // OpenSSL takes the first block of each of these and is silent about the rest.
  it.each([
    ['a truncated second block', root.certificate + truncated(other.certificate), /no end/],
    [
      'a second block without its first lines',
      root.certificate + other.certificate.replace(/(BEGIN.*\n).*\n/, '$1'),
      /^certificate 2: /,
    ],
    [
      'a second block that is not base64',
      `${root.certificate}-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----`,
      /^certificate 2: /,
    ],
    ['a block in a block', truncated(root.certificate) + other.certificate, /no end/],
    ['a truncated header', `${root.certificate}-----BEGIN CERTIF`, /no end/],
    [
      'a label that is not closed by the same',
      root.certificate.replace('END CERTIFICATE', 'END X509 CRL'),
      /no end/,
    ],
    [
      'a block whose end is damaged, and which ends with the next one',
      root.certificate.replace('END CERT', 'END\0CERT') + other.certificate,
      /no end/,
    ],
    [
      'a block whose first line is damaged',
      root.certificate + other.certificate.replace('BEGIN', 'BEG1N'),
      /no beginning/,
    ],
    [
      'two blocks that share their dashes',
      root.certificate.trimEnd() + other.certificate.slice('-----'.length),
      /no beginning/,
    ],
    [
      'a last line without dashes before it',
      `${root.certificate}${'END '.repeat(1000)}CERTIFICATE-----`,
      /no beginning/,
    ],
    ['dashes before an END', `${root.certificate}------END`, /no beginning/],
    ['a label with a line feed', `${root.certificate}-----BEGIN A\nB-----\n`, /no end/],
    ['nothing', '', /no certificate/],
    ['text', 'not a certificate', /no certificate/],
    ['a private key', root.privateKey, /no certificate/],
  ])('refuses %s', (_name, text, reason) => {
    const parsed = parsePemCertificates(text);
    expect(parsed).toEqual({ ok: false, error: expect.stringMatching(reason) });
  });

  it('skips text between blocks that is no part of one', () => {
    const text = `----- of the mesh -----\n${root.certificate}${'END '.repeat(1000)}\n-----\nEND -----`;
    const parsed = parsePemCertificates(text);
    expect(parsed).toEqual({ ok: true, value: [root.certificate] });
  });

  it('skips text that begins with dashes, whatever words follow', () => {
    const parsed = parsePemCertificates(`-----\nthe END of it\n${root.certificate}`);
    expect(parsed).toEqual({ ok: true, value: [root.certificate] });
  });

  // Each would take minutes or more in a time that grows with the square of the text.
  it.each([
    ['first lines', '-----BEGIN CERTIFICATE-----\n', 'a PEM block has no end'],
    ['first lines without a label', '-----BEGIN', 'a PEM block has no end'],
    ['first lines without an end', '-----BEGIN A', 'a PEM block has no end'],
    ['last lines', '-----END A-----\n', 'a PEM block has no beginning'],
    ['ENDs', 'END ', 'no certificate in PEM found'],
    ['BEGINs', 'BEGIN A', 'no certificate in PEM found'],
    ['dashes', '-', 'no certificate in PEM found'],
    ['dashes after capital letters', 'A-----', 'no certificate in PEM found'],
    ['capital letters', 'A', 'no certificate in PEM found'],
    [
      'blocks of another kind',
      '-----BEGIN A-----\n-----END A-----\n',
      'no certificate in PEM found',
    ],
  ])('takes time in proportion to a text of many %s', (_name, part, error) => {
    const unbounded = { maxLength: Infinity, maxBlocks: Infinity };
    const text = part.repeat(4_000_000 / part.length);
    expect(parsePemCertificates(text, unbounded)).toEqual({ ok: false, error });
  });
});

const rsaKey = generateKeyPairSync('rsa', { modulusLength: 1024 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

describe('parseIdentity', () => {
  it('takes a key that follows the parameters of its curve', () => {
    const parameters =
      '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n';
    expect(parseIdentity(leaf.certificate, parameters + leaf.privateKey).ok).toBe(true);
  });

  it('returns a pair that belongs together', () => {
    const chain = leaf.certificate + root.certificate;
    expect(parseIdentity(chain, leaf.privateKey)).toEqual({
      ok: true,
      value: { certificateChain: chain, privateKey: leaf.privateKey },
    });
    expect(new X509Certificate(chain).subject).not.toBe('CN=root');
  });

  it.each([
    ['another key', leaf.certificate, root.privateKey, /mismatch/],
    [
      'a key of another kind',
      leaf.certificate,
      rsaKey,
      /^the private key is not that of the certificate$/,
    ],
    ['a truncated key', leaf.certificate, truncated(leaf.privateKey), /./],
    ['an empty key', leaf.certificate, '', /^no private key in PEM found$/],
    [
      'an encrypted key',
      leaf.certificate,
      leaf.privateKey.replace(/ EC PRIVATE/g, ' ENCRYPTED PRIVATE'),
      /^the private key is encrypted$/,
    ],
    ['no certificate', '', leaf.privateKey, /no certificate/],
    [
      'a truncated chain',
      leaf.certificate + truncated(root.certificate),
      leaf.privateKey,
      /no end/,
    ],
  ])('refuses %s, without a word of the key', (_name, certificate, key, reason) => {
    const parsed = parseIdentity(certificate, key);
    expect(parsed).toEqual({ ok: false, error: expect.stringMatching(reason) });
    const secret = leaf.privateKey.split('\n')[1] ?? '';
    expect(JSON.stringify(parsed)).not.toContain(secret);
  });
});
