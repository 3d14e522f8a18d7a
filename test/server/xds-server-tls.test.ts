import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import type * as grpc from '@grpc/grpc-js';
import { ServerCredentials } from '@grpc/grpc-js';
import { Snapshot } from '../../src/control-plane';
import type * as serverModule from '../../src/server';
import { createReloadingServerCredentials, XdsServerCredentials } from '../../src/server';
import { eventually } from '../support/eventually';
import type { CertificateFolder } from '../support/identity-server';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  clientTls,
  openStream,
  rbacFilter,
  serverChain,
  strictTls,
  inlineRoutes,
  useServerWorld,
} from '../support/xds-server-world';
import { registerAnew } from '../support/mesh';
import { anything, inNamespace, rbacJson, withIdentity } from '../support/rbac-json';
import { FastClock } from '../support/fast-clock';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const identity = root.sign('server', { names: ['IP:127.0.0.1'] });
const second = root.sign('second', { names: ['IP:127.0.0.1'] });
const web = root.sign('web', { names: ['URI:spiffe://td/web'] });
const stranger = certificates.authority('other').sign('web', { names: ['URI:spiffe://td/web'] });

let folder: CertificateFolder;
const world = useServerWorld();

beforeEach(() => {
  folder = world.useCertificates(identity, root, { refresh_interval: '1s' });
});

afterAll(() => certificates.close());

const secured = (own?: TestCertificate) => clientTls(root, own);

const plain = listenerOf(() => serverChain());
const strict = listenerOf(() => serverChain(inlineRoutes(), strictTls()));

/** Returns a function that makes the listener of the world of a test. */
function listenerOf(chain: () => Json): () => Json {
  return () => world.listener([chain()]);
}

