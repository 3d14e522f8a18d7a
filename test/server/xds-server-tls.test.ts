import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { credentials, ServerCredentials } from '@grpc/grpc-js';
import { XdsServerCredentials } from '../../src/server';
import { eventually } from '../support/eventually';
import { CertificateFolder } from '../support/identity-server';
import { TestCertificates, type TestCertificate } from '../support/test-certificates';
import { routerFilter, type Json } from '../support/xds-json';
import {
  callServer,
  rbacFilter,
  serverChain,
  strictTls,
  inlineRoutes,
  XdsServerWorld,
} from '../support/xds-server-world';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const identity = root.sign('server', { names: ['IP:127.0.0.1'] });
const second = root.sign('second', { names: ['IP:127.0.0.1'] });
const web = root.sign('web', { names: ['URI:spiffe://td/web'] });
const stranger = certificates.authority('other').sign('web', { names: ['URI:spiffe://td/web'] });

let folder: CertificateFolder;
let world: XdsServerWorld;

beforeEach(async () => {
  folder = new CertificateFolder();
  folder.writeIdentity(identity);
  world = await XdsServerWorld.start();
  const config = {
    certificate_file: folder.path('tls.crt'),
    private_key_file: folder.path('tls.key'),
    ca_certificate_file: folder.write('ca.crt', root.certificate),
    refresh_interval: '1s',
  };
  world.bootstrapExtra = {
    certificate_providers: { default: { plugin_name: 'file_watcher', config } },
  };
});

afterEach(() => {
  world.stop();
  folder.close();
});

afterAll(() => certificates.close());

const secured = (own?: TestCertificate) =>
  credentials.createSsl(
    Buffer.from(root.certificate),
    own ? Buffer.from(own.privateKey) : null,
    own ? Buffer.from(own.certificateChain) : null,
  );

const plain = listenerOf(() => serverChain());
const strict = listenerOf(() => serverChain(inlineRoutes(), strictTls()));

/** Returns a function that makes the listener of the world of a test. */
function listenerOf(chain: () => Json): () => Json {
  return () => world.listener([chain()]);
}

describe('STRICT', () => {
  it('serves clients with a certificate of the mesh, and no others', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
    expect(await callServer(world.client(secured(web)))).toBe('OK');
    expect(await callServer(world.client(secured(stranger)))).toMatch(/^UNAVAILABLE/);
    expect(await callServer(world.client(secured()))).toMatch(/^UNAVAILABLE/);
    expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
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
    await eventually(
      () => callServer(first),
      (status) => status === 'OK',
    );
    expect(world.states).toHaveLength(1);
  });

  it('drains a connection whose handshake ends after the drain has begun', async () => {
    world.serve([strict()]);
    await world.bind(world.server());
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
      ...{ socket, ca: root.certificate, cert: web.certificateChain, key: web.privateKey },
      ...{ servername: 'server', checkServerIdentity: () => undefined, ALPNProtocols: ['h2'] },
    });
    await once(tls, 'secureConnect');
    const session = connectHttp2('https://server', { createConnection: () => tls });
    const [code] = await once(session, 'goaway');
    expect(code).toBe(0);
    await once(session, 'close');
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
    await eventually(presented, (name) => name === 'second');
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
    await eventually(
      () => callServer(client),
      (status) => status === 'OK',
    );
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

it('a fallback with TLS serves chains without TLS', async () => {
  const pair = {
    cert_chain: Buffer.from(identity.certificateChain),
    private_key: Buffer.from(identity.privateKey),
  };
  world.serve([plain()]);
  const fallback = ServerCredentials.createSsl(Buffer.from(root.certificate), [pair], true);
  await world.bind(world.server(), new XdsServerCredentials(fallback));
  expect(await callServer(world.client(secured(web)))).toBe('OK');
  expect(await callServer(world.client(secured(stranger)))).toMatch(/^UNAVAILABLE/);
  expect(await callServer(world.client())).toMatch(/^UNAVAILABLE/);
});

/** @returns the common name in the certificate of the server. */
async function presented(): Promise<string | undefined> {
  const socket = connect({
    ...{ host: '127.0.0.1', port: world.port, ALPNProtocols: ['h2'] },
    ...{ ca: root.certificate, cert: web.certificateChain, key: web.privateKey },
  });
  socket.on('error', () => undefined);
  let name: string | undefined;
  socket.on('secureConnect', () => (name = String(socket.getPeerCertificate().subject.CN)));
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  socket.destroy();
  return name;
}
