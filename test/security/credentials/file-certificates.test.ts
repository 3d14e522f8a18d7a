import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadCertificateFiles } from '../../../src/security/credentials/tls';
import type {
  CertificateFiles,
  CertificateFilesConfig,
} from '../../../src/security/providers/certificate-files';
import type { Logger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';
import { lasting } from '../../support/lasting';
import { Folder } from '../../support/tls';

const fixture = (name: string) => readFileSync(join(__dirname, 'certificates', name), 'utf8');
const NO_FILES = { roots: undefined, identity: undefined, refreshIntervalMs: 600_000 };

// What becomes of files that change is in providers/file-watcher.test.ts.
describe('the certificates of connections to management servers', () => {
  let folder: Folder;
  let clock: FakeClock;
  let logged: string[];
  let logger: Logger;

  beforeEach(() => {
    folder = new Folder();
    clock = new FakeClock();
    logged = [];
    logger = { trace() {}, info() {}, error: (text) => logged.push(text()) };
    for (const name of ['ca.pem', 'client.pem', 'client.key']) folder.write(name, fixture(name));
  });
  afterEach(() => folder.close());

  const load = (config: CertificateFilesConfig) => loadCertificateFiles(config, { clock, logger });

  const ownFiles = () => ({
    roots: { field: 'ca_certificate_file', path: folder.path('ca.pem') } as const,
    identity: [
      { field: 'certificate_file', path: folder.path('client.pem') },
      { field: 'private_key_file', path: folder.path('client.key') },
    ] as const,
    refreshIntervalMs: 600_000,
  });

  /** What a connection uses that begins now. */
  function current(certificates: CertificateFiles): CertificateFiles['current'] {
    const watch = certificates.watch(() => undefined);
    const now = watch.current;
    watch.release();
    return now;
  }

  function loaded(config: CertificateFilesConfig): CertificateFiles {
    const result = load(config);
    if (!result.ok) throw new Error(result.error);
    return result.value;
  }

  // Without authorities, the TLS of Node.js uses those of the system, also those of NODE_EXTRA_CA_CERTS.
  it('are no authorities and no identity when there are no files', () => {
    expect(current(loaded(NO_FILES))).toEqual({
      roots: { ok: false, error: 'has no ca_certificate_file' },
      identity: { ok: false, error: 'has no certificate_file' },
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('are those in the files, which are read again for a later connection', () => {
    const certificates = loaded(ownFiles());
    const identity = {
      ok: true,
      value: { certificateChain: fixture('client.pem'), privateKey: fixture('client.key') },
    };
    const rootsOf = (name: string) => ({ ok: true, value: { certificates: [fixture(name)] } });
    expect(current(certificates)).toEqual({ roots: rootsOf('ca.pem'), identity });
    folder.write('ca.pem', fixture('other-ca.pem'));
    expect(current(certificates)).toEqual({ roots: rootsOf('other-ca.pem'), identity });
    expect(clock.pendingTimers).toBe(0);
  });

  it('are an error of the file that cannot be read or used, which is not logged', () => {
    const none = folder.path('none.pem');
    const { roots, identity } = ownFiles();
    const reason = `cannot be read: ENOENT: no such file or directory, open '${none}'`;
    expect(load({ ...ownFiles(), roots: { ...roots, path: none } })).toEqual({
      ok: false,
      error: lasting(`ca_certificate_file ${none} ${reason}`),
    });
    const withoutKey = load({
      ...NO_FILES,
      identity: [identity[0], { field: 'private_key_file', path: none }],
    });
    expect(withoutKey).toEqual({ ok: false, error: lasting(`private_key_file ${none} ${reason}`) });
    folder.write('client.key', fixture('server.key'));
    const [{ path: certificatePath }, { path: privateKeyPath }] = identity;
    expect(load(ownFiles())).toMatchObject({
      ok: false,
      error: expect.stringContaining(
        `certificate_file ${certificatePath} and private_key_file ${privateKeyPath} cannot be used together: `,
      ),
    });
    expect(logged).toEqual([]);
  });
});
