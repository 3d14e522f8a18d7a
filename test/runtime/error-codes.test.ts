import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ready, register, shutdown, XdsError, CallFailedError, explainResources } from '../../src';
import { ControlPlane, loadResourceFile, Snapshot } from '../../src/control-plane';
import { OrcaReporter } from '../../src/orca';
import { createAuthorizationInterceptor, XdsServer } from '../../src/server';
import { authorize } from '../../src/testing';
import { watchKubernetes } from '../../packages/kubernetes/src';
import { serveAdminPage } from '../../packages/page/src';
import { Relay } from '../../packages/relay/src';
import { bootstrapFor } from '../support/mesh';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-errors-'));
const taken = createServer();
const bootstrap = bootstrapFor('127.0.0.1:9');
const request = { path: '/a.B/C' };

/** The port of another server. */
function takenPort(): number {
  return (taken.address() as AddressInfo).port;
}

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** Resolves to the error with which an address of a server is not served. */
function notServed(bind: (callback: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    bind((error) => (error === null ? resolve() : reject(error)));
  });
}

/** By what is done, the code of what it throws or is rejected with. */
const failures: readonly (readonly [string, string, () => unknown])[] = [
  ['XDS_NOT_REGISTERED', 'ready() before register()', () => ready('xds:///a', Date.now() + 5)],
  [
    'XDS_BOOTSTRAP_MISSING',
    'register() without a bootstrap',
    () => register({ requireBootstrap: true }),
  ],
  [
    'XDS_BOOTSTRAP_INVALID',
    'register() with a bootstrap that is not valid',
    () => register({ requireBootstrap: true, bootstrap: '{}' }),
  ],
  [
    'XDS_OPTION_CONFLICT',
    'register() with another value',
    () => {
      register({ bootstrap });
      register({ bootstrap: '{}' });
    },
  ],
  [
    'XDS_NOT_READY',
    'ready() beyond its deadline',
    () => {
      register({ bootstrap });
      return ready('xds:///a', Date.now() + 5);
    },
  ],
  [
    'XDS_STATE_INVALID',
    'a second start of a control plane',
    () => {
      const controlPlane = new ControlPlane();
      const first = controlPlane.start();
      return controlPlane
        .start()
        .finally(() => first.then(() => void controlPlane.close({ force: true })));
    },
  ],
  [
    'XDS_STATE_INVALID',
    'a second reporter of a server',
    () => {
      const server = new Server();
      new OrcaReporter().addTo(server);
      new OrcaReporter().addTo(server);
    },
  ],
  [
    'XDS_STATE_INVALID',
    'bindAsync() after a shutdown',
    () => {
      const server = new XdsServer();
      server.forceShutdown();
      server.bindAsync('127.0.0.1:9', ServerCredentials.createInsecure(), () => {});
    },
  ],
  [
    'XDS_NOT_SERVED',
    'a server without a bootstrap',
    () =>
      notServed((callback) => {
        const server = new XdsServer({ bootstrap: '{}' });
        server.bindAsync('127.0.0.1:9', ServerCredentials.createInsecure(), callback);
      }),
  ],
  [
    'XDS_LISTEN_FAILED',
    'a control plane on a port that is in use',
    () => new ControlPlane().start(takenPort()),
  ],
  [
    'XDS_LISTEN_FAILED',
    'a page on a port that is in use',
    () => serveAdminPage({ port: takenPort() }),
  ],
  [
    'XDS_LISTEN_FAILED',
    'a relay on a port that is in use',
    () => new Relay({ listen: `127.0.0.1:${takenPort()}`, bootstrap }).start(),
  ],
  [
    'XDS_LISTEN_FAILED',
    'a relay on a path that is a file',
    () => new Relay({ listen: `unix:${fileOf('file.sock', '')}`, bootstrap }).start(),
  ],
  ['XDS_BOOTSTRAP_MISSING', 'a relay', () => new Relay({ listen: '127.0.0.1:0', env: {} })],
  [
    'XDS_BOOTSTRAP_INVALID',
    'a relay that names itself',
    () => new Relay({ listen: '127.0.0.1:9', bootstrap }),
  ],
  ['XDS_RESOURCE_INVALID', 'a snapshot', () => Snapshot.from({ clusters: [{ name: 5 }] })],
  [
    'XDS_SNAPSHOT_INCONSISTENT',
    'setSnapshot()',
    () =>
      new ControlPlane().setSnapshot(
        Snapshot.from({
          listeners: [
            {
              name: 'a',
              api_listener: {
                api_listener: {
                  '@type':
                    'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                  rds: { route_config_name: 'b', config_source: { ads: {} } },
                },
              },
            },
          ],
        }),
      ),
  ],
  [
    'XDS_FILE_UNREADABLE',
    'a resource file that does not exist',
    () => {
      const loaded = loadResourceFile(join(folder, 'none.yaml'));
      if (!loaded.ok) throw loaded.error;
    },
  ],
  [
    'XDS_RESOURCE_INVALID',
    'a resource file with an unknown key',
    () => {
      const loaded = loadResourceFile(fileOf('a.yaml', 'cluster: []'));
      if (!loaded.ok) throw loaded.error;
    },
  ],
  [
    'XDS_FILE_UNREADABLE',
    'explainResources() of a file that does not exist',
    () => explainResources(join(folder, 'none.yaml'), 'xds:///a', '/a.B/C'),
  ],
  [
    'XDS_RESOURCE_INVALID',
    'explainResources() of an unknown list',
    () => explainResources({ cluster: [] }, 'xds:///a', '/a.B/C'),
  ],
  [
    'XDS_FILE_UNREADABLE',
    'a policy file that does not exist',
    () => createAuthorizationInterceptor({ file: join(folder, 'none.json') }),
  ],
  [
    'XDS_POLICY_INVALID',
    'a policy file without rules',
    () => createAuthorizationInterceptor({ file: fileOf('policy.json', '{}') }),
  ],
  [
    'XDS_POLICY_INVALID',
    'authorize() by a policy without a name',
    () => authorize({ name: '', allow_rules: [] }, request),
  ],
  [
    'XDS_FILE_UNREADABLE',
    'authorize() by a file that does not exist',
    () => authorize(join(folder, 'none.json'), request),
  ],
  [
    'XDS_POLICY_INVALID',
    'authorize() by a file that is not JSON',
    () => authorize(fileOf('no.json', '{'), request),
  ],
  [
    'XDS_KUBERNETES_UNAVAILABLE',
    'a kubeconfig that does not exist',
    () => watchKubernetes({ kubeconfig: join(folder, 'none') }),
  ],
];

beforeAll(() => new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve)));

beforeEach(() => {
  delete process.env['GRPC_XDS_BOOTSTRAP'];
  delete process.env['GRPC_XDS_BOOTSTRAP_CONFIG'];
});

afterEach(() => shutdown());

afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true });
});

it.each(failures)('has the code %s: %s', async (code, _what, act) => {
  const error: unknown = await Promise.resolve()
    .then(act)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(XdsError);
  expect(error).toMatchObject({ code });
});

it('makes a CallFailedError an XdsError with the status of the call', () => {
  const error = new CallFailedError({ code: 7, details: 'no' });
  expect(error).toBeInstanceOf(XdsError);
  expect(error).toMatchObject({ code: 'XDS_CALL_FAILED', failure: { code: 7 }, message: 'no' });
});
