// Endpoints that accept connections and never send the SETTINGS of HTTP/2 (https://github.com/grpc/grpc-node/issues/2785).

import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import {
  credentials,
  Metadata,
  status,
  type ChannelCredentials,
  type ChannelOptions,
} from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { EchoClient } from '../support/echo-backend';
import { aggregateJson } from '../support/failover';
import { FastClock } from '../support/fast-clock';
import { bootstrapFor, Mesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';

const TYPE = 'type.googleapis.com';
const POLICIES = `${TYPE}/envoy.extensions.load_balancing_policies`;

/** Each leaf policy, as a cluster has it. */
const LEAF_POLICIES: Readonly<Record<string, Json>> = {
  round_robin: { '@type': `${POLICIES}.round_robin.v3.RoundRobin` },
  pick_first: { '@type': `${POLICIES}.pick_first.v3.PickFirst` },
  least_request: { '@type': `${POLICIES}.least_request.v3.LeastRequest` },
  ring_hash: { '@type': `${POLICIES}.ring_hash.v3.RingHash` },
  weighted_round_robin: {
    '@type': `${POLICIES}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin`,
  },
  random_subsetting: {
    '@type': `${POLICIES}.random_subsetting.v3.RandomSubsetting`,
    subset_size: 5,
    child_policy: {
      policies: [
        {
          typed_extension_config: {
            name: 'child',
            typed_config: { '@type': `${POLICIES}.round_robin.v3.RoundRobin` },
          },
        },
      ],
    },
  },
};
const POLICY_NAMES = Object.keys(LEAF_POLICIES);

const SETTINGS = 'the server sent no HTTP/2 SETTINGS within 20 s';
const HANDSHAKE = 'TLS handshake failed: timed out after 20 s';

const certificates = join(__dirname, '../security/credentials/certificates');
const read = (name: string) => readFileSync(join(certificates, name));
const server = { cert: read('server.pem'), key: read('server.key') };

/** A server that takes connections and never says a word. */
class SilentServer {
  /** How many connections it has accepted. */
  accepted = 0;
  readonly sockets = new Set<Socket>();
  readonly port: Promise<number>;

  constructor(private readonly server: Server) {
    server.on('tlsClientError', () => undefined);
    server.on('connection', (socket: Socket) => {
      this.accepted++;
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.sockets.delete(socket));
      socket.resume();
    });
    this.port = new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

let mesh: Mesh;
let clock: FastClock;
let silent: SilentServer;
let silentTls: SilentServer;
let silentPort: number;
let tlsPort: number;
let spare: number;
const clients: EchoClient[] = [];

function clientOf(
  name: string,
  channel?: ChannelCredentials,
  options: ChannelOptions = {},
): EchoClient {
  const client = new EchoClient(`xds:///${name}`, options, channel);
  clients.push(client);
  return client;
}

function policyJson(name: string): Json {
  const config = { name, typed_config: LEAF_POLICIES[name] };
  return { load_balancing_policy: { policies: [{ typed_extension_config: config }] } };
}

const tlsSocket: Json = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
    common_tls_context: {
      validation_context: { ca_certificate_provider_instance: { instance_name: 'ca' } },
    },
  },
};
const policyTls = { transport_socket: tlsSocket };