describe('STRICT (gRFC A29)', () => {
  it('serves clients with a certificate of the mesh, and no others', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
    expect(await callServer(world.client(secured(web)))).toBe('OK');
    expect(await callServer(world.client(secured(stranger)))).toMatch(/^UNAVAILABLE/);
    expect(await callServer(world.client(secured()))).toMatch(/^UNAVAILABLE/);
    expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
  });

  it.each([
    ['without a certificate', undefined],
    ['with one of a stranger', stranger],
    ['with one of the mesh', web],
  ] as const)('serves no client that does not offer HTTP/2, %s', async (_name, own) => {
    world.serve([strict()]);
    await world.bind(world.server());
    for (const protocols of [undefined, ['http/1.1']]) {
      const socket = connect({
        host: '127.0.0.1',
        port: world.port,
        ca: root.certificate,
        ...(own && { cert: own.certificateChain, key: own.privateKey }),
        ...(protocols && { ALPNProtocols: protocols }),
      });
      socket.on('error', () => undefined);
      let received = 0;
      socket.on('data', (chunk: Buffer) => (received += chunk.length));
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
      await new Promise((resolve) => socket.once('close', resolve));
      expect(received).toBe(0);
    }
  });

  it('comes and goes by update: no connection of the one before stays', async () => {
    world.serve([plain()]);
    await world.bind(world.server());
    const first = world.client();
    expect(await callServer(first)).toBe('OK');
    world.serve([strict()]);
    await eventually(
      () => callServer(first),
      (status) => status !== 'OK',
    );
    const second = world.client(secured(web));
    expect(await callServer(second)).toBe('OK');
    world.serve([plain()]);
    await eventually(
      () => callServer(second),
      (status) => status !== 'OK',
    );
    await eventually(() => callServer(first), 'OK');
    expect(world.states).toHaveLength(1);
  });

  it('drains a connection whose handshake ends after the drain has begun', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
    // A connection without a call is given some seconds for its first one.
    const clock = new FastClock(10);
    const socket = connectSocket(world.port, '127.0.0.1');
    await once(socket, 'connect');
    // The server accepts it in one of the next turns of the same event loop.
    await sleep(50);
    const filters = [rbacFilter('DENY', [{ any: true }]), routerFilter];
    const chain = serverChain({ ...inlineRoutes(), http_filters: filters }, strictTls());
    world.serve([world.listener([chain])]);
    const client = world.client(secured(web));
    await eventually(
      () => callServer(client),
      (status) => status.startsWith('PERMISSION_DENIED'),
    );
    const tls = connect({
      socket,
      ca: root.certificate,
      cert: web.certificateChain,
      key: web.privateKey,
      servername: 'server',
      checkServerIdentity: () => undefined,
      ALPNProtocols: ['h2'],
    });
    await once(tls, 'secureConnect');
    const session = connectHttp2('https://server', { createConnection: () => tls });
    const [code] = await once(session, 'goaway');
    expect(code).toBe(0);
    await once(session, 'close');
    clock.stop();
  });

  it('serves nothing over a connection without ALPN, which cannot be verified', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
    const tls = connect({ host: '127.0.0.1', port: world.port, rejectUnauthorized: false });
    await once(tls, 'secureConnect');
    const session = connectHttp2('http://server', { createConnection: () => tls });
    session.on('error', () => undefined);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/test.Echo/Say',
      te: 'trailers',
    });
    const answered = once(stream, 'response').then(
      () => 'answered',
      () => 'failed',
    );
    expect(await Promise.race([answered, once(session, 'close').then(() => 'closed')])).not.toBe(
      'answered',
    );
    expect(world.calls).toBe(0);
  });

  it('logs why it refuses a client, also the first one', async () => {
    const lines: string[] = [];
    registerAnew({ logger: { level: 'error', log: ({ message }) => lines.push(message) } });
    world.serve([strict()]);
    await world.bind(world.server());
    expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
    const [line] = await eventually(
      () => lines,
      ({ length }) => length > 0,
    );
    expect(line).toMatch(/^server .*: TLS handshake with 127\.0\.0\.1 failed: the client does not/);
    registerAnew({});
  });

  it('authorizes by the identity of the client', async () => {
    const principals = [{ authenticated: { principal_name: { exact: 'spiffe://td/web' } } }];
    const filters = [rbacFilter('ALLOW', [{ any: true }], principals), routerFilter];
    const chain = serverChain({ ...inlineRoutes(), http_filters: filters }, strictTls());
    world.serve([world.listener([chain])]);
    await world.bind(world.server());
    const job = root.sign('job', { names: ['URI:spiffe://td/job'] });
    expect(await callServer(world.client(secured(web)))).toBe('OK');
    expect(await callServer(world.client(secured(job)))).toBe(
      'PERMISSION_DENIED: unauthorized RPC request rejected',
    );
  });

  it('is not used with other credentials, which are those of the application', async () => {
    world.serve([strict()]);
    await world.bind(world.server(), ServerCredentials.createInsecure());
    expect(await callServer(world.client())).toBe('OK');
  });

  it('uses a new certificate for new connections, and leaves the others', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
    const steady = world.client(secured(web));
    expect(await callServer(steady)).toBe('OK');
    folder.writeIdentity(second);
    await eventually(presented, 'second');
    expect(await callServer(steady)).toBe('OK');
    expect(world.peers.size).toBe(1);
  });

  it('closes connections while there is no certificate, never falls back, and is served all the same', async () => {
    const provider = { plugin_name: 'file_watcher', config: nowhere() };
    world.bootstrapExtra = { certificate_providers: { default: provider } };
    world.serve([strict()]);
    expect((await world.bind(world.server())).error).toBeNull();
    expect(await world.connects()).toBe('closed');
    expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
    folder.writeIdentity(identity);
    const client = world.client(secured(web));
    await eventually(() => callServer(client), 'OK');
  });

  function nowhere(): Json {
    const config = {
      certificate_file: folder.path('late.crt'),
      private_key_file: folder.path('late.key'),
      ca_certificate_file: folder.path('ca.crt'),
      refresh_interval: '1s',
    };
    setTimeout(() => {
      folder.write('late.key', identity.privateKey);
      folder.write('late.crt', identity.certificateChain);
    }, 300).unref();
    return config;
  }
});

