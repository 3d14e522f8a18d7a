import { createReloadingServerCredentials } from '../../../src/server';
import { eventually } from '../../support/eventually';
import { useIdentityWorld, whoAmI } from '../../support/identity-server';
import { revocationList } from '../../support/revocation-lists';
import { TestCertificates, type TestCertificate } from '../../support/test-certificates';
import { bundleMap } from '../../support/trust-bundles';
import {
  callServer,
  clientTls,
  inlineRoutes,
  serverChain,
  strictTls,
  useServerWorld,
} from '../../support/xds-server-world';

type Trust = NonNullable<Parameters<typeof createReloadingServerCredentials>[0]['trust']>;

const certificates = new TestCertificates();
const root = certificates.authority('root');
const middle = root.sign('middle', { isAuthority: true });
const foreign = certificates.authority('foreign');
const serverIdentity = root.sign('server', { names: ['IP:127.0.0.1'] });
const web = middle.sign('web', { names: ['URI:spiffe://td.test/web'] });
const other = middle.sign('other', { names: ['URI:spiffe://td.test/other'] });

const world = useIdentityWorld(certificates);
const mesh = useServerWorld();

async function start(trust: Trust): Promise<void> {
  const files = world.folder.writeIdentity(serverIdentity);
  await world.server.bind(createReloadingServerCredentials({ files, trust }));
}

const idOf = async (own: TestCertificate) =>
  (await whoAmI(world.client(root, own), 1500))?.spiffeId;
const refused = /UNAVAILABLE|DEADLINE/;

const inFile = () => ({ caCertificateFile: world.folder.write('ca.crt', root.certificate) });
const inBundles = () => ({
  spiffeTrustBundleMapFile: world.folder.write(
    'bundles.json',
    bundleMap({ 'td.test': [root], 'other.test': [foreign] }),
  ),
});

describe('a client (gRFC A69)', () => {
  it.each([
    ['of authorities in a file', inFile],
    ['of several trust domains', inBundles],
  ])('%s is refused if its certificate is revoked', async (_, trust) => {
    const crlFile = world.folder.write('crl', String(revocationList(middle, [web])));
    await start({ ...trust(), crlFile });
    await expect(idOf(web)).rejects.toThrow(refused);
    expect(await idOf(other)).toBe('spiffe://td.test/other');
  });

  it('is refused if the authority that signed its certificate is revoked', async () => {
    const crlFile = world.folder.write('crl', String(revocationList(root, [middle])));
    await start({ ...inFile(), crlFile });
    await expect(idOf(web)).rejects.toThrow(refused);
  });

  it('is refused if no list covers it, where that is configured', async () => {
    const crlFile = world.folder.write('crl', String(revocationList(middle)));
    await start({ ...inFile(), crlFile, failRevocationUndetermined: true });
    await expect(idOf(web)).rejects.toThrow(refused);
  });

  it('keeps its connection when it is revoked, and gets no other', async () => {
    const crlFile = world.folder.write('crl', String(revocationList(middle)));
    await start({ ...inFile(), crlFile });
    const connected = world.client(root, web);
    await whoAmI(connected);
    world.folder.write('crl', String(revocationList(middle, [web])));
    const isRefused = () =>
      idOf(web).then(
        () => false,
        () => true,
      );
    await eventually(isRefused, true);
    expect((await whoAmI(connected))?.spiffeId).toBe('spiffe://td.test/web');
  });

  it('of an XdsServer is refused if its certificate is revoked', async () => {
    const crl_file = world.folder.write('crl', String(revocationList(middle, [web])));
    mesh.useCertificates(serverIdentity, root, { crl_file });
    mesh.serve([mesh.listener([serverChain(inlineRoutes(), strictTls())])]);
    await mesh.bind(mesh.server());
    expect(await callServer(mesh.client(clientTls(root, web)))).toMatch(/^UNAVAILABLE/);
    expect(await callServer(mesh.client(clientTls(root, other)))).toBe('OK');
  });

  it.each<[what: string, trust: object]>([
    ['without authorities', { crlFile: 'lists' }],
    ['with an unknown option', { caCertificateFile: 'ca', crl: 'lists' }],
    ['with what is no path', { caCertificateFile: 'ca', crlDirectory: 1 }],
    ['of a file and a directory', { caCertificateFile: 'ca', crlFile: 'a', crlDirectory: 'b' }],
  ])('cannot be checked by lists %s', async (_, trust) => {
    await expect(start(trust as Trust)).rejects.toThrow('createReloadingServerCredentials()');
  });
});
