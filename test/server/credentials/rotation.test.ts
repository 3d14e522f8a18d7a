import { rmSync } from 'node:fs';
import { once } from 'node:events';
import { connect as connectSocket, createServer } from 'node:net';
import { connect } from 'node:tls';
import type { Client } from '@grpc/grpc-js';
import { registerCertificateProvider, type CertificateWatcher } from '../../../src';
import { createReloadingServerCredentials } from '../../../src/server';
import { eventually } from '../../support/eventually';
import {
  identityClient,
  IdentityServer,
  useIdentityWorld,
  whoAmI,
} from '../../support/identity-server';
import { identitySecret, rootsSecret, SdsServer } from '../../support/sds-server';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { XdsError } from '../../../src/util/xds-error';

const certificates = new TestCertificates();
const root = certificates.authority('root');
const sign = (commonName: string) => root.sign(commonName, { names: ['IP:127.0.0.1'] });
const first = sign('first');
const second = sign('second');
const web = root.sign('web', { names: ['URI:spiffe://td/web'] });

const world = useIdentityWorld(certificates);

function client(own = web): Client {
  return world.client(root, own);
}

function bindFiles(): Promise<number> {
  const files = {
    certificateFile: world.folder.path('tls.crt'),
    privateKeyFile: world.folder.path('tls.key'),
    refreshIntervalMs: 1000,
  };
  const trust = { caCertificateFile: world.folder.path('ca.crt') };
  return world.server.bind(createReloadingServerCredentials({ files, trust }));
}

/** @returns the common name in the certificate of the server; `undefined` if it closes the connection. */
async function presented(own: TestCertificate = web): Promise<string | undefined> {
  const socket = connect({
    host: '127.0.0.1',
    port: world.server.port,
    ALPNProtocols: ['h2'],
    ca: root.certificate,
    cert: own.certificateChain,
    key: own.privateKey,
  });
  socket.on('error', () => undefined);
  const names: string[] = [];
  socket.on('secureConnect', () => names.push(String(socket.getPeerCertificate().subject.CN)));
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  const isServed = socket.bytesRead > 0 && !socket.destroyed;
  socket.destroy();
  return isServed ? names[0] : undefined;
}

describe('certificates in files', () => {
  beforeEach(() => {
    world.folder.writeIdentity(first);
    world.folder.write('ca.crt', root.certificate);
  });

  it('are replaced under load: no call fails, and no connection is closed', async () => {
    await bindFiles();
    const steady = client(root.sign('steady'));
    let isOver = false;
    let calls = 0;
    const load = (async () => {
      while (!isOver) {
        await Promise.all(Array.from({ length: 10 }, () => whoAmI(steady)));
        calls += 10;
      }
    })();
    const fresh = (async () => {
      while (!isOver) {
        const own = identityClient(world.server.port, root, web);
        await whoAmI(own);
        own.close();
      }
    })();
    for (const next of [second, first, second]) {
      world.folder.writeIdentity(next);
      const name = next === first ? 'first' : 'second';
      await eventually(() => presented(), name);
    }
    isOver = true;
    await Promise.all([load, fresh]);
    expect(calls).toBeGreaterThan(0);
    expect(world.server.remotePorts.get('CN=steady')?.size).toBe(1);
  });

  it('stay in use while what is in the files cannot be used, and are replaced when it can', async () => {
    await bindFiles();
    expect(await presented()).toBe('first');
    const bad: readonly (() => void)[] = [
      () => world.folder.write('tls.crt', 'no certificate'),
      () => world.folder.write('tls.crt', first.certificate.slice(0, 200)),
      // The key of another certificate, as between the two writes of an agent.
      () => world.folder.write('tls.key', second.privateKey),
      () => world.folder.write('ca.crt', ''),
      () => rmSync(world.folder.path('tls.key')),
      () => rmSync(world.folder.path('ca.crt')),
    ];
    for (const breakFiles of bad) {
      breakFiles();
      // Time to be read; a machine that takes longer serves by the same certificate.
      await new Promise((resolve) => setTimeout(resolve, 150));
      expect(await presented()).toBe('first');
    }
    world.folder.write('ca.crt', root.certificate);
    world.folder.writeIdentity(second);
    expect(await eventually(presented, 'second')).toBe('second');
  });

  it('apply to new connections: an authority that is removed closes none', async () => {
    const other = certificates.authority('other');
    const stranger = other.sign('stranger', { names: ['URI:spiffe://other/a'] });
    await bindFiles();
    const steady = client();
    await whoAmI(steady);
    expect(await presented(stranger)).toBeUndefined();
    world.folder.write('ca.crt', other.certificate);
    expect(await eventually(() => presented(stranger), 'first')).toBe('first');
    expect(await presented()).toBeUndefined();
    expect(await whoAmI(steady)).toMatchObject({ spiffeId: 'spiffe://td/web' });
  });
});

it('closes connections until there is a first certificate', async () => {
  await bindFiles();
  expect(await presented()).toBeUndefined();
  world.folder.writeIdentity(first);
  world.folder.write('ca.crt', root.certificate);
  expect(await eventually(presented, 'first')).toBe('first');
});

