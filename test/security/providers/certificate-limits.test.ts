import crypto from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CertificateWatcher,
  defineCertificateProvider,
} from '../../../src/security/providers/define-certificate-provider';
import { CertificateFiles } from '../../../src/security/providers/certificate-files';
import { parseIdentity, parsePemCertificates } from '../../../src/security/providers/pem';
import { parseTrustBundleMap } from '../../../src/security/providers/trust-bundle-map';
import { MAX_AUTHORITIES, MAX_CHAIN_LENGTH } from '../../../src/util/limits';
import { certificateKey, certificateWithKey, rsaPublicKey } from '../../support/der-certificate';
import { FakeClock } from '../../support/fake-clock';
import { TestCertificates } from '../../support/test-certificates';

const { X509Certificate } = crypto;
const certificates = new TestCertificates();
const root = certificates.authority('root');
const leaf = root.sign('leaf');
const x5c = [new X509Certificate(root.certificate).raw.toString('base64')];
const key = { kty: 'EC', use: 'x509-svid', x5c };

const folder = mkdtempSync(join(tmpdir(), 'certificate-limits-'));
const path = join(folder, 'roots');
const parses = jest
  .spyOn(crypto, 'X509Certificate')
  .mockImplementation((bytes) => new X509Certificate(bytes));
let logged: string[] = [];

beforeEach(() => {
  logged = [];
  parses.mockClear();
});

afterAll(() => {
  parses.mockRestore();
  certificates.close();
  rmSync(folder, { recursive: true });
});

type Field = 'ca_certificate_file' | 'spiffe_trust_bundle_map_file';

function watchFile(field: Field) {
  const clock = new FakeClock();
  const files = new CertificateFiles(
    { roots: { field, path }, identity: undefined, refreshIntervalMs: 60_000 },
    {
      subject: '',
      logsFirstFailure: true,
      clock,
      logger: {
        error: (text) => logged.push(text()),
        info: () => undefined,
        trace: () => undefined,
      },
    },
  );
  return { clock, files, handle: files.watch(() => undefined) };
}

const inPem = (count: number) => root.certificate.repeat(count);
/** A map of as many domains, with one certificate each. */
const inMap = (count: number) =>
  JSON.stringify({
    trust_domains: Object.fromEntries(
      Array.from({ length: count }, (_, domain) => [`d${domain}.test`, { keys: [key] }]),
    ),
  });

const MEBIBYTES_3 = Math.floor((3 * 2 ** 20) / root.certificate.length);

/** Not one that can be parsed: it is refused before. */
const longCertificate = `-----BEGIN CERTIFICATE-----\n${'A'.repeat(65_567)}\n-----END CERTIFICATE-----\n`;

