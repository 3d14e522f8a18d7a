import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { FileCertificates, type CertificateFiles } from '../../src/credentials/file-certificates';
import type { Logger } from '../../src/util/logger';
import { FakeClock } from '../support/fake-clock';

const fixture = (name: string) => join(__dirname, 'certificates', name);

describe('FileCertificates', () => {
  let folder: string;
  let clock: FakeClock;
  let logged: string[];
  let logger: Logger;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'certificates-'));
    clock = new FakeClock();
    logged = [];
    logger = { trace() {}, info() {}, error: (text) => logged.push(text()) };
    put('ca.pem', 'ca.pem');
    put('client.pem', 'client.pem');
    put('client.key', 'client.key');
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const path = (name: string) => join(folder, name);
  const put = (name: string, from: string) => copyFileSync(fixture(from), path(name));

  function load(files: CertificateFiles) {
    return FileCertificates.load(files, { refreshIntervalMs: 600_000, clock, logger });
  }

  function loaded(files: CertificateFiles): FileCertificates {
    const result = load(files);
    if (!result.ok) throw new Error(result.error);
    return result.value;
  }

  const ownFiles = (): CertificateFiles => ({
    ca: path('ca.pem'),
    identity: { certificate: path('client.pem'), privateKey: path('client.key') },
  });

  function listen(certificates: FileCertificates) {
    const cas: string[] = [];
    const listener = (update: { caCertificate: Buffer } | null) => {
      cas.push(update?.caCertificate.toString() ?? 'none');
    };
    certificates.addCaCertificateListener(listener);
    return { cas, stop: () => certificates.removeCaCertificateListener(listener) };
  }

  const text = (name: string) => readFileSync(fixture(name), 'utf8');

  it('provides the content of the files', () => {
    const certificates = loaded(ownFiles());
    const identities: unknown[] = [];
    const { cas } = listen(certificates);
    certificates.addIdentityCertificateListener((update) => identities.push(update));
    expect(cas).toEqual([text('ca.pem')]);
    expect(identities).toEqual([
      {
        certificate: readFileSync(fixture('client.pem')),
        privateKey: readFileSync(fixture('client.key')),
      },
    ]);
  });

  it('provides the root certificates of Node, and no identity, without files', () => {
    const certificates = loaded({ ca: undefined, identity: undefined });
    const identities: unknown[] = [];
    certificates.addIdentityCertificateListener((update) => identities.push(update));
    expect(listen(certificates).cas).toEqual([rootCertificates.join('\n')]);
    expect(identities).toEqual([null]);
  });

  it('reports the file that cannot be read', () => {
    const none = path('none.pem');
    const reason = `cannot be read: ENOENT: no such file or directory, open '${none}'`;
    const identity = { certificate: path('client.pem'), privateKey: path('client.key') };
    expect(load({ ca: none, identity: undefined })).toEqual({
      ok: false,
      error: `ca_certificate_file ${none} ${reason}`,
    });
    expect(load({ ca: undefined, identity: { ...identity, certificate: none } })).toEqual({
      ok: false,
      error: `certificate_file ${none} ${reason}`,
    });
    expect(load({ ca: undefined, identity: { ...identity, privateKey: none } })).toEqual({
      ok: false,
      error: `private_key_file ${none} ${reason}`,
    });
  });

  // Opened in the usual way, a FIFO without a writer blocks the process.
  it('rejects a FIFO, a device and a file of more than 16 MiB, without blocking', () => {
    execFileSync('mkfifo', [path('fifo')]);
    writeFileSync(path('large.pem'), Buffer.alloc(16 * 1024 * 1024 + 1));
    const identity = { certificate: path('client.pem'), privateKey: path('client.key') };
    const reasons: readonly (readonly [CertificateFiles, string])[] = [
      [
        { ca: path('fifo'), identity: undefined },
        `ca_certificate_file ${path('fifo')} cannot be read: a FIFO, not a regular file`,
      ],
      [
        { ca: undefined, identity: { ...identity, certificate: '/dev/zero' } },
        'certificate_file /dev/zero cannot be read: a device, not a regular file',
      ],
      [
        { ca: undefined, identity: { ...identity, privateKey: path('large.pem') } },
        `private_key_file ${path('large.pem')} cannot be read: 16777217 bytes, more than 16777216`,
      ],
    ];
    for (const [files, error] of reasons) expect(load(files)).toEqual({ ok: false, error });
  });

  it('keeps the certificates when a FIFO replaces a file', () => {
    const { cas } = listen(loaded(ownFiles()));
    rmSync(path('ca.pem'));
    execFileSync('mkfifo', [path('ca.pem')]);
    clock.advance(600_000);
    expect(cas).toEqual([text('ca.pem')]);
    expect(logged).toEqual([
      `ca_certificate_file ${path('ca.pem')} cannot be read: a FIFO, not a regular file; ` +
        'the certificates read before stay in use',
    ]);
  });

  it('reports the file that cannot be used', () => {
    writeFileSync(path('ca.pem'), 'not a certificate');
    expect(load(ownFiles())).toMatchObject({
      ok: false,
      error: expect.stringContaining(`ca_certificate_file ${path('ca.pem')} cannot be used: `),
    });
    put('ca.pem', 'ca.pem');
    put('client.key', 'server.key');
    expect(load(ownFiles())).toMatchObject({
      ok: false,
      error: expect.stringContaining(
        `certificate_file ${path('client.pem')} and private_key_file ${path('client.key')} cannot be used together: `,
      ),
    });
  });

  it('reads the files again at the interval', () => {
    const { cas } = listen(loaded(ownFiles()));
    put('ca.pem', 'other-ca.pem');
    clock.advance(599_999);
    expect(cas).toEqual([text('ca.pem')]);
    clock.advance(1);
    expect(cas).toEqual([text('ca.pem'), text('other-ca.pem')]);
    put('ca.pem', 'ca.pem');
    clock.advance(600_000);
    expect(cas).toEqual([text('ca.pem'), text('other-ca.pem'), text('ca.pem')]);
  });

  it('keeps the last valid certificates while the files are invalid, and logs it once', () => {
    const { cas } = listen(loaded(ownFiles()));
    put('client.key', 'server.key');
    clock.advance(3 * 600_000);
    expect(cas).toEqual([text('ca.pem')]);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatch(
      /client\.key cannot be used together: .*; the certificates read before stay in use$/,
    );
    put('client.key', 'client.key');
    clock.advance(600_000);
    expect(cas).toHaveLength(2);
    put('client.key', 'server.key');
    clock.advance(600_000);
    expect(logged).toHaveLength(2);
  });

  it('does not read without listeners', () => {
    const certificates = loaded(ownFiles());
    const first = listen(certificates);
    const second = listen(certificates);
    first.stop();
    first.stop();
    expect(clock.pendingTimers).toBe(1);
    second.stop();
    expect(clock.pendingTimers).toBe(0);
    put('ca.pem', 'other-ca.pem');
    clock.advance(300_000);
    expect(listen(certificates).cas).toEqual([text('ca.pem')]);
  });

  it('reads at once for a listener after more than the interval', () => {
    const certificates = loaded(ownFiles());
    put('ca.pem', 'other-ca.pem');
    clock.advance(600_000);
    expect(listen(certificates).cas).toEqual([text('other-ca.pem')]);
  });
});
