// The security cases of psm-interop: grpc-go's test server as an xDS server, called by our test client and by grpc-go's.
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { credentials } from '@grpc/grpc-js';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { buildTestProgram } from '../go/test-programs.mjs';
import { Child, freePort } from '../harness/children.mjs';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  routeConfig,
  typed,
} from '../harness/resources.mjs';
import { TestClient } from '../harness/test-client.mjs';
import { pollUntil, untilReady } from '../harness/waiting.mjs';
import { testing } from '../lib/test-protos.mjs';
import { makeCertificates } from './certificates.mjs';
import { common, ID, IDENTITY, identity, mutual, ROOTS } from './contexts.mjs';

const SERVICE = 'security.psm.test';
const SERVER_NODE = 'psm-server';
const LISTENER = 'envoy.config.listener.v3.Listener';
const CLUSTER = 'envoy.config.cluster.v3.Cluster';
const TLS = 'envoy.extensions.transport_sockets.tls.v3';
const QPS = 50;

const requiring = {
  require_client_certificate: true,
  ...common({ ...IDENTITY, validation_context: ROOTS }),
};
const offering = common(IDENTITY);
const wanted = { match_subject_alt_names: [{ exact: ID }] };
const unwanted = { match_subject_alt_names: [{ exact: 'spiffe://td.test/ns/a/sa/other' }] };

/**
 * Each: the TLS of the server and of the cluster, and what the connection must have: the certificates of both, of the server
 * (`tls`), or none. With `error`, calls fail at first, and succeed after the cluster is as `mended`.
 */
const CASES = {
  test_mtls: { server: requiring, cluster: mutual(wanted), connection: 'mutual' },
  test_tls: {
    server: offering,
    cluster: common({ validation_context: { ...ROOTS, ...wanted } }),
    connection: 'tls',
  },
  test_plaintext_fallback: { server: undefined, cluster: undefined, connection: 'plain' },
  test_mtls_error: {
    ...{ server: requiring, cluster: identity(undefined), connection: 'mutual' },
    mended: mutual(wanted),
  },
  test_server_authz_error: {
    ...{ server: requiring, cluster: mutual(unwanted), connection: 'mutual' },
    mended: mutual(wanted),
  },
};

const socketOf = (kind, context) =>
  context === undefined
    ? {}
    : {
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: typed(`${TLS}.${kind}`, context),
        },
      };

/** What an xDS server takes its filters and its TLS from (gRFC A36). */
const serverListener = (name, port, context) => {
  const routes = [{ match: { prefix: '' }, non_forwarding_action: {} }];
  const { api_listener } = listener({ name });
  const { http_filters } = api_listener.api_listener;
  const manager = typed(
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    { route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] }, http_filters },
  );
  return {
    name,
    address: { socket_address: { address: '0.0.0.0', port_value: port } },
    filter_chains: [
      {
        filters: [{ name: 'manager', typed_config: manager }],
        ...socketOf('DownstreamTlsContext', context),
      },
    ],
  };
};

/** A control plane, a server and a client of one case. */
class Suite {
  #folder = mkdtempSync(join(tmpdir(), 'grpc-xds-security-'));
  #controlPlane = new ControlPlane();
  #server;
  #client;

  constructor({ encoder, programs }) {
    Object.assign(this, { encoder, programs });
    this.certificates = makeCertificates(join(this.#folder, 'certificates'));
  }

  async start({ server, cluster: context }, client) {
    const { address } = await this.#controlPlane.start();
    this.address = address;
    this.port = await freePort();
    await this.serve(context);
    await this.#startServer(server);
    const flags = { server: `xds:///${SERVICE}`, qps: QPS, secure_mode: true };
    const env = this.#environment('client', 'psm-client', this.certificates.client);
    this.#client = await TestClient.start(this.programs[client], flags, env);
    return this.#client;
  }

  /** Changes the TLS of the cluster. */
  async serve(context) {
    const resource = cluster('security', socketOf('UpstreamTlsContext', context));
    const value = await this.#encode(CLUSTER, resource);
    const snapshot = Snapshot.from({
      listeners: [listener({ name: SERVICE })],
      routes: [routeConfig([anyRoute('security')])],
      endpoints: [assignment('security', { servers: [{ port: this.port }] })],
    }).merge({ resources: [{ typeUrl: typeUrlOf(CLUSTER), name: 'security', value }] });
    const nodeId = 'psm-client';
    this.#controlPlane.setSnapshot(snapshot, { nodeId, allowInconsistent: true });
  }

  async stop() {
    await this.#client?.stop();
    await this.#server?.stop();
    this.#controlPlane.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startServer(context) {
    const name = `server/0.0.0.0:${this.port}`;
    const value = await this.#encode(LISTENER, serverListener(name, this.port, context));
    const resources = [{ typeUrl: typeUrlOf(LISTENER), name, value }];
    this.#controlPlane.setSnapshot(Snapshot.from({}).merge({ resources }), {
      ...{ nodeId: SERVER_NODE, allowInconsistent: true },
    });
    const maintenancePort = await freePort();
    const ports = [`--port=${this.port}`, `--maintenance_port=${maintenancePort}`];
    const args = [...ports, '--secure_mode=true', '--host_name_override=secure'];
    const { spiffe } = this.certificates.servers;
    this.#server = new Child(
      this.programs.server,
      args,
      this.#environment('server', SERVER_NODE, spiffe),
    );
    const address = `127.0.0.1:${maintenancePort}`;
    const probe = new testing.TestService(address, credentials.createInsecure());
    await untilReady(probe, this.#server);
    probe.close();
  }