describe('a file of authorities', () => {
  it.each<[Field, (count: number) => string]>([
    ['ca_certificate_file', inPem],
    ['spiffe_trust_bundle_map_file', inMap],
  ])('%s may have as many certificates as the limit', (field, make) => {
    writeFileSync(path, make(MAX_AUTHORITIES));
    const { files, handle } = watchFile(field);
    expect(files.current.roots?.ok).toBe(true);
    expect(parses).toHaveBeenCalledTimes(MAX_AUTHORITIES);
    handle.release();
  });

  it.each<[Field, string, string]>([
    [
      'ca_certificate_file',
      inPem(MAX_AUTHORITIES + 1),
      '501 PEM blocks, more than the limit of 500: nothing of it is read',
    ],
    [
      'ca_certificate_file',
      inPem(MEBIBYTES_3),
      `${MEBIBYTES_3} PEM blocks, more than the limit of 500: nothing of it is read`,
    ],
    [
      'spiffe_trust_bundle_map_file',
      inMap(1501),
      '1501 certificates, more than the limit of 500: nothing of it is read',
    ],
    [
      'spiffe_trust_bundle_map_file',
      inMap(501).replaceAll('"x5c"', '"x\\u0035c"'),
      '501 certificates, more than the limit of 500: nothing of it is read',
    ],
    ['spiffe_trust_bundle_map_file', '['.repeat(3 * 2 ** 20), 'nested more than 200 levels deep'],
    [
      'spiffe_trust_bundle_map_file',
      `{"trust_domains":{"a.test":{"keys":[${'{},'.repeat(200_000)}{}]}}}`,
      'more than 200000 values',
    ],
    [
      'ca_certificate_file',
      longCertificate,
      'certificate 1: 65621 characters, more than the limit of 65536',
    ],
    [
      'spiffe_trust_bundle_map_file',
      inMap(1).replace(/"x5c":\["[^"]*"\]/, `"x5c":["${'A'.repeat(65_537)}"]`),
      'trust_domains["d0.test"].keys[0].x5c: 65537 characters, more than the limit of 65536',
    ],
  ])(
    '%s with too much is refused without parsing one, and the last good stays',
    (field, text, why) => {
      writeFileSync(path, field === 'ca_certificate_file' ? inPem(1) : inMap(1));
      const { files, clock, handle } = watchFile(field);
      const { roots } = files.current;
      expect(roots?.ok).toBe(true);
      parses.mockClear();
      writeFileSync(path, text);
      clock.advance(65_000);
      expect(files.current.roots).toBe(roots);
      expect(parses).not.toHaveBeenCalled();
      expect(logged).toEqual([
        expect.stringContaining(`${field} ${path} cannot be used: ${why} (failing since`),
      ]);
      handle.release();
    },
  );

  it('that cannot be used is parsed again only once it is another one', () => {
    const bad = `${inPem(9)}-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n`;
    writeFileSync(path, bad);
    const { files, clock, handle } = watchFile('ca_certificate_file');
    expect(parses).toHaveBeenCalledTimes(10);
    for (let second = 0; second < 60; second++) {
      writeFileSync(path, bad);
      clock.advance(1000);
    }
    expect(parses).toHaveBeenCalledTimes(10);
    expect(files.current.roots).toMatchObject({ ok: false });
    expect(logged).toHaveLength(1);
    writeFileSync(path, inPem(2));
    clock.advance(1000);
    expect(files.current.roots).toMatchObject({ ok: true });
    expect(parses).toHaveBeenCalledTimes(12);
    handle.release();
  });
});

it('bundles of a provider of the application are counted together, before any is parsed', () => {
  let watcher: CertificateWatcher | undefined;
  const provider = defineCertificateProvider<object>({
    name: 'own',
    parseConfig: (config) => config,
    create: () => ({
      watch(_name, given) {
        watcher = given;
        return () => undefined;
      },
    }),
  }).create(
    { value: {} },
    {
      instanceName: 'i',
      node: { id: '', cluster: '', locality: undefined, metadata: undefined },
      clock: new FakeClock(),
      logger: { error: () => {}, info: () => {}, trace: () => {} },
    },
  );
  const watch = provider.watch('', () => undefined);
  watcher?.onRoots({
    trustBundles: new Map([
      ['a.test', inPem(300)],
      ['b.test', inPem(201)],
    ]),
  });
  expect(watch.current.roots).toMatchObject({
    ok: false,
    error: expect.stringContaining('501 PEM blocks, more than the limit of 500'),
  });
  expect(parses).not.toHaveBeenCalled();
});

describe('an identity', () => {
  it('has at most as many certificates as OpenSSL follows', () => {
    const chain = (length: number) => leaf.certificate + inPem(length - 1);
    expect(parseIdentity(chain(MAX_CHAIN_LENGTH), leaf.privateKey).ok).toBe(true);
    parses.mockClear();
    expect(parseIdentity(chain(MAX_CHAIN_LENGTH + 1), leaf.privateKey)).toEqual({
      ok: false,
      error: '101 PEM blocks, more than the limit of 100: nothing of it is read',
    });
    expect(parses).not.toHaveBeenCalled();
  });

  it('has at most 262,144 characters, which OpenSSL parses in one turn', () => {
    const padded = leaf.certificate + ' '.repeat(262_144);
    expect(parseIdentity(padded, leaf.privateKey)).toEqual({
      ok: false,
      error: `${padded.length} characters, more than the limit of 262144: nothing of it is read`,
    });
  });

  it('has a key of at most 16,384 characters', () => {
    const padded = leaf.privateKey + ' '.repeat(65_536);
    expect(parseIdentity(leaf.certificate, padded)).toEqual({
      ok: false,
      error: 'the private key has more than 16384 characters',
    });
  });
});

// A signature takes 0.2 ms to check with 2,048 bits, 3 ms with 16,384, and 12 ms with 3,072 and an exponent as long.
describe('a certificate with a key of RSA', () => {
  const parse = {
    'as an authority': (pem: string) => parsePemCertificates(inPem(1) + pem),
    'in a chain of the client': (pem: string) => parseIdentity(pem, certificateKey),
    'in a trust bundle map': (pem: string) => {
      const der = new X509Certificate(pem).raw.toString('base64');
      const keys = [{ kty: 'RSA', use: 'x509-svid', x5c: [der] }];
      return parseTrustBundleMap(JSON.stringify({ trust_domains: { 'd.test': { keys } } }));
    },
  };

  it.each(Object.entries(parse))('is refused %s if the key is too large', (_place, read) => {
    const errorOf = (bits: number, exponentBytes?: number) => {
      const pem = certificateWithKey(rsaPublicKey(bits, exponentBytes)).toString();
      const parsed = read(pem);
      return parsed.ok ? '' : parsed.error;
    };
    expect(errorOf(8192)).not.toContain('more than the limit');
    expect(errorOf(8200)).toContain('a key of 8200 bits, more than the limit of 8192');
    expect(errorOf(16_384)).toContain('a key of 16384 bits, more than the limit of 8192');
    const exponent = 'a public exponent of RSA of more than 31 bits';
    expect(errorOf(2048, 4)).toContain(exponent);
    expect(errorOf(2048, 255)).toContain(exponent);
  });
});
