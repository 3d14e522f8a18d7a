// A trusted control plane that names the certificates for an authorization server (gRFC A102), with real TLS.

import type { ServerCredentials } from '@grpc/grpc-js';
import { AuthorizationServer, extAuthzJson } from '../support/authorization-server';
import { SERVICE, registerAnew, simpleResources, useMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { bootstrapWithFiles, serverTls, useFolder } from '../support/tls';
import { listenerJson, routerFilter, type Json } from '../support/xds-json';

jest.setTimeout(60_000);

const VARIABLE = 'GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT';

describe('an authorization server with TLS', () => {
  beforeAll(() => {
    process.env[VARIABLE] = 'true';
  });
  const mesh = useMesh();
  const folder = useFolder();
  const certificates = new TestCertificates();
  const root = certificates.authority('root');
  const otherRoot = certificates.authority('other root');
  const identity = root.sign('authz', { names: ['DNS:localhost'] });
  const client = root.sign('client');
  let server: AuthorizationServer | undefined;

  beforeEach(() => {
    const files = {
      right: { ca_certificate_file: folder.write('ca.pem', root.certificate) },
      wrong: { ca_certificate_file: folder.write('other.pem', otherRoot.certificate) },
      client: {
        certificate_file: folder.write('client.pem', client.certificateChain),
        private_key_file: folder.write('client.key', client.privateKey),
      },
    };
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files, ['trusted_xds_server']) });
  });
  afterEach(() => server?.stop());
  afterAll(() => {
    delete process.env.GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT;
    certificates.close();
  });

  /** Makes a call that the server allows. @returns the answer, or the error. */
  async function call(given: {
    readonly tls?: ServerCredentials;
    readonly host?: string;
    readonly instances: Json;
  }): Promise<string> {
    const { tls = serverTls(identity), host = 'localhost', instances } = given;
    server = await AuthorizationServer.start(tls);
    const type = 'type.googleapis.com/envoy.extensions.grpc_service.channel_credentials.tls.v3';
    const plugin = { '@type': `${type}.TlsCredentials`, ...instances };
    const google_grpc = {
      target_uri: `dns:///${host}:${server.port}`,
      channel_credentials_plugin: [plugin],
    };
    const typed_config = extAuthzJson(server.target, {}, { google_grpc, timeout: '5s' });
    mesh.serve({
      ...simpleResources([(await mesh.backend('one')).port]),
      listeners: [
        listenerJson(SERVICE, undefined, {
          http_filters: [{ name: 'authz', typed_config }, routerFilter],
        }),
      ],
    });
    return mesh
      .client()
      .say()
      .catch(({ details }: { details: string }) => details);
  }
  const instance = (instance_name: string) => ({ instance_name });
  const right = { root_certificate_provider: instance('right') };

  it('is asked if the root has signed its certificate', async () => {
    expect(await call({ instances: right })).toBe('one');
    expect(server?.checks).toHaveLength(1);
  });

  it('is not asked if another root has', async () => {
    const instances = { root_certificate_provider: instance('wrong') };
    expect(await call({ instances })).toMatch(/UNAVAILABLE: .*unable to get local issuer/);
    expect(server?.checks).toEqual([]);
  });

  it('is not asked if its certificate is for another host', async () => {
    const answer = await call({ host: '127.0.0.1', instances: right });
    expect(answer).toMatch(/UNAVAILABLE: .*127\.0\.0\.1/);
    expect(server?.checks).toEqual([]);
  });

  it('gets the client certificate that it requires', async () => {
    const instances = { ...right, identity_certificate_provider: instance('client') };
    const tls = serverTls(identity, root.certificate);
    expect(await call({ tls, instances })).toBe('one');
  });

  it('is not asked without the client certificate that it requires', async () => {
    const tls = serverTls(identity, root.certificate);
    expect(await call({ tls, instances: right })).toMatch(/UNAVAILABLE: .*certificate/);
    expect(server?.checks).toEqual([]);
  });
});
