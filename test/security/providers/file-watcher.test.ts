import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import type { CertificateWatch } from '../../../src/security/providers/certificate-provider';
import {
  CertificateFiles,
  readAtOneMoment,
} from '../../../src/security/providers/certificate-files';
import { createFileWatcher } from '../../../src/security/providers/file-watcher';
import { systemClock, type Clock } from '../../../src/util/clock';
import { readRegularFile } from '../../../src/util/read-regular-file';
import { Violations } from '../../../src/util/violations';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { TestCertificates } from '../../support/test-certificates';
import { lasting } from '../../support/lasting';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const otherRoot = certificates.authority('other root');
const first = root.sign('leaf');
const second = root.sign('leaf');
const INTERVAL_MS = 600_000;
const NO_NODE = { id: '', cluster: '', locality: undefined, metadata: undefined };
const SUBJECT = 'certificate provider instance "default": ';
const SINCE = '2023-11-14T22:13:20.000Z';

/** The text with its last line missing, as while a file is written. */
const half = (pem: string) => pem.slice(0, pem.length / 2);

const type = createFileWatcher({ spiffeBundles: true });

function parse(config: unknown, spiffeBundles = true) {
  const violations = Violations.root();
  const parsed = createFileWatcher({ spiffeBundles }).parseConfig(config, violations);
  return parsed ?? violations.all;
}

afterAll(() => certificates.close());

describe('the config of file_watcher', () => {
  const pair = { certificate_file: '/c', private_key_file: '/k' };
  const identity = [
    { field: 'certificate_file', path: '/c' },
    { field: 'private_key_file', path: '/k' },
  ];
  const roots = { field: 'ca_certificate_file', path: '/ca' };

  it.each<[string, unknown, unknown]>([
    ['an identity', pair, { identity, roots: undefined, refreshIntervalMs: INTERVAL_MS }],
    [
      'authorities',
      { ca_certificate_file: '/ca' },
      { identity: undefined, roots, refreshIntervalMs: INTERVAL_MS },
    ],
    [
      'both, an interval and unknown fields',
      { ...pair, ca_certificate_file: '/ca', refresh_interval: '90.5s', more: 1 },
      { identity, roots, refreshIntervalMs: 90_500 },
    ],
    [
      'an interval of less than a second, which counts as one',
      { ca_certificate_file: '/ca', refresh_interval: '0.001s' },
      { identity: undefined, roots, refreshIntervalMs: 1000 },
    ],
    [
      'a trust bundle map, which goes before the authorities',
      { ca_certificate_file: '/ca', spiffe_trust_bundle_map_file: '/map' },
      {
        identity: undefined,
        roots: { field: 'spiffe_trust_bundle_map_file', path: '/map' },
        refreshIntervalMs: INTERVAL_MS,
      },
    ],
  ])('may have %s', (_name, config, expected) => {
    expect(parse(config)).toEqual(expected);
  });

  it('has no trust bundle map while the feature is off (gRFC A87)', () => {
    const both = { ca_certificate_file: '/ca', spiffe_trust_bundle_map_file: 1 };
    expect(parse(both, false)).toMatchObject({ roots });
    expect(parse({ spiffe_trust_bundle_map_file: '/map' }, false)).toEqual([
      'needs certificate_file and private_key_file, or ca_certificate_file',
    ]);
  });

  it.each<[string, unknown, readonly string[]]>([
    [
      'is absent',
      undefined,
      ['needs certificate_file and private_key_file, or ca_certificate_file'],
    ],
    ['is a list', [], ['must be an object']],
    [
      'has a certificate without a key',
      { certificate_file: '/c' },
      ['private_key_file: field not present'],
    ],
    [
      'has a key without a certificate',
      { private_key_file: '/k' },
      ['certificate_file: field not present'],
    ],
    [
      'has fields of other types',
      { ...pair, certificate_file: 1, ca_certificate_file: '', refresh_interval: 60 },
      [
        'ca_certificate_file: must not be empty',
        'certificate_file: must be a string',
        'refresh_interval: must be a duration above zero, such as "600s"',
      ],
    ],
  ])('is invalid if it %s', (_name, config, violations) => {
    expect(parse(config)).toEqual(violations);
  });
});

