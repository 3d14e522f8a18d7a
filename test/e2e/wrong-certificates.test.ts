import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrapFor, Mesh, registerAnew } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { TlsBackend } from '../support/tls-backend';

const names = ['DNS:localhost'];

describe('the error of a management server', () => {
  const certificates = new TestCertificates();
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-authorities-'));
  const caFile = join(folder, 'ca.pem');
  const authority = certificates.authority('ca');
  let mesh: Mesh;
  let server: TlsBackend | undefined;

  beforeAll(async () => {
    writeFileSync(caFile, authority.certificate);
    mesh = await Mesh.start();
  });
  afterEach(() => server?.stop());
  afterAll(() => {
    registerAnew({});
    mesh.stop();
    certificates.close();
    rmSync(folder, { recursive: true });
  });

  it.each([
    [
      'of another authority',
      () => certificates.authority('other').sign('server', { names }),
      'compare the issuer of its certificate with the trusted CA certificates',
    ],
    [
      'that has expired',
      () => authority.sign('server', { names, validity: ['20200101000000Z', '20200102000000Z'] }),
      'renew the certificate of the server, and check the clock of this host',
    ],
    [
      'for another name',
      () => authority.sign('server', { names: ['DNS:elsewhere.test'] }),
      'connect by a name that the certificate has, or issue one that has this name',
    ],
  ])('with a certificate %s says what to do', async (_name, certificate, advice) => {
    server = await TlsBackend.start(certificate());
    const uri = `localhost:${server.port}`;
    const creds = { type: 'tls', config: { ca_certificate_file: caFile } };
    const xds_servers = [{ server_uri: uri, channel_creds: [creds] }];
    registerAnew({ bootstrap: { ...bootstrapFor(uri), xds_servers } });
    const { details } = await mesh.client().failure();
    expect(details).toContain(`management server ${uri} (node "test-node") cannot be reached: `);
    expect(details).toContain(`: ${advice}`);
  });
});
