import { connect as connectSocket } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import { once } from 'node:events';
import { Client, credentials, ServerCredentials } from '@grpc/grpc-js';
import { createReloadingServerCredentials, peerIdentity } from '../../../src/server';
import { methods, parseAnswer, useIdentityWorld, whoAmI } from '../../support/identity-server';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';

type Options = Parameters<typeof createReloadingServerCredentials>[0];

const certificates = new TestCertificates();
const root = certificates.authority('root');
const foreign = certificates.authority('foreign');
const serverIdentity = root.sign('server', { names: ['IP:127.0.0.1', 'DNS:localhost'] });
const web = root.sign('web', { names: ['URI:spiffe://td/web', 'DNS:web.example'] });
const stranger = foreign.sign('stranger', { names: ['URI:spiffe://td/web'] });

const world = useIdentityWorld(certificates);

async function start(options: Partial<Options> = {}, identity = serverIdentity): Promise<void> {
  const files = world.folder.writeIdentity(identity);
  const caCertificateFile = world.folder.write('ca.crt', root.certificate);
  await world.server.bind(
    createReloadingServerCredentials({ files, trust: { caCertificateFile }, ...options }),
  );
}

function client(own?: TestCertificate): Client {
  return world.client(root, own);
}

/** Performs a handshake by hand. @returns what the connection was before the server closed it, or sent something. */
async function handshake(
  options: ConnectionOptions,
): Promise<{ readonly isServed: boolean; readonly isReused: boolean }> {
  const socket = connect({
    host: '127.0.0.1',
    port: world.server.port,
    ca: root.certificate,
    ALPNProtocols: ['h2'],
    ...options,
  });
  let bytes = 0;
  socket.on('data', (data: Buffer) => (bytes += data.length));
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  const isReused = socket.isSessionReused();
  socket.destroy();
  return { isServed: bytes > 0, isReused };
}

const pem = ({ certificateChain, privateKey }: TestCertificate) => ({
  cert: certificateChain,
  key: privateKey,
});