it('xDS credentials of another copy, with interceptors around them, are not overlooked', async () => {
  let copies: readonly [typeof grpc, typeof serverModule] | undefined;
  jest.isolateModules(() => {
    /* eslint-disable @typescript-eslint/no-require-imports -- a second instance of the modules */
    copies = [require('@grpc/grpc-js'), require('../../src/server')];
    /* eslint-enable @typescript-eslint/no-require-imports */
  });
  const [host, server] = copies ?? [];
  if (host === undefined || server === undefined) throw new Error('no other copy');
  expect(host.ServerCredentials).not.toBe(ServerCredentials);
  const foreign = new server.XdsServerCredentials(host.ServerCredentials.createInsecure());
  const wrapped = host.experimental.createServerCredentialsWithInterceptors(foreign, []);
  world.serve([strict()]);
  await world.bind(world.server(), wrapped);
  expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
  expect(await callServer(world.client(secured(web)))).toBe('OK');
});

describe('a fallback with TLS', () => {
  const pair = {
    cert_chain: Buffer.from(identity.certificateChain),
    private_key: Buffer.from(identity.privateKey),
  };
  const fallback = (isRequired: boolean) =>
    new XdsServerCredentials(
      ServerCredentials.createSsl(Buffer.from(root.certificate), [pair], isRequired),
    );

  it.each(['as a fallback', 'alone'])(
    'whose certificates rotate verifies clients, %s',
    async (how) => {
      world.serve([how === 'alone' ? strict() : plain()]);
      const reloading = createReloadingServerCredentials({
        files: { certificateFile: folder.path('tls.crt'), privateKeyFile: folder.path('tls.key') },
        trust: { caCertificateFile: folder.path('ca.crt') },
      });
      const own = how === 'alone' ? reloading : new XdsServerCredentials(reloading);
      await world.bind(world.server(), own);
      expect(await callServer(world.client(secured(web)))).toBe('OK');
      expect(await callServer(world.client(secured(stranger)))).toMatch(/^UNAVAILABLE/);
      expect(await callServer(world.client(secured()))).toMatch(/^UNAVAILABLE/);
      expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
    },
  );

  it('serves chains without TLS', async () => {
    world.serve([plain()]);
    await world.bind(world.server(), fallback(true));
    expect(await callServer(world.client(secured(web)))).toBe('OK');
    expect(await callServer(world.client(secured(stranger)))).toMatch(/^UNAVAILABLE/);
    expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
  });

  it.each<readonly [string, Json, string, string]>([
    ['any client of TLS', {}, 'OK', 'OK'],
    ['a name', { principal_name: { exact: 'spiffe://td/web' } }, 'OK', 'PERMISSION_DENIED'],
  ])('is seen by a policy for %s', async (_name, authenticated, withName, without) => {
    const filters = [rbacFilter('ALLOW', [{ any: true }], [{ authenticated }]), routerFilter];
    world.serve([world.listener([serverChain({ ...inlineRoutes(), http_filters: filters })])]);
    const isRequired = withName === 'OK' && without !== 'OK';
    await world.bind(world.server(), fallback(isRequired));
    expect(await callServer(world.client(secured(web)))).toBe(withName);
    const other = isRequired ? root.sign('job', { names: ['URI:spiffe://td/job'] }) : undefined;
    expect(await callServer(world.client(secured(other)))).toMatch(new RegExp(`^${without}`));
  });
});

