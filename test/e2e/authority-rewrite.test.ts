// Routes of a trusted server that choose the authority of calls (gRFCs A81, A111), and servers that report what they got.

import { ChannelCredentials, credentials, Metadata, type ChannelOptions } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { Status } from '../../src/grpc-js';
import type { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { bootstrapFor, Mesh, SERVICE, type MeshResources, registerAnew } from '../support/mesh';
import { TestCertificates } from '../support/test-certificates';
import {
  edsClusterJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { bootstrapWithFiles, serverTls, useFolder, verifiedTls } from '../support/tls';

const TYPE = 'type.googleapis.com/envoy';
const TRUSTED = ['trusted_xds_server'];
const VARIABLES = [
  'GRPC_EXPERIMENTAL_XDS_AUTHORITY_REWRITE',
  'GRPC_EXPERIMENTAL_XDS_LITERAL_AUTHORITY_REWRITE',
];

const certificates = new TestCertificates();
const root = certificates.authority('root');
const backendCertificate = root.sign('backend', {
  names: ['DNS:backend.example', 'DNS:svc.2', 'IP:127.0.0.1', 'URI:spiffe://td/backend'],
});

/** Credentials of an application that secure connections in a way of their own. */
class OpaqueCredentials extends ChannelCredentials {
  _isSecure(): boolean {
    return true;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(
    ...args: Parameters<ChannelCredentials['_createSecureConnector']>
  ): ReturnType<ChannelCredentials['_createSecureConnector']> {
    return credentials.createInsecure()._createSecureConnector(...args);
  }
}

/** An assignment of one endpoint for each port, with its hostname. */
function assignment(cluster: string, hostnames: Readonly<Record<number, string>>): Json {
  const lb_endpoints = Object.entries(hostnames).map(([port, hostname]) => ({
    endpoint: {
      address: { socket_address: { address: '127.0.0.1', port_value: Number(port) } },
      hostname,
    },
  }));
  const locality = { locality: { zone: 'a' }, load_balancing_weight: 1, lb_endpoints };
  return { cluster_name: cluster, endpoints: [locality] };
}

/** A service with one cluster, whose route has these fields. */
function service(
  hostnames: Readonly<Record<number, string>>,
  route: Json,
  cluster: Json = {},
): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('echo', route)])],
    clusters: [edsClusterJson('echo', cluster)],
    endpoints: [assignment('echo', hostnames)],
  };
}

const AUTO = { auto_host_rewrite: true };
const literal = (host_rewrite_literal: string) => ({ host_rewrite_literal });