describe('where a client certificate is required', () => {
  it('serves a client with a certificate of a trusted authority, whose names calls see', async () => {
    await start();
    const seen = await whoAmI(client(web));
    expect(seen).toMatchObject({
      spiffeId: 'spiffe://td/web',
      uriSans: ['spiffe://td/web'],
      dnsSans: ['web.example'],
      subject: 'CN=web',
    });
    expect(world.server.intercepted).toEqual([{ isTls: true, peer: seen }]);
  });

  it.each<[string, TestCertificate | undefined]>([
    ['without a certificate', undefined],
    ['with one of another authority', stranger],
    [
      'with one that has expired',
      root.sign('old', { validity: ['20200101000000Z', '20210101000000Z'] }),
    ],
    ['with one that is for servers only', root.sign('s', { extendedUsage: 'serverAuth' })],
    ['with one that is signed by a leaf', { ...web.sign('below'), sign: () => web }],
  ])('refuses a client %s', async (_, own) => {
    await start();
    await expect(whoAmI(client(own), 1500)).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    expect(world.server.intercepted).toEqual([]);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('refuses over %s', async (version) => {
    await start();
    const limits = { minVersion: version, maxVersion: version };
    await expect(handshake(limits)).resolves.toMatchObject({ isServed: false });
    await expect(handshake({ ...limits, ...pem(stranger) })).resolves.toMatchObject({
      isServed: false,
    });
    await expect(handshake({ ...limits, ...pem(web) })).resolves.toMatchObject({ isServed: true });
  });

  it('serves nothing over a connection without ALPN, which it cannot verify', async () => {
    await start();
    const socket = connect({
      host: '127.0.0.1',
      port: world.server.port,
      ca: root.certificate,
    });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await new Promise((resolve) => setTimeout(resolve, 300));
    socket.destroy();
    // Node.js answers in HTTP/1; SETTINGS would begin with their length.
    expect(Buffer.concat(chunks).toString('latin1')).toMatch(/^(?:HTTP\/1\.\d 403 |$)/);
    expect(world.server.intercepted).toEqual([]);
  });

  it('refuses another protocol than HTTP/2', async () => {
    await start();
    const served = await handshake({ ...pem(web), ALPNProtocols: ['http/1.1'] });
    expect(served.isServed).toBe(false);
  });

  it('refuses plain text', async () => {
    await start();
    const socket = connectSocket(world.server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    await once(socket, 'close');
    expect(socket.bytesRead).toBeLessThan(20);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('resumes no session of %s', async (version) => {
    await start();
    const limits = { ...pem(web), minVersion: version, maxVersion: version };
    let session: Buffer | undefined;
    const first = connect({
      host: '127.0.0.1',
      port: world.server.port,
      ca: root.certificate,
      ALPNProtocols: ['h2'],
      ...limits,
    });
    first.on('session', (ticket) => (session = ticket));
    await once(first, 'data');
    session ??= first.getSession();
    first.destroy();
    expect(await handshake({ ...limits, session })).toEqual({ isServed: true, isReused: false });
  });
});

describe('where a client certificate is optional', () => {
  const optional = { requireClientCertificate: false };

  it('serves a client without one, which has no identity, over a connection known to be TLS', async () => {
    await start(optional);
    expect(await whoAmI(client())).toBeUndefined();
    expect(world.server.intercepted).toEqual([{ isTls: true, peer: undefined }]);
  });

  it('verifies one that is presented', async () => {
    await start(optional);
    expect(await whoAmI(client(web))).toMatchObject({ spiffeId: 'spiffe://td/web' });
    await expect(whoAmI(client(stranger), 1500)).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    expect(world.server.intercepted).toHaveLength(1);
  });
});

describe('where no client certificate is requested', () => {
  it('serves every client, none of which has an identity', async () => {
    await start({ trust: 'none' });
    expect(await whoAmI(client(stranger))).toBeUndefined();
    expect(world.server.intercepted).toEqual([{ isTls: true, peer: undefined }]);
  });
});

describe('the identity of a client', () => {
  it('is undefined in plain text', async () => {
    await world.server.bind(ServerCredentials.createInsecure());
    const plain = new Client(`127.0.0.1:${world.server.port}`, credentials.createInsecure());
    world.add(plain);
    expect(await whoAmI(plain)).toBeUndefined();
    expect(world.server.intercepted).toEqual([{ isTls: false, peer: undefined }]);
  });

  it('is that of the certificate with the credentials of grpc-js, too', async () => {
    const pair = {
      cert_chain: Buffer.from(serverIdentity.certificateChain),
      private_key: Buffer.from(serverIdentity.privateKey),
    };
    await world.server.bind(
      ServerCredentials.createSsl(Buffer.from(root.certificate), [pair], true),
    );
    expect(await whoAmI(client(web))).toMatchObject({ spiffeId: 'spiffe://td/web' });
    expect(world.server.intercepted).toMatchObject([
      { isTls: true, peer: { dnsSans: ['web.example'] } },
    ]);
  });

  it('is seen by each kind of call', async () => {
    await start();
    const same = (bytes: Buffer) => bytes;
    const caller = client(web);
    const none = Buffer.alloc(0);
    const answers: Promise<Buffer>[] = [
      new Promise((resolve) => {
        const call = caller.makeClientStreamRequest<Buffer, Buffer>(
          methods.clientStream.path,
          same,
          same,
          (_error, answer) => resolve(answer ?? none),
        );
        call.write(none);
        call.end();
      }),
      new Promise((resolve) => {
        const { path } = methods.serverStream;
        caller.makeServerStreamRequest(path, same, same, none).once('data', resolve);
      }),
      new Promise((resolve) => {
        const call = caller.makeBidiStreamRequest<Buffer, Buffer>(methods.bidi.path, same, same);
        call.once('data', resolve);
        call.write(none);
        call.end();
      }),
    ];
    for (const answer of await Promise.all(answers)) {
      expect(parseAnswer(answer)).toMatchObject({ spiffeId: 'spiffe://td/web' });
    }
  });

  it('is that of its own connection, on one server', async () => {
    await start();
    const other = root.sign('other', { names: ['URI:spiffe://td/other'] });
    const [a, b] = [client(web), client(other)];
    for (let i = 0; i < 3; i++) {
      const seen = await Promise.all([whoAmI(a), whoAmI(b)]);
      expect(seen.map((each) => each?.spiffeId)).toEqual(['spiffe://td/web', 'spiffe://td/other']);
    }
  });

  it('splits no name at a comma, and takes no forged one', async () => {
    await start();
    const forged = root.sign('forged', {
      names: ['URI:https://a.example/, URI:spiffe://td/admin'],
    });
    const seen = await whoAmI(client(forged));
    expect(seen?.uriSans).toEqual(['https://a.example/, URI:spiffe://td/admin']);
    expect(seen?.spiffeId).toBeUndefined();
  });

  it('takes nothing else than a call', () => {
    // @ts-expect-error -- not a call
    expect(() => peerIdentity({})).toThrow(
      'call of peerIdentity() must be a call of @grpc/grpc-js',
    );
  });
});

describe('authorities', () => {
  it('end at one that is signed by itself: Node.js has no other way for servers', async () => {
    const intermediate = root.sign('intermediate', { isAuthority: true });
    const below = intermediate.sign('below', { names: ['URI:spiffe://td/below'] });
    const only = world.folder.write('intermediate.crt', intermediate.certificate);
    await start({ trust: { caCertificateFile: only } });
    await expect(whoAmI(client(below), 1500)).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    world.restart();
    await start();
    expect(await whoAmI(client(below))).toMatchObject({ spiffeId: 'spiffe://td/below' });
  });
});
