// Servers that require a certificate of clients, the same without TLS, and a control plane that sends services to them. Answers
// `connections` with how many there have been to the server of many endpoints.
const { readFileSync } = require('node:fs');
const tls = require('node:tls');
const grpc = require('@grpc/grpc-js');
const { ControlPlane, Snapshot } = require('../../dist/control-plane/index.js');
const { startBackend } = require('../support/backend.cjs');
const resources = require('../support/resources.cjs');

const { files, serverId, endpoints } = JSON.parse(process.argv[2]);
const cert = readFileSync(files.server.certificate);
const key = readFileSync(files.server.key);
const ca = readFileSync(files.root);
const mutual = grpc.ServerCredentials.createSsl(ca, [{ cert_chain: cert, private_key: key }], true);

const instance = { instance_name: 'mesh' };
const transport_socket = {
  name: 'envoy.transport_sockets.tls',
  typed_config: {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: {
        ca_certificate_provider_instance: instance,
        match_subject_alt_names: [{ exact: serverId }],
      },
    },
  },
};

/** A server for handshakes alone: nothing is sent over its connections. */
function startTlsServer() {
  const options = { cert, key, ca, requestCert: true, rejectUnauthorized: true };
  const server = tls.createServer({ ...options, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => {}); // clients leave without a word
    socket.resume();
  });
  server.on('tlsClientError', () => {});
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

/** One backend under many addresses. */
const addressesOf = ({ port }, count) =>
  Array.from({ length: count }, (_, i) => ({
    host: `127.1.${1 + (i >> 7)}.${1 + (i & 127)}`,
    port,
  }));

const RING = {
  lb_policy: 'RING_HASH',
  ring_hash_lb_config: { minimum_ring_size: 1024, hash_function: 'XX_HASH' },
};

/** A service whose calls go to one endpoint, or, with the header `key`, to one of many. */
function manyEndpoints(name, security, { one, many }) {
  const byKey = { match: { prefix: '', headers: [{ name: 'key', present_match: true }] } };
  const hash_policy = [{ header: { header_name: 'key' } }];
  return {
    listeners: [resources.listener(name)],
    routes: [
      resources.routeConfig(name, [
        { ...byKey, route: { cluster: `${name}-many`, hash_policy } },
        { match: { prefix: '' }, route: { cluster: `${name}-one` } },
      ]),
    ],
    clusters: [
      resources.cluster(`${name}-one`, security),
      resources.cluster(`${name}-many`, { ...RING, ...security }),
    ],
    endpoints: [
      resources.endpoints(`${name}-one`, [one]),
      resources.endpoints(`${name}-many`, addressesOf(many, endpoints)),
    ],
  };
}

/** A service with these servers. */
function service(name, security, backends) {
  return {
    listeners: [resources.listener(name)],
    routes: [resources.routeConfig(name, [{ match: { prefix: '' }, route: { cluster: name } }])],
    clusters: [resources.cluster(name, security)],
    endpoints: [resources.endpoints(name, backends)],
  };
}

async function main() {
  const start = (count, credentials) =>
    Promise.all(Array.from({ length: count }, () => startBackend(credentials)));
  const [plain, secure] = [await start(4), await start(4, mutual)];
  const [manyPlain, manySecure] = [await startBackend(), await startBackend(mutual)];
  const secured = { transport_socket };
  const parts = [
    service('plain.bench', {}, plain),
    service('tls.bench', secured, secure),
    manyEndpoints('many-plain.bench', {}, { one: plain[0], many: manyPlain }),
    manyEndpoints('many-tls.bench', secured, { one: secure[0], many: manySecure }),
  ];
  const all = {};
  for (const part of parts) {
    for (const [kind, list] of Object.entries(part)) all[kind] = [...(all[kind] ?? []), ...list];
  }
  const controlPlane = new ControlPlane({ snapshot: Snapshot.from(all) });
  const { address } = await controlPlane.start();
  const config = {
    certificate_file: files.client.certificate,
    private_key_file: files.client.key,
    ca_certificate_file: files.root,
    refresh_interval: '600s', // the peer needs one
  };
  const addresses = (backends) => backends.map(({ host, port }) => `${host}:${port}`);
  process.on('message', () =>
    process.send({
      plain: manyPlain.connections.opened,
      tls: manySecure.connections.opened,
    }),
  );
  process.send({
    handshakePort: await startTlsServer(),
    plain: addresses(plain),
    tls: addresses(secure),
    bootstrap: {
      ...resources.bootstrap(address),
      certificate_providers: { mesh: { plugin_name: 'file_watcher', config } },
    },
  });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