describe('a Listener of istiod', () => {
  it.each<readonly [name: string, withCertificate: string, inPlainText: string]>([
    ['inbound-strict', 'OK', 'UNAVAILABLE'],
    ['inbound-plaintext', 'UNAVAILABLE', 'OK'],
    ['inbound-deny-all', 'PERMISSION_DENIED', 'UNAVAILABLE'],
  ])('%s is served as it says', async (name, withCertificate, inPlainText) => {
    const text = readFileSync(join(__dirname, `../fixtures/istiod/${name}.json`), 'utf8');
    const [listener] = JSON.parse(text.replaceAll('10.244.0.2:50051', world.address)) as Json[];
    const resource = unwrapped({ ...listener });
    delete resource['@type'];
    const address = { socket_address: { address: '127.0.0.1', port_value: world.port } };
    world.serve([{ ...resource, address }]);
    const listenerName = (own: string) => `xds.istio.io/grpc/lds/inbound/${own}`;
    expect((await world.bind(world.server({ listenerName }))).error).toBeNull();
    const statuses = [
      await callServer(world.client(secured(web))),
      await callServer(world.client()),
    ].map((status) => status.split(':')[0]);
    expect(statuses).toEqual([withCertificate, inPlainText]);
  });

  /** In the fixtures, a wrapper such as BoolValue is an object; in JSON of protos, it is the value in it. */
  function unwrapped(json: Json): Json {
    const text = JSON.stringify(json).replaceAll(/\{"value":(true|false|\d+)\}/g, '$1');
    return JSON.parse(text) as Json;
  }
});

it('RBAC applies over mutual TLS, DENY before ALLOW', async () => {
  const sign = (account: string) =>
    root.sign('client', { names: [`URI:spiffe://cluster.local/ns/${account}`] });
  const servers = Snapshot.forServers(
    {
      [world.address]: {
        mtls: 'STRICT',
        httpFilters: [
          rbacJson(
            {
              web: {
                permissions: [{ url_path: { path: { exact: '/test.Echo/Chat' } } }],
                principals: [withIdentity('cluster.local/ns/shop/sa/web')],
              },
            },
            'DENY',
          ),
          rbacJson({
            shop: {
              permissions: [{ url_path: { path: { prefix: '/test.Echo/' } } }],
              principals: [inNamespace('shop')],
            },
            far: {
              permissions: [anything],
              principals: [{ direct_remote_ip: { address_prefix: '10.0.0.0', prefix_len: 8 } }],
            },
          }),
        ],
      },
    },
    { nameTemplate: 'server/%s' },
  );
  world.controlPlane.setSnapshot(servers);
  await world.bind(world.server());
  const web = world.client(secured(sign('shop/sa/web')));
  expect(await callServer(web)).toBe('OK');
  const stream = openStream(web);
  await expect(once(stream, 'data')).rejects.toMatchObject({ code: 7 });
  const job = openStream(world.client(secured(sign('shop/sa/job'))));
  job.write(Buffer.from('x'));
  await once(job, 'data');
  job.end();
  const other = world.client(secured(sign('shopping/sa/web')));
  expect(await callServer(other)).toMatch(/^PERMISSION_DENIED/);
});

it('half-open handshakes hold up neither calls nor a shutdown', async () => {
  world.serve([strict()]);
  const server = world.server();
  await world.bind(server);
  const sockets = Array.from({ length: 200 }, () => connectSocket(world.port, '127.0.0.1'));
  const closed = sockets.map((socket) =>
    once(
      socket.on('error', () => undefined),
      'close',
    ),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(Buffer.from([22, 3, 1, 2]));
  expect(await callServer(world.client(secured(web)))).toBe('OK');
  server.forceShutdown();
  await Promise.all(closed);
  await new Promise((resolve) => server.tryShutdown(resolve));
});

/** @returns the common name in the certificate of the server. */
async function presented(): Promise<string | undefined> {
  const socket = connect({
    host: '127.0.0.1',
    port: world.port,
    ALPNProtocols: ['h2'],
    ca: root.certificate,
    cert: web.certificateChain,
    key: web.privateKey,
  });
  socket.on('error', () => undefined);
  let name: string | undefined;
  socket.on('secureConnect', () => (name = String(socket.getPeerCertificate().subject.CN)));
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  socket.destroy();
  return name;
}
