// Clusters whose endpoints are behind a real HTTP proxy (gRFC A86), under each kind of credentials.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  credentials,
  Metadata,
  ServerCredentials,
  type ChannelCredentials,
} from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { Status } from '../../src/grpc-js';
import { EchoBackend, EchoClient, echoMethod } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { HttpProxy } from '../support/http-proxy';
import { bootstrapFor, Mesh, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import { edsClusterJson, listenerJson, routerFilter, type Json } from '../support/xds-json';

const certificates = new TestCertificates();
const root = certificates.authority('root');
// The name that the application's own credentials check is that of the target.
const certificate = root.sign('backend', { names: ['DNS:echo.test', 'URI:spiffe://td/backend'] });

const TYPE = 'type.googleapis.com/envoy';
const KEY = 'envoy.http11_proxy_transport_socket.proxy_address';

const tlsSocket: Json = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPE}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
    common_tls_context: {
      validation_context: {
        ca_certificate_provider_instance: { instance_name: 'mesh' },
        match_typed_subject_alt_names: [
          { san_type: 'URI', matcher: { exact: 'spiffe://td/backend' } },
        ],
      },
    },
  },
};
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
  let mesh: Mesh;
  let proxy: HttpProxy;
  let backend: EchoBackend;
  let secure: EchoBackend;
  let folder: string;
  const clients: EchoClient[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'http-connect-'));
    writeFileSync(join(folder, 'ca.pem'), root.certificate);
    backend = await EchoBackend.start('plain');
    const pair = {
      cert_chain: Buffer.from(certificate.certificateChain),
      private_key: Buffer.from(certificate.privateKey),
    };
    secure = await EchoBackend.start('secure', ServerCredentials.createSsl(null, [pair]));
  });
  afterAll(() => {
    backend.stop();
    secure.stop();
    certificates.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(async () => {
    mesh = await Mesh.start();
    const config = { ca_certificate_file: join(folder, 'ca.pem') };
    const providers = { mesh: { plugin_name: 'file_watcher', config } };
    registerAnew({
      bootstrap: { ...bootstrapFor(mesh.address), certificate_providers: providers },
    });
    proxy = await new HttpProxy().start();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
    mesh.stop();
    proxy.stop();
  });

  function connect(channelCredentials: ChannelCredentials): EchoClient {
    const client = new EchoClient(`xds:///${SERVICE}`, {}, channelCredentials);
    clients.push(client);
    return client;
  }
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

  it('does not lose what the server sends together with the answer of the proxy', async () => {
    proxy.waitsForServer = true;
    mesh.serve(resources([endpointAt(backend.port, proxyAt(proxy.port))]));
    expect(await connect(insecure()).say()).toBe('plain');
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
    await eventually(
      async () => answers.add(await client.say()).size,
      (size) => size === 2,
    );
    expect(own.targets).toEqual([`127.0.0.1:${backend.port}`]);
    expect(proxy.targets).toEqual([`127.0.0.1:${other.port}`]);
    own.stop();
  });

  // The proxy is asked for an address that has no server: what it is asked for is what counts.
  it('writes IPv6 addresses of endpoints with brackets', async () => {
    proxy.status = 502;
    mesh.serve(resources([endpointAt(443, proxyAt(proxy.port), '::1')]));
    const { details } = await connect(insecure()).failure();
    expect(proxy.targets[0]).toBe('[::1]:443');
    expect(details).toContain('the proxy answered with status 502 ([::1]:443 in ');
  });

  it.each([
    ['insecure credentials', insecure],
    ['xDS credentials', xds],
  ])('fails calls with the status of the proxy that refuses, with %s', async (_case, create) => {
    proxy.status = 403;
    const before = backend.calls;
    mesh.serve(resources([endpointAt(backend.port, proxyAt(proxy.port))]));
    const { code, details } = await connect(create()).failure();
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain(
      `HTTP proxy 127.0.0.1:${proxy.port}: the proxy answered with status 403 (127.0.0.1:${backend.port} in `,
    );
    expect(details).toContain(': its rules do not allow a connection to this endpoint');
    expect(backend.calls).toBe(before);
  });

  it.each([
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
    await eventually(
      async () => {
        await client.say();
        return other.targets.length;
      },
      (count) => count === 1,
    );
    const peers = backend.peers.size;
    mesh.serve(resources([endpointAt(backend.port)]));
    await eventually(
      async () => {
        await client.say();
        return backend.peers.size;
      },
      (count) => count === peers + 1,
    );
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
    await eventually(
      () => client.say(),
      (answer) => answer === 'other',
    );
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
    await eventually(
      () => client.say(),
      (answer) => answer === 'other',
    );
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

  it('connects one endpoint once for each proxy, in channels that share connections', async () => {
    mesh.serve(resources([endpointAt(backend.port, proxyAt(proxy.port))]));
    expect(await connect(insecure()).say()).toBe('plain');
    expect(await connect(insecure()).say()).toBe('plain');
    expect(proxy.targets).toHaveLength(1);
  });

  // Sessions, load reports and outlier detection know endpoints by their address, whatever the proxy.
  it('binds sessions to endpoints, and not to their proxy', async () => {
    const other = await mesh.backend('other');
    const cookie = {
      '@type': `${TYPE}.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState`,
      cookie: { name: 'session' },
    };
    const session: Json = {
      name: 'session',
      typed_config: {
        '@type': `${TYPE}.extensions.filters.http.stateful_session.v3.StatefulSession`,
        session_state: { name: 'cookie', typed_config: cookie },
      },
    };
    mesh.serve({
      ...resources([endpointAt(backend.port), endpointAt(other.port)], proxyAt(proxy.port)),
      listeners: [
        listenerJson(SERVICE, `${SERVICE}-routes`, { http_filters: [session, routerFilter] }),
      ],
    });
    const names = new Map([
      [backend.port, 'plain'],
      [other.port, 'other'],
    ]);
    const client = connect(insecure());
    const { path, requestSerialize, responseDeserialize } = echoMethod;
    const raw = new Client(`xds:///${SERVICE}`, insecure());
    const start = () =>
      new Promise<string>((resolve, reject) => {
        raw
          .makeUnaryRequest(
            path,
            requestSerialize,
            responseDeserialize,
            Buffer.from(''),
            (error) => (error === null ? undefined : reject(error)),
          )
          .on('metadata', (headers) => resolve(String(headers.get('set-cookie')[0])));
      });
    for (let session = 0; session < 4; session++) {
      const [, value = ''] = /^"?session="?([^;"]*)/.exec(await start()) ?? [];
      const [, port] = /^127\.0\.0\.1:(\d+);/.exec(Buffer.from(value, 'base64').toString()) ?? [];
      const metadata = new Metadata();
      metadata.set('cookie', `session=${value}`);
      const name = names.get(Number(port));
      expect(name).toBeDefined();
      for (let call = 0; call < 4; call++) expect(await client.say({ metadata })).toBe(name);
    }
    raw.close();
    expect(new Set(proxy.targets)).toEqual(
      new Set([`127.0.0.1:${backend.port}`, `127.0.0.1:${other.port}`]),
    );
  });
});
