// Certificates, keys and authorities for our client from the secret discovery service of go-control-plane, and servers of
// grpc-go that require certificates.
import { readFileSync } from 'node:fs';
import {
  anyRoute,
  assignment,
  cluster,
  listener,
  routeConfig,
  typed,
} from '../harness/resources.mjs';
import { meshCertificates } from '../harness/secure-service.mjs';
import { call, demand, isOnly, until, untilOnly } from './judging.mjs';

const SERVICE = 'secret-discovery.test';
const TARGET = `xds:///${SERVICE}`;
const NODE = 'node';
const TLS = 'envoy.extensions.transport_sockets.tls.v3';
const SECURE = { secure: true };

const inline = (path) => ({ inline_string: readFileSync(path, 'utf8') });
const identity = ({ certificate, key }) =>
  typed(`${TLS}.Secret`, {
    name: 'default',
    tls_certificate: { certificate_chain: inline(certificate), private_key: inline(key) },
  });
const roots = (path) =>
  typed(`${TLS}.Secret`, { name: 'ROOTCA', validation_context: { trusted_ca: inline(path) } });

/** A service with a cluster for each server. All of them stay, since calls may be on their way to them. */
const serviceOf = (servers, used) => {
  const instance = { instance_name: 'mesh' };
  const context = typed(`${TLS}.UpstreamTlsContext`, {
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: { ca_certificate_provider_instance: instance },
    },
  });
  const transport_socket = { name: 'envoy.transport_sockets.tls', typed_config: context };
  return [
    typed('envoy.config.listener.v3.Listener', listener({ name: SERVICE })),
    typed('envoy.config.route.v3.RouteConfiguration', routeConfig([anyRoute(used.name)])),
    ...servers.flatMap((server) => [
      typed('envoy.config.cluster.v3.Cluster', cluster(server.name, { transport_socket })),
      typed(
        'envoy.config.endpoint.v3.ClusterLoadAssignment',
        assignment(server.name, { servers: [server] }),
      ),
    ]),
  ];
};

/** One control plane, which also has the secrets, two servers of different authorities, and one client. */
class Setup {
  #version = 0;

  constructor(peers, cache, variant) {
    Object.assign(this, { peers, cache, variant });
  }

  async start() {
    const { server, otherServer, client, stranger, root, otherRoot } = meshCertificates();
    const processes = await this.peers.secureServers('go');
    const start = async (name, certificate, clientRoots) => {
      const { port } = await processes.ask({ name, ...certificate, clientRoots });
      return { name, port };
    };
    /** For each server, what a client needs that calls it. */
    this.sides = [
      {
        server: await start('first', server, root),
        secrets: [identity(client), roots(root)],
      },
      {
        server: await start('second', otherServer, otherRoot),
        secrets: [identity(stranger), roots(otherRoot)],
      },
    ];
    this.controlPlane = await this.peers.goControlPlane(this.cache);
    this.port = this.controlPlane.greeting.port;
    const server_features = this.variant === 'delta' ? ['grpc_xds_delta'] : [];
    const sds_server = {
      server_uri: `127.0.0.1:${this.port}`,
      server_features,
      channel_creds: [{ type: 'insecure' }],
    };
    const certificate_providers = { mesh: { plugin_name: 'sds', config: { sds_server } } };
    const clientName = this.variant === 'delta' ? 'node-delta' : 'node';
    this.client = await this.peers.client(clientName, sds_server.server_uri, {
      node: NODE,
      bootstrap: { certificate_providers },
    });
  }

  serve({ server, secrets }) {
    const version = String(++this.#version);
    const servers = this.sides.map((side) => side.server);
    const resources = [...serviceOf(servers, server), ...secrets];
    return this.controlPlane.ask({ do: 'set', node: NODE, version, resources });
  }

  async restart(side) {
    this.controlPlane = await this.peers.goControlPlane(this.cache, this.port);
    await this.serve(side);
  }

  seen() {
    return this.controlPlane.ask({ do: 'seen' });
  }

  async stop() {
    await this.client?.stop();
    await this.controlPlane?.stop();
  }
}

/** By name: what is done, one after the other, with the same client. */
const STEPS = {
  'the secrets are used: a server that requires a certificate answers': async (setup) => {
    await setup.serve(setup.sides[0]);
    const counts = await call(setup.client, TARGET, 20, SECURE);
    demand(isOnly(['first'], counts), 'first', counts);
  },
  'both secrets are replaced: a server of another authority answers': async (setup) => {
    await setup.serve(setup.sides[1]);
    await untilOnly(setup.client, TARGET, ['second'], SECURE);
  },
  'a secret is rejected: the server is sent the reason, calls go on, a good one is taken': async (
    setup,
  ) => {
    const [first, second] = setup.sides;
    const { client, stranger } = meshCertificates();
    const bad = identity({ ...client, key: stranger.key });
    await setup.serve({ ...second, secrets: [bad, second.secrets[1]] });
    const isSeen = ({ rejections }) =>
      rejections.some((text) => text.includes('Secret') && text.includes('key values mismatch'));
    await until(() => setup.seen(), isSeen, 'a rejection of the secret');
    const counts = await call(setup.client, TARGET, 10, SECURE);
    demand(isOnly(['second'], counts), 'second', counts);
    await setup.serve(first);
    await untilOnly(setup.client, TARGET, ['first'], SECURE);
  },
  'the server restarts: calls go on, other secrets arrive': async (setup) => {
    await setup.controlPlane.stop();
    const counts = await call(setup.client, TARGET, 20, SECURE);
    demand(isOnly(['first'], counts), 'first', counts);
    await setup.restart(setup.sides[1]);
    await untilOnly(setup.client, TARGET, ['second'], SECURE);
  },
  'all streams were of the variant': async (setup) => {
    const seen = await setup.seen();
    const other = setup.variant === 'sotw' ? 'delta' : 'sotw';
    if (seen[setup.variant] < 3 || seen[other] > 0) throw new Error(JSON.stringify(seen));
  },
};

/** All steps in every combination of cache and variant. */
export const secretDiscoveryCases = ['snapshot', 'linear'].flatMap((cache) =>
  ['sotw', 'delta'].map((variant) => ({
    name: `secret discovery: go-control-plane, ${cache} cache, ${variant}`,
    languages: ['go'],
    run: async ({ peers, step }) => {
      const setup = new Setup(peers, cache, variant);
      try {
        await setup.start();
        for (const [name, run] of Object.entries(STEPS)) await step(name, () => run(setup));
      } finally {
        await setup.stop();
      }
    },
  })),
);
