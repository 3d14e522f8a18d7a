import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../../../src/util/logger';
import { RevocationFiles } from '../../../src/security/revocation/revocation-files';
import type { PresentedCertificate } from '../../../src/security/peer/certificate-path';
import { MAX_REVOCATION_BYTES } from '../../../src/util/limits';
import { der, oid, sequence, time } from '../../support/der-certificate';
import { FakeClock } from '../../support/fake-clock';
import { revocationList, type ListOptions } from '../../support/revocation-lists';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { useFolder } from '../../support/tls';

const certificates = new TestCertificates();
afterAll(() => certificates.close());
const root = certificates.authority('root');
const middle = root.sign('middle', { isAuthority: true });
const web = middle.sign('web');
const other = middle.sign('other');
const foreign = certificates.authority('foreign');
/** Authorities of the same name, each with a key of its own. */
const impostor = certificates.authority('middle');

const folder = useFolder();
let errors: string[];
let infos: string[];
beforeEach(() => {
  errors = [];
  infos = [];
  rmSync(folder.path('lists'), { recursive: true, force: true });
  mkdirSync(folder.path('lists'));
});

type Files = Readonly<Record<string, Buffer | string>>;

function write(files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder.path('lists'), name), content);
  }
}

function open(failUndetermined = false, path = folder.path('lists')): RevocationFiles {
  const logger = {
    info: (text: () => string) => infos.push(text()),
    error: (text: () => string) => errors.push(text()),
  };
  const options = {
    subject: 'x: ',
    clock: new FakeClock(),
    logger: { ...silentLogger, ...logger },
  };
  const config = { field: 'crl_directory', path, failUndetermined } as const;
  const files = new RevocationFiles(config, options);
  files.read();
  return files;
}

/** A certificate as Node.js shows it after a handshake, with these issuers. */
function presented(...chain: readonly TestCertificate[]): PresentedCertificate {
  const [own, ...issuers] = chain;
  if (own === undefined) throw new Error('no certificate');
  const { raw } = new X509Certificate(own.certificate);
  return issuers.length === 0 ? { raw } : { raw, issuerCertificate: presented(...issuers) };
}

const check = (files: RevocationFiles, ...chain: readonly TestCertificate[]) =>
  files.check(presented(...chain), [root.certificate]);

const serialOf = ({ certificate }: TestCertificate) =>
  new X509Certificate(certificate).serialNumber;
const webText = `the certificate "CN=web" (serial number ${serialOf(web)}) of "CN=middle"`;
const middleText = `the certificate "CN=middle" (serial number ${serialOf(middle)}) of "CN=root"`;
const unknownText = (text: string) =>
  `no certificate revocation list says whether ${text} is revoked`;

const none = revocationList(middle);
const ofRoot = revocationList(root);
const ofMiddle = (options?: ListOptions) => revocationList(middle, [web], options);

