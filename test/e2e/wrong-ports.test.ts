import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bootstrapFor, simpleResources, registerAnew, useSharedMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { TlsBackend } from '../support/tls-backend';
import { listen } from '../support/listen';

const NOT_GRPC = 'this is not a gRPC port, or it requires TLS';
// A TLS server answers with an alert, or only closes the connection.
const MAYBE_TLS = 'requires TLS';
const NOT_TLS = 'this port is not TLS: use its TLS port, or plaintext (insecure) credentials';
const NO_IP_ADDRESS = 'refuses TLS to an IP address: name the server by a host name';
// The host library gives Node.js the IP address as the server name, which Node.js 26 refuses.
const TLS_TO_PLAINTEXT = Number.parseInt(process.versions.node) < 26 ? NOT_TLS : NO_IP_ADDRESS;
const NOT_HTTP = 'this is not an HTTP/1 port: if it is for gRPC, remove http:// from server_uri';

describe('the error of a connection to a port for something else', () => {
  const certificates = new TestCertificates();
  const authority = certificates.authority('ca');
  const mesh = useSharedMesh();
  let http: Server;
  let tls: TlsBackend;
  let ports: Readonly<Record<'http' | 'tls' | 'grpc', number>>;

  beforeAll(async () => {
    http = createServer((_request, response) => response.end('hello'));
    await listen(http);
    tls = await TlsBackend.start(authority.sign('server', { names: ['IP:127.0.0.1'] }));
    const { port } = await mesh.backend('b1');
    ports = { http: (http.address() as AddressInfo).port, tls: tls.port, grpc: port };
  });
  afterAll(() => {
    registerAnew({});
    http.closeAllConnections();
    http.close();
    tls.stop();
    certificates.close();
  });

  const failureOf = async (uri: string, type: string): Promise<string> => {
    const bootstrap = bootstrapFor(uri);
    const servers = [{ server_uri: uri, channel_creds: [{ type }] }];
    registerAnew({ bootstrap: { ...bootstrap, xds_servers: servers } });
    const client = mesh.client();
    const { details } = await client.failure();
    client.close();
    return details;
  };

  it.each([
    ['HTTP/1', 'http', 'insecure', NOT_GRPC],
    ['TLS', 'tls', 'insecure', MAYBE_TLS],
    ['plaintext', 'grpc', 'tls', TLS_TO_PLAINTEXT],
    ['HTTP/1 without TLS', 'http', 'tls', TLS_TO_PLAINTEXT],
    ['services other than xDS', 'grpc', 'insecure', 'check that server_uri is an xDS management'],
  ] as const)('names a management server for %s', async (_name, kind, creds, advice) => {
    const details = await failureOf(`127.0.0.1:${ports[kind]}`, creds);
    expect(details).toContain(`management server 127.0.0.1:${ports[kind]} (node "test-node")`);
    expect(details).toMatch(new RegExp(`: .*${advice.replace(/[()]/g, '\\$&')}`));
  });

  it('names an http: URL of a gRPC port', async () => {
    const details = await failureOf(`http://127.0.0.1:${ports.grpc}`, 'insecure');
    expect(details).toContain(`: ${NOT_HTTP}`);
  });

  it.each([
    ['http', NOT_GRPC],
    ['tls', MAYBE_TLS],
  ] as const)('names an endpoint: %s', async (kind, advice) => {
    registerAnew({ bootstrap: bootstrapFor(mesh.address) });
    mesh.serve(simpleResources([ports[kind]]));
    const client = mesh.client();
    const { details } = await client.failure();
    client.close();
    expect(details).toContain(`(127.0.0.1:${ports[kind]} in `);
    expect(details).toMatch(
      new RegExp(`\\): .*${advice} \\(failing since [^)]*\\)\\. Resolution note`),
    );
  });
});
