// Clusters whose endpoints are behind a real HTTP proxy (gRFC A86), under each kind of credentials.

import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { HttpProxy } from '../support/http-proxy';
import { simpleResources, registerAnew, useMesh } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { edsClusterJson, type Json } from '../support/xds-json';
import { bootstrapWithFiles, serverTls, useFolder, verifiedTls } from '../support/tls';

const certificates = new TestCertificates();
const root = certificates.authority('root');
// The name that the application's own credentials check is that of the target.
const certificate = root.sign('backend', { names: ['DNS:echo.test', 'URI:spiffe://td/backend'] });

const TYPE = 'type.googleapis.com/envoy';
const KEY = 'envoy.http11_proxy_transport_socket.proxy_address';

const tlsSocket = verifiedTls('mesh', ['spiffe://td/backend']);
const proxySocket = (transport_socket?: Json): Json => ({
  name: 'envoy.transport_sockets.http_11_proxy',
  typed_config: {
    '@type': `${TYPE}.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport`,
    ...(transport_socket && { transport_socket }),
  },
});
const proxyAt = (port_value: number, address = '127.0.0.1'): Json => ({
  typed_filter_metadata: {
    [KEY]: {
      '@type': `${TYPE}.config.core.v3.Address`,
      socket_address: { address, port_value },
    },
  },
});
const endpointAt = (port_value: number, metadata?: Json, address = '127.0.0.1'): Json => ({
  endpoint: { address: { socket_address: { address, port_value } } },
  ...(metadata && { metadata }),
});
const resources = (endpoints: readonly Json[], metadata?: Json, socket = proxySocket()) => ({
  ...simpleResources([]),
  clusters: [edsClusterJson('echo', { transport_socket: socket })],
  endpoints: [
    {
      cluster_name: 'echo',
      endpoints: [
        {
          locality: { zone: 'a' },
          load_balancing_weight: 1,
          lb_endpoints: endpoints,
          ...(metadata && { metadata }),
        },
      ],
    },
  ],
});

