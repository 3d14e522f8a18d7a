// Clusters whose servers require mutual TLS, with certificates from files and from a provider of the application.

import { credentials, setLogger, setLogVerbosity } from '@grpc/grpc-js';
import { createXdsChannelCredentials, registerCertificateProvider } from '../../src';
import { logVerbosity, Status } from '../../src/grpc-js';
import type { CertificateWatcher } from '../../src/security/providers/define-certificate-provider';
import { eventually } from '../support/eventually';
import { bootstrapFor, registerAnew, useMesh } from '../support/mesh';
import { mutualTlsSocket, startMutualTlsBackend } from '../support/mutual-tls';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';
import { Folder } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const serverCertificate = root.sign('server', { names: ['URI:spiffe://a.test/server'] });

describe('certificates of a provider', () => {
  const mesh = useMesh();
  let backend: Awaited<ReturnType<typeof startMutualTlsBackend>>;
  let folder: Folder;

  beforeAll(async () => {
    backend = await startMutualTlsBackend(root, serverCertificate);
  });
  afterAll(() => {
    backend.server.forceShutdown();
    certificates.close();
  });
  beforeEach(() => {
    folder = new Folder();
    serve({ echo: backend.port });
  });
  afterEach(() => folder.close());

  /** Serves a service for each cluster, `echo` being the default one, at a port. */
  function serve(ports: Readonly<Record<string, number>>): void {
    const transport_socket = mutualTlsSocket('mesh');
    const names = Object.keys(ports);
    mesh.serve({
      listeners: names.map((name) => listenerJson(name)),
      routes: names.map((name) => routeConfigJson(`${name}-routes`, [routeToCluster(name)])),
      clusters: names.map((name) => edsClusterJson(name, { transport_socket })),
      endpoints: Object.entries(ports).map(([name, port]) =>
        endpointsJson(name, [{ zone: 'a', ports: [port] }]),
      ),
    });
  }

  /** A client with a connection of its own. */
  const connect = (service = 'echo') =>
    mesh.client({}, `xds:///${service}`, createXdsChannelCredentials(credentials.createInsecure()));

  const use = (pluginName: string, config: object) =>
    registerAnew({
      bootstrap: {
        ...bootstrapFor(mesh.address),
        certificate_providers: { mesh: { plugin_name: pluginName, config } },
      },
    });

  const fileConfig = () => ({
    certificate_file: folder.path('cert.pem'),
    private_key_file: folder.path('key.pem'),
    ca_certificate_file: folder.path('ca.pem'),
  });

  /** Replaces one file after the other, as the agent of Istio does. */
  function write({ certificateChain, privateKey }: TestCertificate, ca = root.certificate): void {
    folder.write('key.pem', privateKey);
    folder.write('cert.pem', certificateChain);
    folder.write('ca.pem', ca);
  }

  it('are those in files, and each new connection has those as of now, while no call fails', async () => {
    const identities = Array.from({ length: 11 }, (_, index) => root.sign(`client ${index}`));
    const [initial, ...rotations] = identities;
    if (initial !== undefined) write(initial);
    use('file_watcher', fileConfig());
    const steady = connect();
    let isOver = false;
    const answers: string[] = [];
    const load = Array.from({ length: 8 }, async () => {
      while (!isOver) answers.push(await steady.say());
    });
    expect(await connect().say()).toBe('client 0');
    for (const [index, identity] of rotations.entries()) {
      const name = `client ${index + 1}`;
      write(identity);
      const seen = await eventually(() => connect().say(), name);
      expect(seen).toBe(name);
    }
    isOver = true;
    await Promise.all(load);
    // The connection of before has served all of them.
    expect(new Set(answers)).toEqual(new Set(['client 0']));
  }, 60_000);

  it('may have another authority, with both of them in between, while no call fails', async () => {
    // 1. Servers and clients have certificates of the first authority.
    const nextRoot = certificates.authority('next root');
    const next = await startMutualTlsBackend(root, nextRoot.sign('next server'));
    serve({ echo: backend.port, next: next.port });
    const identity = root.sign('client');
    write(identity);
    use('file_watcher', fileConfig());
    const steady = connect();
    expect(await steady.say()).toBe('client');
    let isOver = false;
    const load = (async () => {
      while (!isOver) await steady.say();
    })();
    const answerOf = (service: string) =>
      connect(service)
        .say()
        .catch((error: Error) => error.message);
    expect(await answerOf('next')).toMatch(/not signed by a trusted authority|is not trusted/);
    // 2. New connections trust both authorities.
    write(identity, root.certificate + nextRoot.certificate);
    await eventually(() => answerOf('next'), 'client');
    expect(await answerOf('echo')).toBe('client');
    // 3. New connections trust only the next one. The connection of before serves on.
    write(identity, nextRoot.certificate);
    const refusal = await eventually(
      () => answerOf('echo'),
      (answer) => answer !== 'client',
    );
    expect(refusal).toMatch(/not signed by a trusted authority|is not trusted/);
    expect(await answerOf('next')).toBe('client');
    isOver = true;
    await load;
    next.server.forceShutdown();
  }, 60_000);

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