describe('the certificate of a peer (gRFC A69)', () => {
  it.each<[what: string, files: Files, allowed: string | undefined, denied: string | undefined]>([
    ['that no list covers', {}, undefined, unknownText(webText)],
    ['that the lists of all authorities cover', { none, ofRoot }, undefined, undefined],
    [
      'that is on a list',
      { list: ofMiddle(), ofRoot },
      `${webText} is revoked`,
      `${webText} is revoked`,
    ],
    [
      'whose authority is on a list',
      { none, list: revocationList(root, [middle]) },
      `${middleText} is revoked`,
      `${middleText} is revoked`,
    ],
    ['whose authority no list covers', { none }, undefined, unknownText(middleText)],
    [
      'whose list should have been replaced',
      { list: ofMiddle({ validity: ['20200101000000Z', '20210101000000Z'] }) },
      `${webText} is revoked`,
      `${webText} is revoked`,
    ],
    [
      'on a list that another key has signed',
      { list: ofMiddle({ signer: impostor }) },
      undefined,
      unknownText(webText),
    ],
    [
      'with the serial number of another one on the list of another authority',
      { list: revocationList(foreign, [web]) },
      undefined,
      unknownText(webText),
    ],
    [
      'on a list in DER',
      { list: ofMiddle({ form: 'DER' }) },
      `${webText} is revoked`,
      `${webText} is revoked`,
    ],
    [
      'on one of several lists of a file',
      { lists: Buffer.concat([ofRoot, ofMiddle()]) },
      `${webText} is revoked`,
      `${webText} is revoked`,
    ],
    [
      'on a list that says where it is published',
      { list: ofMiddle({ extensions: ['2.5.29.28=critical,DER:3009a007a005860375726c'] }) },
      `${webText} is revoked`,
      `${webText} is revoked`,
    ],
  ])('%s', (_, files, allowed, denied) => {
    write(files);
    expect(check(open(), web, middle, root)).toBe(allowed);
    expect(check(open(true), web, middle, root)).toBe(denied);
  });

  it('is not looked for on the lists of others', () => {
    write({ list: ofMiddle(), ofRoot });
    expect(check(open(true), other, middle)).toBeUndefined();
  });

  it('is trusted by configuration if it is an authority of it, whatever a list says', () => {
    write({ none, list: revocationList(root, [middle]) });
    expect(open().check(presented(web, middle, root), [middle.certificate])).toBeUndefined();
  });

  it('is refused if its authorities are not known', () => {
    expect(check(open(), web)).toBe(
      'it is not known which authorities have signed it, so they may be revoked',
    );
  });

  it('is refused if its holder presents another certificate in the name of the authority', () => {
    write({ list: ofMiddle() });
    expect(check(open(), web, impostor, middle, root)).toMatch(
      /^it is not known which authorities/,
    );
  });

  it('is covered by the list of the key that has signed it, among those of one name', () => {
    const second = root.sign('middle', { isAuthority: true });
    const own = second.sign('own');
    write({ first: none, second: revocationList(second, [own]) });
    const files = open(true);
    expect(check(files, own, second)).toMatch(/"CN=own" .* is revoked/);
    write({ ofRoot });
    files.read();
    expect(check(files, web, middle)).toBeUndefined();
    expect(errors).toEqual([]);
  });

  it('is not covered by the list of an authority that may not sign lists', () => {
    const quiet = root.sign('quiet', { isAuthority: true, usage: 'keyCertSign' });
    const own = quiet.sign('own');
    write({ list: revocationList(quiet, [own]), ofRoot });
    expect(check(open(), own, quiet)).toBeUndefined();
    expect(check(open(true), own, quiet)).toMatch(/^no certificate revocation list says/);
  });

  const pem = { type: 'pkcs8', format: 'pem' } as const;
  it.each([
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['RSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 2048 })],
    ['Ed25519', generateKeyPairSync('ed25519')],
  ])('is covered by a list that is signed by %s', (name, { privateKey }) => {
    const keyOf = { certificateChain: '', privateKey: privateKey.export(pem).toString() };
    const authority = certificates.authority(name, { keyOf });
    const own = authority.sign('own');
    write({ list: revocationList(authority, [own]) });
    expect(open().check(presented(own), [authority.certificate])).toMatch(/is revoked$/);
  });

  it('reports lists that another key has signed, once', () => {
    write({ list: ofMiddle({ signer: impostor }) });
    const files = open();
    for (let i = 0; i < 3; i++) check(files, web, middle);
    expect(errors).toEqual([
      `x: crl_directory ${folder.path('lists')}: no revocation list of "CN=middle" is signed by its key, so none is used`,
    ]);
  });
});

const ECDSA_SHA256 = sequence(oid('1.2.840.10045.4.3.2'));

interface ListParts {
  readonly entries: readonly Buffer[];
  readonly extensions: readonly Buffer[];
  readonly algorithm: Buffer;
  readonly signedAlgorithm: Buffer;
}

/** Encodes a list as RFC 5280 has it, with a signature that is not valid. */
function encodeList({
  entries = [],
  extensions = [],
  algorithm = ECDSA_SHA256,
  signedAlgorithm = algorithm,
}: Partial<ListParts> = {}): Buffer {
  const name = sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from('middle')))));
  const content = sequence(
    der(0x02, Buffer.from([1])),
    signedAlgorithm,
    name,
    time('200101000000Z'),
    ...(entries.length > 0 ? [sequence(Buffer.concat(entries))] : []),
    ...(extensions.length > 0 ? [der(0xa0, sequence(...extensions))] : []),
  );
  return sequence(content, algorithm, der(0x03, Buffer.from([0, 1])));
}

const entry = (serialNumber: Buffer, ...extensions: readonly Buffer[]) =>
  sequence(
    der(0x02, serialNumber),
    time('200101000000Z'),
    ...(extensions.length > 0 ? [sequence(...extensions)] : []),
  );
const extension = (id: string, value: Buffer, isCritical = true) =>
  sequence(oid(id), ...(isCritical ? [der(0x01, Buffer.from([255]))] : []), der(0x04, value));