describe('a cluster behind an HTTP proxy', () => {
  const mesh = useMesh();
  let proxy: HttpProxy;
  let backend: EchoBackend;
  let secure: EchoBackend;
  const folder = useFolder();

  beforeAll(async () => {
    folder.write('ca.pem', root.certificate);
    backend = await EchoBackend.start('plain');
    secure = await EchoBackend.start('secure', serverTls(certificate));
  });
  afterAll(() => {
    backend.stop();
    secure.stop();
    certificates.close();
  });
  beforeEach(async () => {
    const files = { mesh: { ca_certificate_file: folder.path('ca.pem') } };
    registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files) });
    proxy = await new HttpProxy().start();
  });
  afterEach(() => proxy.stop());

  const connect = (own: ChannelCredentials) => mesh.client({}, undefined, own);
  const insecure = () => credentials.createInsecure();
  const xds = () => createXdsChannelCredentials(insecure());

  it.each([
    ['insecure credentials', insecure],
    ['xDS credentials without a security configuration', xds],
  ])('is called through the proxy with %s', async (_case, create) => {
    mesh.serve(resources([endpointAt(backend.port, proxyAt(proxy.port))]));
    expect(await connect(create()).say()).toBe('plain');
    expect(proxy.targets).toEqual([`127.0.0.1:${backend.port}`]);
  });

  it('is called through the proxy by TLS as the control plane configures it', async () => {
    mesh.serve(
      resources([endpointAt(secure.port, proxyAt(proxy.port))], undefined, proxySocket(tlsSocket)),
    );
    expect(await connect(xds()).say()).toBe('secure');
    expect(proxy.targets).toEqual([`127.0.0.1:${secure.port}`]);
  });

  it('is called through the proxy by TLS of the application, which checks the name of the target', async () => {
    mesh.serve(resources([endpointAt(secure.port, proxyAt(proxy.port))]));
    const ssl = credentials.createSsl(Buffer.from(root.certificate));
    expect(await connect(ssl).say()).toBe('secure');
    expect(proxy.targets).toEqual([`127.0.0.1:${secure.port}`]);
  });

  it('is called directly if neither endpoint nor locality has a proxy, or the cluster uses none', async () => {
    mesh.serve(resources([endpointAt(backend.port)]));
    expect(await connect(insecure()).say()).toBe('plain');
    mesh.serve({
      ...resources([endpointAt(backend.port, proxyAt(proxy.port))]),
      clusters: [edsClusterJson('echo')],
    });
    expect(await connect(insecure()).say()).toBe('plain');
    expect(proxy.targets).toEqual([]);
  });

  it('is called through the proxy of the locality, unless the endpoint has its own', async () => {
    const own = await new HttpProxy().start('::1');
    const other = await mesh.backend('other');
    mesh.serve(
      resources(
        [endpointAt(backend.port, proxyAt(own.port, '::1')), endpointAt(other.port)],
        proxyAt(proxy.port),
      ),
    );
    const client = connect(insecure());
    const answers = new Set<string>();
    await eventually(async () => answers.add(await client.say()).size, 2);
    expect(own.targets).toEqual([`127.0.0.1:${backend.port}`]);
    expect(proxy.targets).toEqual([`127.0.0.1:${other.port}`]);
    own.stop();
  });

  it.each([
    [403, /status 403 \(.*\): its rules do not allow a connection to this endpoint/],
    [407, /status 407 \(.*\): it demands credentials, which this client does not have/],
    [502, /status 502 \(.*\): it cannot connect to the endpoint: see its log/],
    [undefined, /connect ECONNREFUSED \(.*\): check that the proxy runs and listens there/],
  ])('names the proxy and what to check, once for all endpoints: %s', async (answer, expected) => {
    proxy.status = answer ?? 200;
    if (answer === undefined) proxy.stop();
    const ports = [backend.port, 1, 2, 3, 4];
    mesh.serve(resources(ports.map((port) => endpointAt(port, proxyAt(proxy.port)))));
    const client = connect(insecure());
    const { details } = await eventually(
      () => client.failure(),
      (failure) => failure.details.includes('and 4 more'),
    );
    expect(details).toMatch(expected);
    expect(details).toContain(`Last error: HTTP proxy 127.0.0.1:${proxy.port}: `);
  });

  // 1. One proxy. 2. Another one, then none: new calls use it, none over a connection made before.
  it('makes new connections when the proxy of an endpoint changes', async () => {
    const other = await new HttpProxy().start();
    mesh.serve(resources([endpointAt(backend.port, proxyAt(proxy.port))]));
    const client = connect(insecure());
    expect(await client.say()).toBe('plain');
    mesh.serve(resources([endpointAt(backend.port, proxyAt(other.port))]));
    await eventually(async () => {
      await client.say();
      return other.targets.length;
    }, 1);
    const peers = backend.peers.size;
    mesh.serve(resources([endpointAt(backend.port)]));
    await eventually(async () => {
      await client.say();
      return backend.peers.size;
    }, peers + 1);
    expect([proxy.targets.length, other.targets.length]).toEqual([1, 1]);
    other.stop();
  });

  // 1. One endpoint. 2. The cluster, the proxy of the locality and another endpoint change, which is seen by its calls.
  it('keeps its connection over updates in which its proxy stays', async () => {
    const endpoint = endpointAt(backend.port, proxyAt(proxy.port));
    mesh.serve(resources([endpoint]));
    const client = connect(insecure());
    expect(await client.say()).toBe('plain');
    const other = await mesh.backend('other');
    const circuit_breakers = { thresholds: [{ max_requests: 5 }] };
    mesh.serve({
      ...resources([endpoint, endpointAt(other.port)], proxyAt(proxy.port)),
      clusters: [edsClusterJson('echo', { transport_socket: proxySocket(), circuit_breakers })],
    });
    await eventually(() => client.say(), 'other');
    for (let call = 0; call < 20; call++) await client.say();
    expect(proxy.targets).toEqual([`127.0.0.1:${backend.port}`, `127.0.0.1:${other.port}`]);
  });

  it('keeps the connections to other endpoints when the proxy of one changes', async () => {
    const [next, other] = [await new HttpProxy().start(), await mesh.backend('other')];
    const serve = ({ port }: HttpProxy) =>
      mesh.serve(
        resources([
          endpointAt(backend.port, proxyAt(port)),
          endpointAt(other.port, proxyAt(proxy.port)),
        ]),
      );
    serve(proxy);
    const client = connect(insecure());
    await eventually(() => client.say(), 'other');
    serve(next);
    await eventually(
      async () => {
        await client.say();
        return next.targets.length;
      },
      (count) => count > 0,
    );
    for (let call = 0; call < 10; call++) await client.say();
    expect(next.targets).toEqual([`127.0.0.1:${backend.port}`]);
    expect(other.peers.size).toBe(1);
    next.stop();
  });
});