it('serves by the same credentials on several servers, and again after all have closed', async () => {
  const files = world.folder.writeIdentity(first);
  const trust = { caCertificateFile: world.folder.write('ca.crt', root.certificate) };
  const credentials = createReloadingServerCredentials({ files, trust });
  await world.server.bind(credentials);
  const other = new IdentityServer();
  await other.bind(credentials);
  expect(await presented()).toBe('first');
  other.stop();
  world.folder.writeIdentity(second);
  world.restart();
  await world.server.bind(credentials);
  expect(await eventually(presented, 'second')).toBe('second');
});

it('takes certificates from a secret discovery server', async () => {
  const sds = new SdsServer();
  const serverUri = await sds.start();
  try {
    sds.set('default', identitySecret(first));
    sds.set('ROOTCA', rootsSecret(root.certificate));
    await world.server.bind(
      createReloadingServerCredentials({ sds: { serverUri, nodeId: 'shop' } }),
    );
    expect(await eventually(presented, 'first')).toBe('first');
    sds.set('default', identitySecret(second));
    expect(await eventually(presented, 'second')).toBe('second');
    sds.remove('ROOTCA');
    expect(await presented()).toBe('second');
    expect(sds.requests[0]?.node?.id).toBe('shop');
  } finally {
    world.server.stop();
    await eventually(() => sds.openStreams, 0);
    sds.stop();
  }
});

it('takes certificates from a provider of the application, which may supply them at once', async () => {
  let watcher: CertificateWatcher | undefined;
  registerCertificateProvider({
    name: 'test_server_vault',
    parseConfig: ({ role }) => ({ role: String(role) }),
    create: ({ role }) => ({
      watch(_name, added) {
        watcher = added;
        added.onRoots({ certificates: root.certificate });
        added.onIdentity(role === 'shop' ? first : new Error('no such role'));
        return () => (watcher = undefined);
      },
    }),
  });
  const certificateProvider = { pluginName: 'test_server_vault', config: { role: 'shop' } };
  await world.server.bind(createReloadingServerCredentials({ certificateProvider }));
  expect(await eventually(presented, 'first')).toBe('first');
  watcher?.onIdentity(second);
  expect(await eventually(presented, 'second')).toBe('second');
  watcher?.onIdentity(new Error('sealed'));
  expect(await presented()).toBe('second');
  world.server.stop();
  await eventually(() => watcher, undefined);
});

it('closes a connection whose handshake does not end, and serves others meanwhile', async () => {
  world.folder.writeIdentity(first);
  world.folder.write('ca.crt', root.certificate);
  await bindFiles();
  const half = Array.from({ length: 200 }, () => connectSocket(world.server.port, '127.0.0.1'));
  for (const socket of half) socket.on('error', () => undefined);
  await Promise.all(half.map((socket) => once(socket, 'connect')));
  for (const socket of half) socket.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  expect(await presented()).toBe('first');
  for (const socket of half) socket.destroy();
});

it('secures connections that are injected into a server', async () => {
  const files = world.folder.writeIdentity(first);
  const trust = { caCertificateFile: world.folder.write('ca.crt', root.certificate) };
  const front = createServer();
  front.on('connection', world.server.inject(createReloadingServerCredentials({ files, trust })));
  await once(front.listen(0, '127.0.0.1'), 'listening');
  const address = front.address();
  world.server.port = typeof address === 'object' && address !== null ? address.port : 0;
  expect(await whoAmI(client())).toMatchObject({ spiffeId: 'spiffe://td/web' });
  const stranger = certificates.authority('unknown').sign('stranger');
  expect(await presented(stranger)).toBeUndefined();
  front.close();
});

describe('options', () => {
  const files = { certificateFile: '/a', privateKeyFile: '/b' };
  it.each<[string, object, string]>([
    ['no source', {}, 'takes exactly one of the options files, sds and certificateProvider'],
    ['two sources', { files, sds: { serverUri: 'unix:/a' } }, 'takes exactly one of the options'],
    ['an unknown option', { file: files }, 'unknown option "file"'],
    ['no key', { files: { certificateFile: '/a' } }, 'files.privateKeyFile of'],
    [
      'trust of two kinds',
      { files, trust: { caCertificateFile: '/a', spiffeTrustBundleMapFile: '/b' } },
      'trust of',
    ],
    [
      'a required certificate without trust',
      { files, requireClientCertificate: true },
      'needs the option trust',
    ],
    [
      'an unknown plugin',
      { certificateProvider: { pluginName: 'x' } },
      'server-certificate: no plugin "x" is registered',
    ],
    [
      'keys over a network in clear',
      { sds: { serverUri: 'sds.example:443' } },
      'keys would be sent in clear',
    ],
  ])('with %s are refused', (_, options, text) => {
    expect(() => createReloadingServerCredentials(options)).toThrow(XdsError);
    expect(() => createReloadingServerCredentials(options)).toThrow(text);
  });
});
