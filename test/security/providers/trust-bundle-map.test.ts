import { X509Certificate } from 'node:crypto';
import { parseTrustBundleMap } from '../../../src/security/providers/trust-bundle-map';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';

const certificates = new TestCertificates();
const one = certificates.authority('one');
const two = certificates.authority('two');

const x5c = (...authorities: TestCertificate[]) =>
  authorities.map(({ certificate }) => new X509Certificate(certificate).raw.toString('base64'));
const key = { kty: 'EC', use: 'x509-svid', x5c: x5c(one) };
const parse = (map: unknown) => parseTrustBundleMap(JSON.stringify(map));
/** A map with one good bundle and one that has this key. */
const withKey = (bad: unknown) => ({
  trust_domains: { 'good.test': { keys: [key] }, 'bad.test': { keys: [key, bad] } },
});

afterAll(() => certificates.close());

describe('parseTrustBundleMap', () => {
  it('returns the certificates of each trust domain, and all of them', () => {
    const map = {
      trust_domains: {
        'a.test': {
          spiffe_sequence: 12,
          spiffe_refresh_hint: 60,
          keys: [key, { ...key, kty: 'RSA', kid: 'x', n: 1, x5c: x5c(two) }],
        },
        'b.test': { keys: [key] },
        'c.test': { keys: [] },
      },
      more: 1,
    };
    const bundles = new Map([
      ['a.test', [one.certificate, two.certificate]],
      ['b.test', [one.certificate]],
      ['c.test', []],
    ]);
    expect(parse(map)).toEqual({
      ok: true,
      value: { certificates: [one.certificate, two.certificate], bundles },
    });
  });

  it('skips the keys for JWT, which SPIRE publishes', () => {
    const keys = [{ use: 'jwt-svid', kty: 'oct', kid: 'x', n: 'AQAB' }, key];
    expect(parse({ trust_domains: { 'a.test': { keys } } })).toMatchObject({
      ok: true,
      value: { certificates: [one.certificate] },
    });
  });

  it('accepts a map without trust domains, which trusts no certificate', () => {
    const value = { certificates: [], bundles: new Map() };
    expect(parse({ trust_domains: {} })).toEqual({ ok: true, value });
  });

  it('accepts __proto__ as an ordinary name', () => {
    const text = JSON.stringify({ trust_domains: { x: { keys: [key] } } });
    const parsed = parseTrustBundleMap(text.replace('"x"', '"__proto__"'));
    expect(parsed.ok && [...(parsed.value.bundles?.keys() ?? [])]).toEqual(['__proto__']);
  });

  const inBadKey = 'trust_domains["bad.test"].keys[1]';
  it.each<[string, unknown, string]>([
    ['no map', {}, 'trust_domains: field not present'],
    ['a map that is null', { trust_domains: null }, 'trust_domains: field not present'],
    ['a list', [], 'must be an object'],
    ['a map that is a list', { trust_domains: [] }, 'trust_domains: must be an object'],
    [
      'a bundle that is null',
      { trust_domains: { a: null } },
      'trust_domains["a"]: must be an object',
    ],
    ['no keys', { trust_domains: { a: {} } }, 'trust_domains["a"].keys: field not present'],
    [
      'keys that are no list',
      { trust_domains: { a: { keys: {} } } },
      'trust_domains["a"].keys: must be a list',
    ],
    [
      'a trust domain in capitals',
      { trust_domains: { 'A.test': { keys: [key] } } },
      'trust_domains["A.test"]: not a name of a trust domain',
    ],
    [
      'a trust domain as a URI',
      { trust_domains: { 'spiffe://a': { keys: [key] } } },
      'trust_domains["spiffe://a"]: not a name of a trust domain',
    ],
    [
      'a sequence that is no number',
      { trust_domains: { a: { spiffe_sequence: 'x', keys: [key] } } },
      'trust_domains["a"].spiffe_sequence: must be a whole number from 0 to 9007199254740991',
    ],
    ['a key that is text', withKey('x'), `${inBadKey}: must be an object`],
    ['no use', withKey({ ...key, use: undefined }), `${inBadKey}.use: field not present`],
    [
      'another use',
      withKey({ ...key, use: 'sig' }),
      `${inBadKey}.use: must be "x509-svid" or "jwt-svid"`,
    ],
    ['no kty', withKey({ ...key, kty: undefined }), `${inBadKey}.kty: field not present`],
    ['another kty', withKey({ ...key, kty: 'OKP' }), `${inBadKey}.kty: must be "RSA" or "EC"`],
    ['no x5c', withKey({ ...key, x5c: undefined }), `${inBadKey}.x5c: must have one certificate`],
    ['an empty x5c', withKey({ ...key, x5c: [] }), `${inBadKey}.x5c: must have one certificate`],
    [
      'two certificates',
      withKey({ ...key, x5c: x5c(one, two) }),
      `${inBadKey}.x5c: must have one certificate`,
    ],
    [
      'a number as x5c',
      withKey({ ...key, x5c: [1] }),
      `${inBadKey}.x5c: must have one certificate`,
    ],
    [
      'PEM in x5c',
      withKey({ ...key, x5c: [one.certificate] }),
      `${inBadKey}.x5c: not a certificate in base64 of DER`,
    ],
    [
      'half a certificate',
      withKey({ ...key, x5c: [x5c(one)[0]?.slice(0, 400)] }),
      `${inBadKey}.x5c: not a certificate in base64 of DER`,
    ],
    [
      'bytes after a certificate',
      withKey({
        ...key,
        x5c: [Buffer.from(`${x5c(one)[0]}`, 'base64').toString('base64') + 'AAAA'],
      }),
      `${inBadKey}.x5c: not a certificate in base64 of DER`,
    ],
  ])('refuses a file with %s, whatever else it has', (_name, map, error) => {
    expect(parse(map)).toEqual({ ok: false, error });
  });

  it('refuses what is not JSON without quoting it', () => {
    expect(parseTrustBundleMap('{"trust_domains": secret')).toEqual({
      ok: false,
      error: 'it is not JSON',
    });
  });

  it('names the first of many bad entries', () => {
    const keys = Array.from({ length: 7 }, () => 1);
    const place = 'trust_domains["a"].keys';
    expect(parse({ trust_domains: { a: { keys } } })).toEqual({
      ok: false,
      error: `${[0, 1, 2, 3, 4].map((i) => `${place}[${i}]: must be an object`).join('; ')}; and 2 more`,
    });
  });
});
