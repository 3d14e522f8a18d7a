// What the clients of the matrix connect to: backends, and control planes over gRPC, TLS and REST. They run in Node.js.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { ControlPlane, Snapshot } from '../../dist/control-plane/index.js';
import { resourcesFor } from '../../bundlers/app/resources.mjs';

export const certificates = fileURLToPath(
  new URL('../../test/security/credentials/certificates/', import.meta.url),
);

const INSECURE = ServerCredentials.createInsecure();
const TYPES = {
  listeners: 'envoy.config.listener.v3.Listener',
  routes: 'envoy.config.route.v3.RouteConfiguration',
  clusters: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
};
const same = (bytes) => bytes;

/** TLS with the test certificates; `isMutual`: the client needs one, too. */
function tls(isMutual) {
  const read = (name) => readFileSync(`${certificates}${name}`);
  const pair = { cert_chain: read('server.pem'), private_key: read('server.key') };
  return ServerCredentials.createSsl(read('ca.pem'), [pair], isMutual);
}

function bind(server, credentials) {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

/** Starts a server that answers with its name. */
async function startBackend(name, credentials = INSECURE, onCall = () => {}) {
  const server = new Server();
  const say = {
    path: '/echo.Echo/Say',
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const answer = (_call, reply) => {
    onCall();
    reply(null, Buffer.from(name));
  };
  server.addService({ say }, { say: answer });
  const port = await bind(server, credentials);
  return { port, stop: () => server.forceShutdown() };
}

/** A cluster whose connections are secured with the certificates of the provider instance `files`. */
function secured(resources) {
  const instance = { instance_name: 'files' };
  const context = {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
    common_tls_context: {
      tls_certificate_provider_instance: instance,
      validation_context: { ca_certificate_provider_instance: instance },
    },
  };
  const transport_socket = { name: 'envoy.transport_sockets.tls', typed_config: context };
  return {
    ...resources,
    clusters: resources.clusters.map((cluster) => ({ ...cluster, transport_socket })),
  };
}

/** A cluster whose calls are reported to the control plane. */
function reported(resources) {
  const clusters = resources.clusters.map((cluster) => ({ ...cluster, lrs_server: { self: {} } }));
  return { ...resources, clusters };
}

function merge(...all) {
  const kinds = Object.keys(TYPES).map((kind) => [kind, all.flatMap((each) => each[kind])]);
  return Object.fromEntries(kinds);
}

/** The same resources with their types, as files and REST servers have them. */
export function typed(resources, kind) {
  const type = `type.googleapis.com/${TYPES[kind]}`;
  return resources[kind].map((resource) => ({ '@type': type, ...resource }));
}

export const kinds = Object.keys(TYPES);

async function startRest(resources) {
  const server = createServer((request, response) => {
    const kind = kinds.find((each) => request.url.endsWith(each));
    const body = { version_info: '1', resources: typed(resources, kind) };
    request.resume().on('end', () => response.end(JSON.stringify(body)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { port: server.address().port, stop };
}

/** Starts a control plane behind TLS: bytes go through as they are. */
async function startTlsFront(port) {
  const { createServer: createTlsServer } = await import('node:tls');
  const { connect } = await import('node:net');
  const options = {
    cert: readFileSync(`${certificates}server.pem`),
    key: readFileSync(`${certificates}server.key`),
    ALPNProtocols: ['h2'],
  };
  const sockets = new Set();
  const server = createTlsServer(options, (socket) => {
    const upstream = connect(port, '127.0.0.1');
    for (const end of [socket, upstream]) sockets.add(end.on('error', () => {}));
    socket.pipe(upstream).pipe(socket);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: server.address().port, stop };
}

/** Starts everything. The service `moving` goes from `one` to `two` with its first call. */
export async function startServers() {
  const two = await startBackend('two');
  const moving = await startBackend('before', INSECURE, () =>
    controlPlane.setSnapshot(snapshot(two.port)),
  );
  const one = await startBackend('one');
  const mutual = await startBackend('mutual', tls(true));
  const shop = resourcesFor('shop', one.port);
  const snapshot = (port) =>
    Snapshot.from(
      merge(
        shop,
        resourcesFor('moving', port),
        secured(resourcesFor('secured', mutual.port)),
        reported(resourcesFor('reported', one.port)),
      ),
    );
  let reportedCalls = 0;
  const controlPlane = new ControlPlane({
    snapshot: snapshot(moving.port),
    loadReporting: { intervalMs: 100 },
    onLoadReport: (_client, { clusters }) => {
      const localities = clusters.flatMap((cluster) => cluster.localities);
      for (const { succeeded } of localities) reportedCalls += succeeded;
    },
  });
  const { port } = await controlPlane.start();
  const front = await startTlsFront(port);
  const rest = await startRest(shop);
  return {
    port,
    tlsPort: front.port,
    restPort: rest.port,
    certificates,
    shop,
    reportedCalls: () => reportedCalls,
    stop() {
      controlPlane.close({ force: true });
      for (const server of [one, two, moving, mutual, front, rest]) server.stop();
    },
  };
}
