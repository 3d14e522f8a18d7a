import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCertificateFiles } from '../../../src/security/credentials/tls';
import type {
  CertificateFiles,
  CertificateFilesConfig,
} from '../../../src/security/providers/certificate-files';
import type { Logger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';
import { lasting } from '../../support/lasting';

const fixture = (name: string) => join(__dirname, 'certificates', name);
const NO_FILES = { roots: undefined, identity: undefined, refreshIntervalMs: 600_000 };

describe('the certificates of connections to management servers', () => {
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
  const load = (config: CertificateFilesConfig) => loadCertificateFiles(config, { clock, logger });

  function loaded(config: CertificateFilesConfig = ownFiles()): CertificateFiles {
    const result = load(config);
    if (!result.ok) throw new Error(result.error);
    return result.value;
  }

  const ownFiles = (): CertificateFilesConfig => ({
    roots: { field: 'ca_certificate_file', path: path('ca.pem') },
    identity: { certificatePath: path('client.pem'), privateKeyPath: path('client.key') },
    refreshIntervalMs: 600_000,
  });

  function listen(certificates: CertificateFiles) {
    const cas: string[] = [];
    const identities: unknown[] = [];
    const note = () => {
      const { roots, identity } = watch.current;
      cas.push(roots?.ok === true ? roots.value.certificates.join('') : 'none');
      identities.push(identity?.ok === true ? identity.value : undefined);
    };
    const watch = certificates.watch(note);
    note();
    return { cas, identities, stop: () => watch.release() };
  }

  const text = (name: string) => readFileSync(fixture(name), 'utf8');

  it('gives what is in the files', () => {
    const { cas, identities } = listen(loaded());
    expect(cas).toEqual([text('ca.pem')]);
    expect(identities).toEqual([
      { certificateChain: text('client.pem'), privateKey: text('client.key') },
    ]);
  });

  // Without authorities, the TLS of Node.js uses those of the system, also those of NODE_EXTRA_CA_CERTS.
  it('gives no authorities and no identity when there are no files', () => {
    const { cas, identities } = listen(loaded(NO_FILES));
    expect(cas).toEqual(['none']);
    expect(identities).toEqual([undefined]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('returns the error of the file that cannot be read or used, without logging it', () => {
    const none = path('none.pem');
    const { roots, identity } = ownFiles();
    if (roots === undefined || identity === undefined) throw new Error('no files');
    const reason = `cannot be read: ENOENT: no such file or directory, open '${none}'`;
    const withoutCa = load({ ...ownFiles(), roots: { ...roots, path: none } });
    expect(withoutCa).toEqual({
      ok: false,
      error: lasting(`ca_certificate_file ${none} ${reason}`),
    });
    const withoutKey = load({ ...NO_FILES, identity: { ...identity, privateKeyPath: none } });
    expect(withoutKey).toEqual({ ok: false, error: lasting(`private_key_file ${none} ${reason}`) });
    put('client.key', 'server.key');
    expect(load(ownFiles())).toMatchObject({
      ok: false,
      error: expect.stringContaining(
        `certificate_file ${path('client.pem')} and private_key_file ${path('client.key')} cannot be used together: `,
      ),
    });
    expect(logged).toEqual([]);
  });

  it('gives what has changed to those that listen for it', () => {
    const { cas, identities, stop } = listen(loaded());
    put('ca.pem', 'other-ca.pem');
    clock.advance(600_000);
    expect(cas).toEqual([text('ca.pem'), text('other-ca.pem')]);
    expect(identities[1]).toBe(identities[0]);
    put('client.pem', 'server.pem');
    put('client.key', 'server.key');
    clock.advance(600_000);
    expect(cas[2]).toBe(cas[1]);
    expect(identities[2]).toEqual({
      certificateChain: text('server.pem'),
      privateKey: text('server.key'),
    });
    stop();
    put('ca.pem', 'ca.pem');
    clock.advance(600_000);
    expect(cas).toHaveLength(3);
  });

  it('keeps the last valid certificates while the files are invalid, and logs it once', () => {
    const { cas } = listen(loaded());
    put('client.key', 'server.key');
    clock.advance(3 * 600_000);
    expect(cas).toEqual([text('ca.pem')]);
    expect(logged).toEqual([
      expect.stringMatching(
        /client\.key cannot be used together: .*; what was read before stays in use$/,
      ),
    ]);
  });

  it('watches the files while there is a listener', () => {
    const certificates = loaded();
    const first = listen(certificates);
    const second = listen(certificates);
    first.stop();
    first.stop();
    put('ca.pem', 'other-ca.pem');
    clock.advance(600_000);
    expect(second.cas).toEqual([text('ca.pem'), text('other-ca.pem')]);
    second.stop();
    expect(clock.pendingTimers).toBe(0);
    put('ca.pem', 'ca.pem');
    clock.advance(600_000);
    expect(second.cas).toHaveLength(2);
  });

  it('reads the files when there is a listener again', () => {
    const certificates = loaded();
    listen(certificates).stop();
    put('ca.pem', 'other-ca.pem');
    expect(listen(certificates).cas).toEqual([text('other-ca.pem')]);
  });
});