  #environment(name, id, { certificate, key }) {
    const path = join(this.#folder, `${name}.json`);
    const config = {
      ...{ certificate_file: certificate, private_key_file: key },
      ca_certificate_file: this.certificates.root,
    };
    const server = { server_uri: this.address, channel_creds: [{ type: 'insecure' }] };
    writeFileSync(
      path,
      JSON.stringify({
        xds_servers: [{ ...server, server_features: ['xds_v3'] }],
        node: { id },
        certificate_providers: { mesh: { plugin_name: 'file_watcher', config } },
        server_listener_resource_name_template: 'server/%s',
      }),
    );
    return { GRPC_XDS_BOOTSTRAP: path, GRPC_XDS_BOOTSTRAP_CONFIG: '' };
  }

  async #encode(type, resource) {
    const { value } = await this.encoder.ask({ resource: typed(type, resource) });
    return Buffer.from(value, 'base64');
  }
}

const typeUrlOf = (type) => `type.googleapis.com/${type}`;

const demandEqual = (found, expected, what) => {
  if (found !== expected) throw new Error(`${what}: expected ${expected}, got ${found}`);
};

const nameOf = (bytes) => {
  if (bytes === undefined || bytes === null || bytes.length === 0) return 'none';
  return new X509Certificate(bytes).subject;
};

/** The certificates of the connection, as channelz has them, must be those of the client and the server. */
const checkConnection = async (client, { client: own, servers }, kind) => {
  const sockets = await client.sockets(SERVICE);
  demandEqual(sockets.length, 1, 'connections');
  const [{ security }] = sockets;
  const tls = security?.tls;
  const subject = ({ certificate }) => new X509Certificate(readFileSync(certificate)).subject;
  const remote = kind === 'plain' ? 'none' : subject(servers.spiffe);
  demandEqual(nameOf(tls?.remote_certificate), remote, 'certificate of the server');
  const local = kind === 'mutual' ? subject(own) : 'none';
  demandEqual(nameOf(tls?.local_certificate), local, 'certificate of the client');
};

const runCase = async (suite, { connection, mended, ...config }, clientName) => {
  const client = await suite.start(config, clientName);
  if (mended !== undefined) {
    const { byPeer, failures } = await client.stats(QPS);
    demandEqual(byPeer.size, 0, 'servers that answered');
    demandEqual(failures, QPS, 'failed calls');
    await suite.serve(mended);
  }
  const stats = await pollUntil(
    () => client.stats(QPS),
    ({ byPeer, failures }) => failures === 0 && byPeer.get('secure') === QPS,
  );
  demandEqual(stats.byPeer.get('secure'), QPS, 'answers');
  // grpc-go's channelz has no certificates of connections with these credentials.
  if (clientName === 'node') await checkConnection(client, suite.certificates, connection);
};

const run = async ({ peers, step }) => {
  const encoder = await peers.encoder();
  const own = fileURLToPath(new URL('../bin/grpc-xds-interop-client.mjs', import.meta.url));
  const programs = {
    node: [process.execPath, own],
    go: [buildTestProgram('client')],
    server: [buildTestProgram('server')],
  };
  for (const [name, config] of Object.entries(CASES)) {
    for (const client of ['node', 'go']) {
      await step(`${name}: ${client}`, async () => {
        const suite = new Suite({ encoder, programs });
        try {
          await runCase(suite, config, client);
        } finally {
          await suite.stop();
        }
      });
    }
  }
};

export const securitySuite = [
  {
    name: 'security: the cases of psm-interop with the test server of grpc-go',
    languages: ['go'],
    run,
  },
];