const yes = (tag: number) => sequence(der(tag, Buffer.from([255])));
const one = Buffer.from([1]);

describe('a file of lists', () => {
  it.each<[what: string, content: Buffer | string, problem: string]>([
    ['without a list', 'nothing', 'no certificate revocation list in PEM or DER found'],
    ['that is empty', '', 'no certificate revocation list in PEM or DER found'],
    ['of certificates', web.certificate, 'no certificate revocation list in PEM or DER found'],
    ['that is cut', none.subarray(0, 200), 'a PEM block has no end'],
    [
      'with a part of a list in DER',
      encodeList().subarray(0, 30),
      'a certificate revocation list cannot be read',
    ],
    [
      'with more than a list in DER',
      Buffer.concat([encodeList(), one]),
      'a certificate revocation list cannot be read',
    ],
    [
      'of two algorithms',
      encodeList({ signedAlgorithm: sequence(oid('1.3.101.112')) }),
      'a certificate revocation list cannot be read',
    ],
    [
      'of an unknown algorithm',
      encodeList({ algorithm: sequence(oid('1.2.3.4')) }),
      'its signature algorithm is unsupported',
    ],
    [
      'that is a delta list',
      encodeList({ extensions: [extension('2.5.29.27', der(0x02, one))] }),
      'delta lists are unsupported: only complete lists are used',
    ],
    ...(
      [
        ['indirect', 0x84],
        ['for users only', 0x81],
        ['for authorities only', 0x82],
        ['for attributes only', 0x85],
        ['for some reasons only', 0x83],
      ] as const
    ).map(
      ([what, tag]) =>
        [
          `that is ${what}`,
          encodeList({ extensions: [extension('2.5.29.28', yes(tag))] }),
          'lists that are indirect, or only for some certificates or reasons, are unsupported',
        ] as [string, Buffer, string],
    ),
    [
      'with an unknown critical extension',
      encodeList({ extensions: [extension('1.2.3.4', one)] }),
      'the list has an unsupported critical extension',
    ],
    [
      'with an extension twice',
      encodeList({
        extensions: [extension('1.2.3.4', one, false), extension('1.2.3.4', one, false)],
      }),
      'a certificate revocation list cannot be read',
    ],
    [
      'with a critical extension of an entry',
      encodeList({ entries: [entry(one, extension('2.5.29.29', sequence()))] }),
      'an entry has an unsupported critical extension',
    ],
  ])('is not used %s', (_, content, problem) => {
    write({ list: content });
    open();
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(`x: crl_directory ${folder.path('lists')}: `);
    expect(errors[0]).toContain(`${folder.path('lists/list')} cannot be used: ${problem}`);
  });

  it('is used with extensions that are not critical', () => {
    const reason = extension('2.5.29.21', der(0x0a, one), false);
    const extensions = [extension('2.5.29.20', der(0x02, one), false)];
    write({ list: encodeList({ entries: [entry(one, reason)], extensions }) });
    open();
    expect(errors).toEqual([]);
  });

  it('is refused wherever it ends too early, without an exception', () => {
    const list = revocationList(middle, [web], { form: 'DER' });
    for (let length = 1; length < list.length; length++) {
      write({ list: list.subarray(0, length) });
      errors = [];
      open();
      expect(errors).toHaveLength(1);
    }
  });

  it('is refused or not used with any byte changed, without an exception', () => {
    const list = revocationList(middle, [web], { form: 'DER' });
    for (let at = 0; at < list.length; at++) {
      const changed = Buffer.from(list);
      changed[at] = (changed[at] ?? 0) ^ 0x55;
      write({ list: changed });
      const files = open();
      expect(() => check(files, web, middle)).not.toThrow();
    }
  });

  it('is not read beyond 4 MiB, which hold 100,000 certificates, all files together', () => {
    const serials = Array.from({ length: 100_000 }, (_, index) => {
      const bytes = Buffer.alloc(16, 1);
      bytes.writeUInt32BE(index, 4);
      return bytes;
    });
    const many = encodeList({ entries: serials.map((bytes) => entry(bytes)) });
    expect(many.length).toBeLessThan(MAX_REVOCATION_BYTES);
    write({ a: many, b: Buffer.alloc(MAX_REVOCATION_BYTES - many.length + 1) });
    const startMs = performance.now();
    open();
    expect(performance.now() - startMs).toBeLessThan(2000);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/lists\/b cannot be used: \d+ bytes, more than \d+/);
  });
});