describe('file_watcher', () => {
  let folder: string;
  let clock: FakeClock;
  let logged: string[];
  let changes: number;
  const watches: CertificateWatch[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-watcher-'));
    clock = new FakeClock();
    logged = [];
    changes = 0;
    write('ca.pem', root.certificate);
    write('cert.pem', first.certificate);
    write('key.pem', first.privateKey);
  });
  afterEach(() => {
    for (const watch of watches.splice(0)) watch.release();
    rmSync(folder, { recursive: true });
  });

  const path = (name: string) => join(folder, name);
  const write = (name: string, text: string) => writeFileSync(path(name), text, { mode: 0o600 });
  const logger = {
    trace: () => undefined,
    info: (text: () => string) => logged.push(`info: ${text()}`),
    error: (text: () => string) => logged.push(`error: ${text()}`),
  };
  const identityConfig = () => ({
    certificate_file: path('cert.pem'),
    private_key_file: path('key.pem'),
  });
  const wholeConfig = () => ({ ...identityConfig(), ca_certificate_file: path('ca.pem') });

  function watch(config: object = wholeConfig(), usedClock: Clock = clock): CertificateWatch {
    const parsed = type.parseConfig(config, Violations.root());
    if (parsed === undefined) throw new Error('an invalid config');
    const provider = type.create(parsed, {
      instanceName: 'default',
      node: NO_NODE,
      clock: usedClock,
      logger,
    });
    const watching = provider.watch('ignored', () => changes++);
    watches.push(watching);
    return watching;
  }

  const identityOf = ({ certificate, privateKey }: typeof first) => ({
    ok: true,
    value: { certificateChain: certificate, privateKey },
  });
  const rootsOf = (...certificates: readonly string[]) => ({ ok: true, value: { certificates } });
  const firstUse = { roots: rootsOf(root.certificate), identity: identityOf(first) };
  const failure = (text: string) => ({ ok: false, error: lasting(SUBJECT + text) });

  it('has what is in the files, whatever the name of the certificates', () => {
    expect(watch().current).toEqual(firstUse);
    expect([changes, logged]).toEqual([0, []]);
  });

  it('has every certificate of a file', () => {
    write('ca.pem', root.certificate + otherRoot.certificate);
    const { roots } = watch().current;
    expect(roots).toEqual(rootsOf(root.certificate, otherRoot.certificate));
  });

  it('names the field that is missing', () => {
    const withoutCa = watch(identityConfig());
    const missing = (name: string) => ({ ok: false, error: `${SUBJECT}has no ${name}` });
    expect(withoutCa.current.roots).toEqual(missing('ca_certificate_file'));
    expect(withoutCa.current.identity).toEqual(identityOf(first));
    const { identity } = watch({ ca_certificate_file: path('ca.pem') }).current;
    expect(identity).toEqual(missing('certificate_file'));
  });

  it('reads the files again at the interval', () => {
    const { current } = watch();
    const watching = watches[0];
    write('ca.pem', otherRoot.certificate);
    clock.advance(INTERVAL_MS - 1);
    expect([changes, watching?.current]).toEqual([0, current]);
    clock.advance(1);
    expect(changes).toBe(1);
    expect(watching?.current.roots).toEqual(rootsOf(otherRoot.certificate));
    expect(watching?.current.identity).toBe(current.identity);
  });

  it('has the same objects, and reports no change, while the bytes are the same', () => {
    const watching = watch();
    const { roots, identity } = watching.current;
    write('ca.pem', root.certificate);
    rmSync(path('key.pem'));
    write('key.pem', first.privateKey);
    clock.advance(2 * INTERVAL_MS);
    expect(watching.current.roots).toBe(roots);
    expect(watching.current.identity).toBe(identity);
    expect([changes, logged]).toEqual([0, []]);
  });

  it('keeps an identity while its key is newer than its certificate, and takes the pair a second after', () => {
    const watching = watch();
    write('key.pem', second.privateKey);
    clock.advance(INTERVAL_MS);
    expect(watching.current).toEqual(firstUse);
    const problem = `certificate_file ${path('cert.pem')} and private_key_file ${path('key.pem')} cannot be used together: `;
    expect(logged).toEqual([
      expect.stringMatching(
        new RegExp(
          `^error: ${SUBJECT}${problem}.*mismatch \\(failing since 2023-11-14T22:23:20.000Z\\); what was read before stays in use$`,
        ),
      ),
    ]);
    clock.advance(999);
    write('cert.pem', second.certificate);
    expect(changes).toBe(0);
    clock.advance(1);
    expect(changes).toBe(1);
    expect(watching.current.identity).toEqual(identityOf(second));
    expect(logged.slice(1)).toEqual([
      `info: ${SUBJECT}certificate_file ${path('cert.pem')} can be used again, after failing since 2023-11-14T22:23:20.000Z`,
    ]);
  });

  it('logs a problem once, each problem of several, and the recovery once', () => {
    const watching = watch();
    write('ca.pem', '');
    clock.advance(INTERVAL_MS + 5000);
    rmSync(path('ca.pem'));
    clock.advance(5000);
    write('ca.pem', root.certificate);
    clock.advance(5000);
    const stays = '(failing since 2023-11-14T22:23:20.000Z); what was read before stays in use';
    const file = `${SUBJECT}ca_certificate_file ${path('ca.pem')}`;
    expect(logged).toEqual([
      `error: ${file} cannot be used: no certificate in PEM found ${stays}`,
      `error: ${file} cannot be read: ENOENT: no such file or directory, open '${path('ca.pem')}' ${stays}`,
      `info: ${file} can be used again, after failing since 2023-11-14T22:23:20.000Z`,
    ]);
    // The bytes are those of before.
    expect([changes, watching.current]).toEqual([0, firstUse]);
  });

  it.each([
    ['empty', () => ''],
    ['truncated', () => half(root.certificate)],
    ['truncated in the second certificate', () => otherRoot.certificate + half(root.certificate)],
    ['text', () => 'certificates'],
  ])('keeps the authorities while the file is %s', (_name, text) => {
    const watching = watch();
    write('ca.pem', text());
    clock.advance(INTERVAL_MS);
    expect([changes, watching.current]).toEqual([0, firstUse]);
    expect(logged).toHaveLength(1);
  });

  it('lets the authorities and the identity fail one without the other', () => {
    const watching = watch();
    write('ca.pem', '');
    write('cert.pem', second.certificate);
    write('key.pem', second.privateKey);
    clock.advance(INTERVAL_MS);
    expect(watching.current).toEqual({ roots: firstUse.roots, identity: identityOf(second) });
    write('ca.pem', otherRoot.certificate);
    write('key.pem', '');
    clock.advance(1000);
    expect(watching.current).toEqual({
      roots: rootsOf(otherRoot.certificate),
      identity: identityOf(second),
    });
    expect(changes).toBe(2);
  });

  it('names the instance, the path and the error if the first reading fails, and takes files that come later', () => {
    rmSync(path('ca.pem'));
    rmSync(path('key.pem'));
    const watching = watch();
    const [ca, key] = [path('ca.pem'), path('key.pem')];
    const problems = [
      `ca_certificate_file ${ca} cannot be read: ENOENT: no such file or directory, open '${ca}'`,
      `private_key_file ${key} cannot be read: ENOENT: no such file or directory, open '${key}'`,
    ] as const;
    expect(watching.current).toEqual({
      roots: failure(problems[0]),
      identity: failure(problems[1]),
    });
    clock.advance(10_000);
    expect(logged).toEqual(
      problems.map((problem) => `error: ${SUBJECT}${problem} (failing since ${SINCE})`),
    );
    write('ca.pem', root.certificate);
    write('key.pem', first.privateKey);
    clock.advance(1000);
    expect([changes, watching.current]).toEqual([1, firstUse]);
  });

  it('survives that its directory is removed and made again', () => {
    mkdirSync(path('sub'));
    write('sub/ca.pem', root.certificate);
    const watching = watch({ ca_certificate_file: path('sub/ca.pem') });
    const { roots } = watching.current;
    rmSync(path('sub'), { recursive: true });
    clock.advance(INTERVAL_MS);
    expect(watching.current.roots).toBe(roots);
    mkdirSync(path('sub'));
    write('sub/ca.pem', otherRoot.certificate);
    clock.advance(1000);
    expect(watching.current.roots).toEqual(rootsOf(otherRoot.certificate));
  });

  it('takes a file that it may not read once it may', () => {
    const watching = watch();
    write('ca.pem', otherRoot.certificate);
    chmodSync(path('ca.pem'), 0);
    chmodSync(folder, 0o755);
    asUnprivilegedUser(() => clock.advance(INTERVAL_MS));
    expect(watching.current).toMatchObject({ roots: firstUse.roots });
    expect(logged[0]).toMatch(/ca_certificate_file .* cannot be read: EACCES: permission denied/);
    chmodSync(path('ca.pem'), 0o600);
    clock.advance(1000);
    expect(watching.current.roots).toEqual(rootsOf(otherRoot.certificate));
  });

  it('does not wait for a FIFO or a device, and reads no file of more than 4 MiB', () => {
    const ca = path('ca.pem');
    const reasonFor = (file: string) => {
      const { roots } = watch({ ca_certificate_file: file }).current;
      return roots?.ok === false ? roots.error : undefined;
    };
    writeFileSync(ca, Buffer.alloc(4 * 1024 * 1024 + 1));
    expect(reasonFor(ca)).toMatch('4194305 bytes, more than 4194304');
    rmSync(ca);
    execFileSync('mkfifo', [ca]);
    expect(reasonFor(ca)).toMatch('a FIFO, not a regular file');
    expect(reasonFor('/dev/zero')).toMatch('a device, not a regular file');
  });

  /** Lays the files out as Kubernetes mounts a Secret. */
  function mountVersion(version: string, { certificate, privateKey }: typeof first, ca: string) {
    mkdirSync(path(version));
    write(`${version}/cert.pem`, certificate);
    write(`${version}/key.pem`, privateKey);
    write(`${version}/ca.pem`, ca);
    symlinkSync(version, path('..data_tmp'));
    renameSync(path('..data_tmp'), path('..data'));
  }

  function mount(): void {
    mountVersion('..v1', first, root.certificate);
    for (const name of ['cert.pem', 'key.pem', 'ca.pem']) {
      rmSync(path(name));
      symlinkSync(`..data/${name}`, path(name));
    }
  }

  it('takes all files of a Secret of Kubernetes at once', () => {
    mount();
    const watching = watch();
    mountVersion('..v2', second, otherRoot.certificate);
    rmSync(path('..v1'), { recursive: true });
    clock.advance(INTERVAL_MS);
    expect(changes).toBe(1);
    expect(watching.current).toEqual({
      roots: rootsOf(otherRoot.certificate),
      identity: identityOf(second),
    });
    expect(logged).toEqual([]);
  });

  it('reads all files again if they are replaced while they are read', () => {
    mount();
    let isSwapped = false;
    const read: typeof readRegularFile = (file, conditions) => {
      const content = readRegularFile(file, conditions);
      if (!isSwapped && file.endsWith('cert.pem')) {
        isSwapped = true;
        mountVersion('..v2', second, otherRoot.certificate);
      }
      return content;
    };
    const config = type.parseConfig(wholeConfig(), Violations.root());
    if (config === undefined) throw new Error('an invalid config');
    const files = new CertificateFiles(config, {
      subject: '',
      logsFirstFailure: true,
      clock,
      logger,
      read,
    });
    files.read();
    expect(files.current).toEqual({
      roots: rootsOf(otherRoot.certificate),
      identity: identityOf(second),
    });
    expect(logged).toEqual([]);
  });

  it('does not read a file again for ever that changes all the time', () => {
    let reads = 0;
    const read: typeof readRegularFile = (file, conditions) => {
      write('ca.pem', '#'.repeat(++reads));
      return readRegularFile(file, conditions);
    };
    const ca = { field: 'ca_certificate_file', path: path('ca.pem') };
    const cert = { field: 'certificate_file', path: path('cert.pem') };
    expect(readAtOneMoment([ca, cert], read)).toEqual(
      new Map<string, unknown>([
        [ca.path, { ok: false, error: `ca_certificate_file ${ca.path} changes while it is read` }],
        [cert.path, { ok: true, value: Buffer.from(first.certificate) }],
      ]),
    );
    expect(reads).toBe(6);
  });

  it('keeps an identity that has expired, and warns once', () => {
    const expired = root.sign('expired', { validity: ['20200101000000Z', '20231115000000Z'] });
    write('cert.pem', expired.certificate);
    write('key.pem', expired.privateKey);
    const watching = watch();
    expect(logged).toEqual([]);
    clock.advance(24 * 60 * 60 * 1000);
    expect(watching.current.identity).toEqual(identityOf(expired));
    expect(logged).toEqual([
      `error: ${SUBJECT}certificate_file ${path('cert.pem')} has expired on Nov 15 00:00:00 2023 GMT; it stays in use`,
    ]);
  });

  it('warns once about a private key that every user can read', () => {
    chmodSync(path('key.pem'), 0o644);
    watch();
    clock.advance(3 * INTERVAL_MS);
    expect(logged).toEqual([
      `info: ${SUBJECT}private_key_file ${path('key.pem')} can be read by every user`,
    ]);
  });

  it('has the bundles of a trust bundle map in place of the authorities (gRFC A87)', () => {
    const x5c = [new X509Certificate(otherRoot.certificate).raw.toString('base64')];
    const keys = [{ kty: 'EC', use: 'x509-svid', x5c }];
    write('map.json', JSON.stringify({ trust_domains: { 'a.test': { keys } } }));
    const watching = watch({
      ca_certificate_file: path('ca.pem'),
      spiffe_trust_bundle_map_file: path('map.json'),
    });
    const bundles = new Map([['a.test', [otherRoot.certificate]]]);
    const expected = { ok: true, value: { certificates: [otherRoot.certificate], bundles } };
    expect(watching.current.roots).toEqual(expected);
    // One bad entry voids the file.
    write('map.json', JSON.stringify({ trust_domains: { 'a.test': { keys: [...keys, {}] } } }));
    clock.advance(INTERVAL_MS);
    expect(watching.current.roots).toEqual(expected);
    expect(logged).toEqual([
      expect.stringContaining(
        `spiffe_trust_bundle_map_file ${path('map.json')} cannot be used: trust_domains["a.test"].keys[1].use: field not present`,
      ),
    ]);
    write('map.json', '{"trust_domains":{}}');
    clock.advance(1000);
    expect(watching.current.roots).toEqual({
      ok: true,
      value: { certificates: [], bundles: new Map() },
    });
  });

  it('fails the first reading of a broken trust bundle map', () => {
    write('map.json', '{}');
    const { roots } = watch({ spiffe_trust_bundle_map_file: path('map.json') }).current;
    expect(roots).toEqual(
      failure(
        `spiffe_trust_bundle_map_file ${path('map.json')} cannot be used: trust_domains: field not present`,
      ),
    );
  });

  it('takes a change that the system reports, without waiting for the interval', async () => {
    const watching = watch(wholeConfig(), systemClock);
    write('ca.next', otherRoot.certificate);
    renameSync(path('ca.next'), path('ca.pem'));
    await eventually(
      () => watching.current.roots,
      (roots) => roots?.ok === true && roots.value.certificates[0] === otherRoot.certificate,
    );
    expect(changes).toBe(1);
  });

  it('takes a Secret of Kubernetes that is replaced, without waiting for the interval', async () => {
    mount();
    const watching = watch(wholeConfig(), systemClock);
    mountVersion('..v2', second, otherRoot.certificate);
    await eventually(
      () => watching.current,
      ({ roots, identity }) =>
        roots?.ok === true &&
        roots.value.certificates[0] === otherRoot.certificate &&
        identity?.ok === true &&
        identity.value.privateKey === second.privateKey,
    );
    expect([changes, logged]).toEqual([1, []]);
  });

  it('reads nothing and has no timers after the last watch', () => {
    const watching = watch();
    watching.release();
    watching.release();
    expect(clock.pendingTimers).toBe(0);
    write('ca.pem', otherRoot.certificate);
    clock.advance(INTERVAL_MS);
    expect([changes, watching.current]).toEqual([0, firstUse]);
  });

  it('does not keep the process alive', () => {
    const config = {
      roots: { field: 'ca_certificate_file', path: path('ca.pem') },
      refreshIntervalMs: 1000,
    };
    const modules = ['security/providers/file-watcher', 'util/clock', 'util/logger'];
    const script = `
      const [{ createFileWatcher }, { systemClock }, { silentLogger }] = ${JSON.stringify(
        modules.map((name) => join(__dirname, '../../../src', name)),
      )}.map(require);
      const context = { instanceName: 'a', clock: systemClock, logger: silentLogger };
      const provider = createFileWatcher({}).create(${JSON.stringify(config)}, context);
      console.log(provider.watch('', () => undefined).current.roots.ok);
    `;
    const register = join(__dirname, '../../support/run-typescript.cjs');
    const args = ['--require', register, '--eval', script];
    const child = spawnSync(process.execPath, args, { timeout: 60_000, encoding: 'utf8' });
    expect(child).toMatchObject({ stdout: 'true\n', stderr: '', status: 0 });
  }, 90_000);

  it('never logs or returns key material, whatever is wrong', () => {
    const secrets = [first, second].flatMap(({ privateKey }) =>
      privateKey.split('\n').slice(1, -2),
    );
    const keys = [
      '',
      half(first.privateKey),
      first.privateKey.replace(/-----.*-----/g, ''),
      first.privateKey.replace(/ EC PRIVATE/g, ' PRIVATE'),
      first.privateKey.replace(/A/g, '!'),
      first.certificate,
      second.privateKey,
      first.privateKey.replace(/ EC PRIVATE/g, ' ENCRYPTED PRIVATE'),
    ];
    const texts: string[] = [];
    for (const key of keys) {
      for (const place of ['key.pem', 'cert.pem', 'ca.pem', 'map.json']) {
        write('map.json', '{"trust_domains":{}}');
        write('key.pem', first.privateKey);
        write('cert.pem', first.certificate);
        write('ca.pem', root.certificate);
        write(place, key);
        const map = { spiffe_trust_bundle_map_file: path('map.json') };
        const { roots, identity } = watch({
          ...wholeConfig(),
          ...(place === 'map.json' && map),
        }).current;
        for (const part of [roots, identity]) if (part?.ok === false) texts.push(part.error);
      }
    }
    const all = [...texts, ...logged].join('\n');
    expect(texts.length).toBeGreaterThan(keys.length);
    expect(secrets.filter((line) => all.includes(line))).toEqual([]);
    expect(all).not.toMatch(/BEGIN|[A-Za-z0-9+/]{40}/);
  });
});

/** Root may read every file. */
function asUnprivilegedUser(run: () => void): void {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    run();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}
