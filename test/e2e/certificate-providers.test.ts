// Clusters whose servers require mutual TLS, with certificates from a provider of the application. Those in files: test/tls-matrix and test/chaos.

import { credentials, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { createXdsChannelCredentials, registerCertificateProvider } from '../../src';
import { logVerbosity, Status } from '../../src/grpc-js';
import type { CertificateWatcher } from '../../src/security/providers/define-certificate-provider';
import { bootstrapFor, registerAnew, simpleResources, useMesh } from '../support/mesh';
import { mutualTlsSocket, startMutualTlsBackend } from '../support/mutual-tls';
import { TestCertificates } from '../support/test-certificates';
import { edsClusterJson } from '../support/xds-json';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const serverCertificate = root.sign('server', { names: ['URI:spiffe://a.test/server'] });

describe('certificates of a provider', () => {
  const mesh = useMesh();
  let backend: Awaited<ReturnType<typeof startMutualTlsBackend>>;

  beforeAll(async () => {
    backend = await startMutualTlsBackend(root, serverCertificate);
  });
  afterAll(() => {
    backend.server.forceShutdown();
    certificates.close();
  });
  beforeEach(() => {
    const cluster = edsClusterJson('echo', { transport_socket: mutualTlsSocket('mesh') });
    mesh.serve({ ...simpleResources([backend.port]), clusters: [cluster] });
  });

  const connect = () =>
    mesh.client({}, undefined, createXdsChannelCredentials(credentials.createInsecure()));

  const use = (pluginName: string, config: object) =>
    registerAnew({
      bootstrap: {
        ...bootstrapFor(mesh.address),
        certificate_providers: { mesh: { plugin_name: pluginName, config } },
      },
    });

  it('may come from the application, which calls wait for', async () => {
    const watching = new Promise<CertificateWatcher>((resolve) => {
      registerCertificateProvider({
        name: 'test_vault',
        parseConfig: (config) => config['role'],
        create: (role) => ({
          watch(_name, watcher) {
            expect(role).toBe('web');
            resolve(watcher);
            return () => undefined;
          },
        }),
      });
    });
    use('test_vault', { role: 'web' });
    const answer = connect().say();
    const watcher = await watching;
    watcher.onRoots({ certificates: root.certificate });
    watcher.onIdentity(root.sign('from the vault'));
    expect(await answer).toBe('from the vault');
  });

  it('may be of a plugin that is not registered, which is logged once: clusters that name it are rejected', async () => {
    const lines: string[] = [];
    setLogger({ error: (line: string) => void lines.push(line) });
    setLogVerbosity(logVerbosity.ERROR);
    use('unheard_of', { secret: 1 });
    const { code, details } = await connect().failure();
    await connect().failure();
    setLogVerbosity(logVerbosity.NONE);
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain(
      'ca_certificate_provider_instance.instance_name: "mesh" is not in certificate_providers of the bootstrap',
    );
    expect(lines.filter((line) => line.includes('unheard_of'))).toEqual([
      expect.stringContaining(
        'certificate_providers["mesh"] is ignored: plugin "unheard_of" is not registered',
      ),
    ]);
  });

  it('need a name for the plugin', () => {
    expect(() =>
      registerCertificateProvider({
        name: '',
        parseConfig: () => undefined,
        create: () => ({ watch: () => () => undefined }),
      }),
    ).toThrow('name of registerCertificateProvider() must be a string that is not empty');
  });
});
