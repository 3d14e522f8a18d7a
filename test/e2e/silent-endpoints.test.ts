// Endpoints that accept connections and never send the SETTINGS of HTTP/2 (https://github.com/grpc/grpc-node/issues/2785).

import { readFileSync } from 'node:fs';
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
import { bootstrapFor, useSharedMesh } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  lbPolicyJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import { SilentServer } from '../support/silent-server';
import { verifiedTls } from '../support/tls';

const TYPE = 'type.googleapis.com';
const roundRobin = lbPolicyJson('round_robin.v3.RoundRobin');

/** Each leaf policy, as a cluster has it. */
const LEAF_POLICIES: Readonly<Record<string, Json>> = {
  round_robin: roundRobin,
  pick_first: lbPolicyJson('pick_first.v3.PickFirst'),
  least_request: lbPolicyJson('least_request.v3.LeastRequest'),
  ring_hash: lbPolicyJson('ring_hash.v3.RingHash'),
  weighted_round_robin: lbPolicyJson(
    'client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin',
  ),
  random_subsetting: lbPolicyJson('random_subsetting.v3.RandomSubsetting', {
    subset_size: 5,
    child_policy: roundRobin,
  }),
};
const POLICY_NAMES = Object.keys(LEAF_POLICIES);

const SETTINGS = 'the server sent no HTTP/2 SETTINGS within 20 s';
const HANDSHAKE = 'TLS handshake failed: timed out after 20 s';

const certificates = join(__dirname, '../security/credentials/certificates');
const read = (name: string) => readFileSync(join(certificates, name));
const server = { cert: read('server.pem'), key: read('server.key') };

const mesh = useSharedMesh();
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

const policyJson = (name: string): Json => ({ load_balancing_policy: LEAF_POLICIES[name] });

const policyTls = { transport_socket: verifiedTls('ca') };

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
  spare = (await mesh.backend('spare')).port;
  silent = new SilentServer();
  silentTls = new SilentServer(createTlsServer({ ...server, ALPNProtocols: ['h2'] }));
  silentPort = await silent.listen();
  tlsPort = await silentTls.listen();
  serve();
  clock = new FastClock(10);
});

afterAll(() => {
  clock.stop();
  for (const client of clients) client.close();
  silent.close();
  silentTls.close();
});

describe('an endpoint that accepts connections and says nothing', () => {
  it('fails the calls of each policy after 20 s, and is named', async () => {
    const failureOf = async (policy: string) => ({
      policy,
      ...(await clientOf(`only-${policy}`).failure()),
    });
    for (const { policy, code, details } of await Promise.all(POLICY_NAMES.map(failureOf))) {
      expect([policy, code]).toEqual([policy, status.UNAVAILABLE]);
      expect(details).toContain(SETTINGS);
      expect(details).toContain(`127.0.0.1:${silentPort}`);
      expect(details).toContain('check that it serves gRPC on this port');
      expect(details).not.toContain('certificate');
    }
  });

  it.each(['both', 'aggregate'])(
    'leaves all calls to the endpoint that answers: %s',
    async (of) => {
      const answersOf = async (policy: string) => {
        const client = clientOf(`${of}-${policy}`);
        return new Set(await Promise.all(Array.from({ length: 20 }, () => client.say())));
      };
      const answers = await Promise.all(POLICY_NAMES.map(answersOf));
      expect(answers).toEqual(POLICY_NAMES.map(() => new Set(['spare'])));
    },
  );

  it('keeps no call of its sessions', async () => {
    const metadata = new Metadata();
    const address = Buffer.from(`127.0.0.1:${silentPort}`).toString('base64');
    metadata.set('cookie', `session=${address}`);
    const client = clientOf('session');
    expect(await client.say()).toBe('spare');
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

  const xds = () => createXdsChannelCredentials(insecure());
  const ways: readonly (readonly [string, string, () => ChannelCredentials, string])[] = [
    ['plain text', 'plain', insecure, SETTINGS],
    ['TLS of the application, without a handshake', 'plain', application, HANDSHAKE],
    ['TLS of the application, without SETTINGS', 'settings', lenient, SETTINGS],
    ['xDS credentials without TLS', 'plain', xds, SETTINGS],
    ['TLS of the cluster', 'policy', xds, HANDSHAKE],
    ['TLS of the cluster, without SETTINGS', 'policy-settings', xds, SETTINGS],
  ];

  it('has the same time', async () => {
    const bootstrap = { ...bootstrapFor(mesh.address), certificate_providers: { ca: provider } };
    const failureOf = async ([way, name, channel, text]: (typeof ways)[number]) => {
      const client = clientOf(name, channel(), { 'grpc_xds.bootstrap': bootstrap });
      const { code, details } = await client.failure();
      const isExplained = details.includes(text) && details.includes('check that it serves');
      return [way, code, isExplained ? text : details];
    };
    // The address is not part of a cause.
    expect(await Promise.all(ways.map(failureOf))).toEqual(
      ways.map(([way, , , text]) => [way, status.UNAVAILABLE, text]),
    );
  });

  it('closes the connections that it gives up', async () => {
    for (const client of clients.splice(0)) client.close();
    const { connections } = silent;
    const client = clientOf('plain');
    await client.failure();
    await client.failure({ deadlineMs: 5000 });
    expect(silent.connections).toBeGreaterThan(connections);
    expect(silent.sockets.size).toBeLessThan(silent.connections);
  });
});