const sessionFilter: Json = {
  name: 'session',
  typed_config: {
    '@type': `${TYPE}/envoy.extensions.filters.http.stateful_session.v3.StatefulSession`,
    session_state: {
      name: 'cookie',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState`,
        cookie: { name: 'session' },
      },
    },
  },
};

/** A service that has its own cluster, with these endpoints. */
interface Service {
  readonly name: string;
  readonly ports: readonly number[];
  readonly cluster?: Json;
  readonly listener?: Json;
}

function serve(): void {
  const services: readonly Service[] = [
    ...POLICY_NAMES.flatMap((policy) => [
      { name: `only-${policy}`, ports: [silentPort], cluster: policyJson(policy) },
      { name: `both-${policy}`, ports: [silentPort, spare], cluster: policyJson(policy) },
    ]),
    { name: 'spare', ports: [spare] },
    { name: 'plain', ports: [silentPort] },
    { name: 'policy', ports: [silentPort], cluster: policyTls },
    { name: 'policy-settings', ports: [tlsPort], cluster: policyTls },
    { name: 'settings', ports: [tlsPort] },
    {
      name: 'session',
      ports: [silentPort, spare],
      listener: { http_filters: [sessionFilter, routerFilter] },
    },
  ];
  const aggregates = POLICY_NAMES.map((policy) => `aggregate-${policy}`);
  mesh.serve({
    listeners: [
      ...services.map(({ name, listener }) => listenerJson(name, undefined, listener)),
      ...aggregates.map((name) => listenerJson(name)),
    ],
    routes: [...services.map(({ name }) => name), ...aggregates].map((name) =>
      routeConfigJson(`${name}-routes`, [routeToCluster(name)]),
    ),
    clusters: [
      ...services.map(({ name, cluster }) => edsClusterJson(name, cluster)),
      ...POLICY_NAMES.map((policy) =>
        aggregateJson(`aggregate-${policy}`, [`only-${policy}`, 'spare']),
      ),
    ],
    endpoints: services.map(({ name, ports }) => endpointsJson(name, [{ zone: 'a', ports }])),
  });
}

beforeAll(async () => {
  mesh = await Mesh.start();
  spare = (await mesh.backend('spare')).port;
  silent = new SilentServer(createServer());
  silentTls = new SilentServer(createTlsServer({ ...server, ALPNProtocols: ['h2'] }));
  silentPort = await silent.port;
  tlsPort = await silentTls.port;
  serve();
  clock = new FastClock(10);
});

afterAll(() => {
  clock.stop();
  for (const client of clients) client.close();
  silent.stop();
  silentTls.stop();
  mesh.stop();
});

describe('an endpoint that accepts connections and says nothing', () => {
  it.each(POLICY_NAMES)('fails the calls of %s after 20 s, and is named', async (policy) => {
    const { code, details } = await clientOf(`only-${policy}`).failure();
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain(SETTINGS);
    expect(details).toContain(`127.0.0.1:${silentPort}`);
    expect(details).toContain('check that it serves gRPC on this port');
    expect(details).not.toContain('certificate');
  });

  it.each(POLICY_NAMES)('leaves all calls of %s to the endpoint that answers', async (policy) => {
    const client = clientOf(`both-${policy}`);
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.say()));
    expect(new Set(answers)).toEqual(new Set(['spare']));
  });

  it.each(POLICY_NAMES)('leaves all calls of %s to a spare cluster', async (policy) => {
    expect(await clientOf(`aggregate-${policy}`).say()).toBe('spare');
  });

  it('keeps no call of its sessions', async () => {
    const metadata = new Metadata();
    const address = Buffer.from(`127.0.0.1:${silentPort}`).toString('base64');
    metadata.set('cookie', `session=${address}`);
    const client = clientOf('session');
    const { details } = await client.failure({ metadata, deadlineMs: 200 });
    expect(details).toMatch(
      new RegExp(
        `the endpoint of the call's session is not connected; 127\\.0\\.0\\.1:${silentPort} has been connecting for`,
      ),
    );
    expect(await client.say({ metadata })).toBe('spare');
  });
});

describe('each way to secure a connection', () => {
  const provider = {
    plugin_name: 'file_watcher',
    config: { ca_certificate_file: join(certificates, 'ca.pem') },
  };
  const insecure = () => credentials.createInsecure();
  const application = () => credentials.createSsl(read('ca.pem'));
  const options = { checkServerIdentity: () => undefined };
  const lenient = () => credentials.createSsl(read('ca.pem'), null, null, options);

  it.each<[string, string, () => ChannelCredentials, string]>([
    ['plain text', 'plain', insecure, SETTINGS],
    ['TLS of the application, without a handshake', 'plain', application, HANDSHAKE],
    ['TLS of the application, without SETTINGS', 'settings', lenient, SETTINGS],
    [
      'xDS credentials without TLS',
      'plain',
      () => createXdsChannelCredentials(insecure()),
      SETTINGS,
    ],
    ['TLS of the cluster', 'policy', () => createXdsChannelCredentials(insecure()), HANDSHAKE],
    [
      'TLS of the cluster, without SETTINGS',
      'policy-settings',
      () => createXdsChannelCredentials(insecure()),
      SETTINGS,
    ],
  ])('has the same time: %s', async (_, name, channel, text) => {
    const bootstrap = { ...bootstrapFor(mesh.address), certificate_providers: { ca: provider } };
    const client = clientOf(name, channel(), { 'grpc_xds.bootstrap': bootstrap });
    const { code, details } = await client.failure();
    expect(code).toBe(status.UNAVAILABLE);
    // The address is not part of a cause.
    expect(details).toContain(text);
    expect(details).toContain('check that it serves');
  });

  it('closes the connections that it gives up', async () => {
    for (const client of clients.splice(0)) client.close();
    const { accepted } = silent;
    const client = clientOf('plain');
    await client.failure();
    await client.failure({ deadlineMs: 5000 });
    expect(silent.accepted).toBeGreaterThan(accepted);
    expect(silent.sockets.size).toBeLessThan(silent.accepted);
  });
});