describe('a directory that changes', () => {
  // As in the table of the gRFC: certificates of d are revoked by its list, and by no other.
  const names = ['a', 'b', 'c', 'd'] as const;
  const authorities = Object.fromEntries(
    names.map((name) => [name, certificates.authority(name)]),
  ) as Record<(typeof names)[number], TestCertificate>;
  const leaves = names.map((name) => authorities[name].sign(`of ${name}`));
  const empty = Object.fromEntries(names.map((name) => [name, revocationList(authorities[name])]));
  const revoking = Object.fromEntries(
    names.map((name, index) => [
      name,
      revocationList(authorities[name], leaves.slice(index, index + 1)),
    ]),
  );
  const corrupt = Buffer.from('-----BEGIN X509 CRL-----\n');

  /** Which of the authorities are covered, in upper case if they revoke their certificate. */
  const stateOf = (files: RevocationFiles) =>
    names
      .map((name, index) => {
        const leaf = leaves[index] ?? web;
        const problem = files.check(presented(leaf), [authorities[name].certificate]);
        if (problem === undefined) return name;
        return problem.endsWith('is revoked') && !problem.startsWith('no ')
          ? name.toUpperCase()
          : '';
      })
      .join('');

  const of = (lists: Readonly<Record<string, Buffer>>, ...chosen: readonly string[]): Files =>
    Object.fromEntries(chosen.map((name) => [name, lists[name] ?? corrupt]));

  it.each<[what: string, before: string, files: Files, after: string, isFailing: boolean]>([
    ['an update', 'abc', { ...of(revoking, 'a', 'b'), ...of(empty, 'c') }, 'ABc', false],
    ['an addition', 'abc', of({ ...empty, d: revoking['d'] ?? corrupt }, ...names), 'abcD', false],
    ['a deletion', 'abcd', of(empty, 'a', 'b', 'c'), 'abc', false],
    ['the deletion of all', 'abc', {}, '', false],
    [
      'a corrupt update',
      'abc',
      { ...of(revoking, 'a'), ...of(empty, 'b'), c: corrupt },
      'Abc',
      true,
    ],
    ['a corrupt addition', 'abc', { ...of(empty, ...names), e: corrupt }, 'abcd', true],
    ['a deletion and a corrupt file', 'abcd', { ...of(empty, 'a', 'b'), c: corrupt }, 'abcd', true],
    ['corruption of all', 'abc', { a: corrupt, b: corrupt, c: corrupt }, 'abc', true],
  ])('takes %s', (_, before, files, after, isFailing) => {
    write(of(empty, ...names.filter((name) => before.includes(name))));
    const lists = open(true);
    expect(stateOf(lists)).toBe(before);
    rmSync(folder.path('lists'), { recursive: true });
    mkdirSync(folder.path('lists'));
    write(files);
    lists.read();
    expect(stateOf(lists)).toBe(after);
    expect(errors).toHaveLength(isFailing ? 1 : 0);
    // Once: the same problem is not repeated.
    lists.read();
    expect(errors).toHaveLength(isFailing ? 1 : 0);
  });

  it('names all files that cannot be used, and says when it can be used again', () => {
    write({ ...of(empty, 'a'), b: corrupt, c: corrupt });
    const lists = open();
    const path = folder.path('lists');
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(`${path}/b cannot be used: a PEM block has no end; ${path}/c`);
    write(of(empty, 'b', 'c'));
    lists.read();
    expect(infos).toHaveLength(1);
    expect(infos[0]).toMatch(/^x: crl_directory .* can be used again/);
  });

  it('leaves names out that begin with a dot, as Kubernetes has them', () => {
    mkdirSync(folder.path('lists/..data'));
    write(of(empty, 'a'));
    expect(stateOf(open(true))).toBe('a');
    expect(errors).toEqual([]);
  });

  it('may not be there at first', () => {
    rmSync(folder.path('lists'), { recursive: true });
    const lists = open(true);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('it cannot be read: ENOENT');
    mkdirSync(folder.path('lists'));
    write(of(empty, 'a'));
    lists.read();
    expect(stateOf(lists)).toBe('a');
  });

  it('keeps its lists while it has more than 1,000 entries', () => {
    write(of(revoking, 'a'));
    const lists = open();
    write(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}`, ''])));
    lists.read();
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('more than 1000 entries in the directory');
    expect(stateOf(lists)).toBe('Abcd');
  });

  it('may be a file', () => {
    const path = folder.write('lists.pem', String(Buffer.concat(Object.values(revoking))));
    expect(stateOf(open(true, path))).toBe('ABCD');
  });
});
