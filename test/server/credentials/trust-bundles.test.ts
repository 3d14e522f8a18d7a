import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createReloadingServerCredentials } from '../../../src/server';
import { eventually } from '../../support/eventually';
import { useIdentityWorld, whoAmI } from '../../support/identity-server';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { bundleMap } from '../../support/trust-bundles';

const certificates = new TestCertificates();
const a = certificates.authority('a');
const b = certificates.authority('b');
const c = certificates.authority('c');
const serverIdentity = a.sign('server', { names: ['IP:127.0.0.1'] });
const named = (issuer: TestCertificate, ...names: readonly string[]) =>
  issuer.sign('client', { names: names.map((name) => `URI:${name}`) });
const signedByLeaf = (leaf: TestCertificate) => named(leaf, 'spiffe://a.test/below');

const world = useIdentityWorld(certificates);

async function start(bundles: Readonly<Record<string, readonly TestCertificate[]>>): Promise<void> {
  const spiffeTrustBundleMapFile = world.folder.write('bundles.json', bundleMap(bundles));
  const files = world.folder.writeIdentity(serverIdentity);
  await world.server.bind(
    createReloadingServerCredentials({ files, trust: { spiffeTrustBundleMapFile } }),
  );
}

async function idOf(own: TestCertificate): Promise<string | undefined> {
  const client = world.client(a, own);
  return (await whoAmI(client, 1500))?.spiffeId;
}

const middleOfA = a.sign('middle of a', { isAuthority: true });
const constrained = a.sign('constrained', {
  isAuthority: true,
  extensions: 'nameConstraints=critical,permitted;URI:a.test',
});
const short = a.sign('short', { isAuthority: true, pathLength: 0 });
const belowShort = short.sign('below short', { isAuthority: true });
/** The key and name of an authority of a, which b has signed: b could let it vouch for a. */
const crossed = b.sign('middle of a', { isAuthority: true, keyOf: middleOfA });

describe('with the bundles of two trust domains (gRFC A87)', () => {
  beforeEach(() => start({ 'a.test': [a], 'b.test': [b, c] }));

  it.each<[string, TestCertificate, string]>([
    ['of the first', named(a, 'spiffe://a.test/web'), 'spiffe://a.test/web'],
    ['of the second', named(b, 'spiffe://b.test/web'), 'spiffe://b.test/web'],
    ['of another authority of it', named(c, 'spiffe://b.test/c'), 'spiffe://b.test/c'],
    ['of an intermediate authority', named(middleOfA, 'spiffe://a.test/m'), 'spiffe://a.test/m'],
  ])('serves an identity %s', async (_, own, id) => {
    expect(await idOf(own)).toBe(id);
  });

  it.each<[string, TestCertificate]>([
    ['that the authority of another trust domain signed', named(b, 'spiffe://a.test/web')],
    ['of a third trust domain', named(a, 'spiffe://c.test/web')],
    ['beside another URI', named(a, 'spiffe://a.test/web', 'spiffe://b.test/web')],
    ['that is no SPIFFE id', named(a, 'https://a.test/web')],
    ['without a name', a.sign('client')],
    ['that a leaf signed', signedByLeaf(named(a, 'spiffe://a.test/web'))],
    [
      'whose intermediate authority another trust domain signed',
      named(crossed, 'spiffe://a.test/web'),
    ],
    [
      'with name constraints, which may be of another chain',
      named(constrained, 'spiffe://a.test/w'),
    ],
    ['below more authorities than allowed', named(belowShort, 'spiffe://a.test/w')],
  ])('refuses an identity %s', async (_, own) => {
    await expect(idOf(own)).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    expect(world.server.intercepted).toEqual([]);
  });
});

describe('with the bundle of one trust domain', () => {
  beforeEach(() => start({ 'a.test': [a] }));

  it('serves its identities, also with name constraints that they satisfy', async () => {
    expect(await idOf(named(a, 'spiffe://a.test/web'))).toBe('spiffe://a.test/web');
    expect(await idOf(named(constrained, 'spiffe://a.test/web'))).toBe('spiffe://a.test/web');
  });

  it('refuses the identity of another one that its authority signed', async () => {
    await expect(idOf(named(a, 'spiffe://b.test/web'))).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
    await expect(idOf(named(constrained, 'spiffe://b.test/web'))).rejects.toThrow(
      /UNAVAILABLE|DEADLINE/,
    );
  });
});

it('refuses every client with a map without trust domains', async () => {
  await start({});
  await expect(idOf(named(a, 'spiffe://a.test/web'))).rejects.toThrow(/UNAVAILABLE|DEADLINE/);
});

/** Performs the handshake on an open connection. @returns whether the server then sends its settings of HTTP/2. */
async function isServed(socket: Socket, own: TestCertificate): Promise<boolean> {
  const secured = connectTls({
    socket,
    ALPNProtocols: ['h2'],
    servername: 'localhost',
    rejectUnauthorized: false,
    cert: own.certificateChain,
    key: own.privateKey,
  });
  secured.on('error', () => {});
  const session = connectHttp2('https://localhost', { createConnection: () => secured });
  session.on('error', () => {});
  const isAnswered = await Promise.race([
    once(session, 'remoteSettings').then(() => true),
    once(secured, 'close').then(() => false),
  ]);
  session.destroy();
  return isAnswered;
}

describe('a connection from before a trust domain was removed', () => {
  let early: Socket[];

  beforeEach(async () => {
    await start({ 'a.test': [a], 'b.test': [b] });
    expect(await idOf(named(b, 'spiffe://b.test/web'))).toBe('spiffe://b.test/web');
    early = [connectSocket(world.server.port), connectSocket(world.server.port)];
    await Promise.all(early.map((socket) => once(socket, 'connect')));
    // The server has accepted the ones before it.
    expect(await idOf(named(a, 'spiffe://a.test/web'))).toBe('spiffe://a.test/web');
    world.folder.write('bundles.json', bundleMap({ 'a.test': [a] }));
    await eventually(() => idOf(named(b, 'spiffe://b.test/web')).catch(() => 'refused'), 'refused');
  });
  afterEach(() => {
    for (const socket of early) socket.destroy();
  });

  it('is not one by which its authority vouches for the other trust domain', async () => {
    const [first, second] = early;
    if (first === undefined || second === undefined) throw new Error('no connections');
    expect(await isServed(first, named(b, 'spiffe://a.test/web'))).toBe(false);
    expect(await isServed(second, named(a, 'spiffe://a.test/web'))).toBe(true);
  });
});