describe('the authority of calls', () => {
  const mesh = new Mesh({ features: TRUSTED });
  let plain: EchoBackend;

  beforeAll(async () => {
    for (const variable of VARIABLES) process.env[variable] = 'true';
    await mesh.begin();
    plain = await mesh.backend('plain');
  });
  beforeEach(() => registerAnew({ bootstrap: bootstrapFor(mesh.address, TRUSTED) }));
  afterEach(() => mesh.closeClients());
  afterAll(() => {
    mesh.stop();
    certificates.close();
    for (const variable of VARIABLES) Reflect.deleteProperty(process.env, variable);
  });

  const connect = (channelCredentials?: ChannelCredentials, options?: ChannelOptions): EchoClient =>
    mesh.client(options, undefined, channelCredentials);

  /** The authority that the server got with the next call. */
  async function received(client: EchoClient, host?: string): Promise<string> {
    await client.say(host === undefined ? {} : { host });
    return plain.authority;
  }

  it.each<[string, string, Json, string]>([
    ['the default one on a route that does not rewrite it', 'a.example', {}, SERVICE],
    ['the hostname of the endpoint', 'a.example', AUTO, 'a.example'],
    ['the hostname of the endpoint with a port', 'a.example:81', AUTO, 'a.example:81'],
    ['the default one for an endpoint without hostname', '', AUTO, SERVICE],
    ['the literal of the route', 'a.example', literal('b.example'), 'b.example'],
    ['the literal of the route without a hostname', '', literal('b.example'), 'b.example'],
    [
      'a hostname without characters that no authority has',
      'ä b\r\nx: y',
      AUTO,
      '%C3%A4%20b%0D%0Ax:%20y',
    ],
    ['a literal without such characters', '', literal('a/b'), 'a%2Fb'],
  ])('is %s', async (_name, hostname, route, expected) => {
    mesh.serve(service({ [plain.port]: hostname }, route));
    expect(await received(connect())).toBe(expected);
  });

  it('is that of each endpoint', async () => {
    const other = await mesh.backend('other');
    mesh.serve(service({ [plain.port]: 'a.example', [other.port]: 'b.example' }, AUTO));
    const client = connect();
    await eventually(
      () => client.say().then(() => [plain.authority, other.authority]),
      (authorities) => authorities.join() === 'a.example,b.example',
    );
  });

  // 1. An endpoint has a hostname. 2. It gets another one, on the same connection. 3. It has none any more.
  it('follows the hostname of the endpoint', async () => {
    mesh.serve(service({ [plain.port]: 'a.example' }, AUTO));
    const client = connect();
    expect(await received(client)).toBe('a.example');
    const connections = plain.peers.size;
    for (const [hostname, expected] of [
      ['b.example', 'b.example'],
      ['', SERVICE],
    ] as const) {
      mesh.serve(service({ [plain.port]: hostname }, AUTO));
      await eventually(() => received(client), expected);
    }
    expect(plain.peers.size).toBe(connections);
  });

  it('is the name of a LOGICAL_DNS cluster', async () => {
    const socket_address = { address: '127.0.0.1', port_value: plain.port };
    const lb_endpoints = [{ endpoint: { address: { socket_address } } }];
    mesh.serve({
      ...service({}, AUTO),
      clusters: [
        {
          name: 'echo',
          type: 'LOGICAL_DNS',
          lb_policy: 'ROUND_ROBIN',
          load_assignment: { endpoints: [{ lb_endpoints }] },
        },
      ],
    });
    expect(await received(connect())).toBe(`127.0.0.1:${plain.port}`);
  });

  it('is that of the application where a call has one, and not that of a channel option', async () => {
    mesh.serve(service({ [plain.port]: 'a.example' }, AUTO));
    expect(await received(connect(), 'mine.example')).toBe('mine.example');
    const client = connect(undefined, { 'grpc.default_authority': 'channel.example' });
    expect(await received(client)).toBe('a.example');
    expect(await received(client, SERVICE)).toBe(SERVICE);
  });

  it('is rewritten for calls that pass HTTP filters', async () => {
    const fault: Json = {
      name: 'fault',
      typed_config: {
        '@type': `${TYPE}.extensions.filters.http.fault.v3.HTTPFault`,
        abort: { header_abort: {}, percentage: { numerator: 100 } },
      },
    };
    mesh.serve({
      ...service({ [plain.port]: 'a.example' }, AUTO),
      listeners: [listenerJson(SERVICE, undefined, { http_filters: [fault, routerFilter] })],
    });
    const client = connect();
    const metadata = new Metadata();
    metadata.set('x-envoy-fault-abort-grpc-request', '10');
    expect(await client.failure({ metadata })).toMatchObject({ code: Status.ABORTED });
    expect(await received(client)).toBe('a.example');
  });

  it('is the default one if the server is not trusted', async () => {
    registerAnew({ bootstrap: bootstrapFor(mesh.address, []) });
    mesh.serve(service({ [plain.port]: 'a.example' }, AUTO));
    expect(await received(connect())).toBe(SERVICE);
  });

  it('fails the call, and no other one on the connection, if it is too long', async () => {
    const [long, longer] = ['a'.repeat(1024), 'a'.repeat(4096)];
    mesh.serve(service({ [plain.port]: long }, AUTO));
    const client = connect();
    expect(await received(client)).toBe(long);
    const [calls, connections] = [plain.calls, plain.peers.size];
    mesh.serve(service({ [plain.port]: longer }, AUTO));
    const { code, details } = await eventually(
      () => client.failure().catch(() => ({ code: Status.OK, details: '' })),
      (failure) => failure.details !== '',
    );
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain('one of 4096 characters: it may have 1024');
    expect(await received(client, 'mine.example')).toBe('mine.example');
    expect(plain.calls).toBeGreaterThan(calls);
    expect(plain.peers.size).toBe(connections);
  });

  it('fails the call on a connection that counts as secure and shows no certificate', async () => {
    const before = plain.calls;
    mesh.serve(service({ [plain.port]: 'a.example' }, AUTO));
    const client = connect(new OpaqueCredentials());
    expect(await client.failure()).toEqual({
      code: Status.UNAVAILABLE,
      details:
        'the route changed the authority to "a.example", and the certificate of the server is not known',
    });
    expect(plain.calls).toBe(before);
    expect(await received(client, 'mine.example')).toBe('mine.example');
  });

  describe('on connections with TLS', () => {
    let secured: EchoBackend;
    const folder = useFolder();
    const NAMES = { 'grpc.ssl_target_name_override': 'backend.example' };

    beforeAll(async () => {
      secured = await mesh.backend('secured', serverTls(backendCertificate));
    });

    const ca = Buffer.from(root.certificate);
    const tls = () => credentials.createSsl(ca);
    const xds = () => createXdsChannelCredentials(tls());

    it.each([
      ['a name of its certificate', tls, 'backend.example'],
      ['such a name with a port', tls, 'backend.example:443'],
      ['an address of its certificate', tls, '127.0.0.1'],
      ['a name of its certificate, over the fallback of xDS credentials', xds, 'backend.example'],
    ])('is sent to a server if it is %s', async (_name, create, hostname) => {
      mesh.serve(service({ [secured.port]: hostname }, AUTO));
      expect(await connect(create(), NAMES).say()).toBe('secured');
      expect(secured.authority).toBe(hostname);
    });

    // Node.js takes a name that ends with a number for an IP address, which this is not.
    it.each([['svc.2'], ['svc.2:99999']])(
      'is %s, as is the name that certificates are compared with, though no URL can have it',
      async (name) => {
        mesh.serve({
          ...service({ [secured.port]: '' }, {}),
          listeners: [listenerJson(name, `${SERVICE}-routes`)],
        });
        const client = mesh.client({}, `xds:///${name}`, tls());
        expect(await client.say()).toBe('secured');
        expect(secured.authority).toBe(name);
      },
    );

    it('is sent under policies that wrap connections', async () => {
      const cluster = { lb_policy: 'LEAST_REQUEST', outlier_detection: {} };
      mesh.serve(service({ [secured.port]: 'backend.example' }, AUTO, cluster));
      for (const create of [tls, xds]) {
        secured.authority = '';
        expect(await connect(create(), NAMES).say()).toBe('secured');
        expect(secured.authority).toBe('backend.example');
      }
    });

    it.each([
      ['TLS credentials', tls],
      ['the TLS fallback of xDS credentials', xds],
    ])('fails the call with %s if it is no name of the certificate', async (_name, create) => {
      const before = secured.calls;
      mesh.serve(service({ [secured.port]: 'other.example' }, AUTO));
      const client = connect(create(), NAMES);
      for (let call = 0; call < 2; call++) {
        const { code, details } = await client.failure();
        expect(code).toBe(Status.UNAVAILABLE);
        expect(details).toContain(
          'the route changed the authority to "other.example", which the certificate of the server is not for: ',
        );
        expect(details).toContain('DNS:backend.example');
      }
      expect(secured.calls).toBe(before);
      expect(await client.say({ host: 'mine.example' })).toBe('secured');
      expect(secured.authority).toBe('mine.example');
      mesh.serve(service({ [secured.port]: 'other.example' }, literal('backend.example')));
      await eventually(() => client.say().catch(() => ''), 'secured');
    });

    it('is compared by the function of the application, if its credentials have one', async () => {
      const compared: string[] = [];
      const checkServerIdentity = (host: string) => {
        compared.push(host);
        return undefined;
      };
      mesh.serve(service({ [secured.port]: 'other.example:80' }, AUTO));
      const client = connect(credentials.createSsl(ca, null, null, { checkServerIdentity }));
      await client.say();
      await client.say();
      expect(secured.authority).toBe('other.example:80');
      expect(compared).toEqual(['echo.test', 'other.example']);
    });

    it('is not compared under the policy of the cluster, which has its own rule', async () => {
      const ca_certificate_file = folder.write('ca.pem', root.certificate);
      const files = { mesh: { ca_certificate_file } };
      registerAnew({ bootstrap: bootstrapWithFiles(mesh.address, files, TRUSTED) });
      const transport_socket = verifiedTls('mesh', ['spiffe://td/backend']);
      mesh.serve(service({ [secured.port]: 'other.example' }, AUTO, { transport_socket }));
      expect(await connect(xds()).say()).toBe('secured');
      expect(secured.authority).toBe('other.example');
    });
  });
});
