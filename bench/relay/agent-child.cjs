// A control plane, two backends, and an agent before the control plane that keeps one stream for its host, as that of Istio does: it
// ends the stream of a process with OK when another one connects, and hands on the end of the control plane as UNAVAILABLE while its
// own socket stays. On a message it restarts the control plane, serves the other backend, ends the first one, or reports its streams.
const grpc = require('@grpc/grpc-js');
const { ControlPlane, Snapshot } = require('../../dist/control-plane');

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const DOWN_MS = 500;
const HCM =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const same = (bytes) => bytes;
const bytesMethod = {
  requestStream: true,
  responseStream: true,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

const listen = (server) =>
  new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error) reject(error);
      else resolve(port);
    });
  });

/** Starts a server that answers each call with a text. */
async function startBackend(text) {
  const server = new grpc.Server();
  const answer = Buffer.from(text);
  const say = { ...bytesMethod, path: '/bench/Say', requestStream: false, responseStream: false };
  server.addService({ say }, { say: (_call, callback) => callback(null, answer) });
  return { server, port: await listen(server) };
}

function resourcesFor(port) {
  const ads = { ads: {}, resource_api_version: 'V3' };
  const http_filters = [{ name: 'router', typed_config: { '@type': ROUTER } }];
  const rds = { route_config_name: 'bench', config_source: ads };
  const api_listener = { '@type': HCM, rds, http_filters };
  const routes = [{ match: { prefix: '' }, route: { cluster: 'bench' } }];
  const address = { socket_address: { address: '127.0.0.1', port_value: port } };
  const locality = {
    locality: {},
    load_balancing_weight: 1,
    lb_endpoints: [{ endpoint: { address } }],
  };
  return Snapshot.from({
    listeners: [{ name: 'bench', api_listener: { api_listener } }],
    routes: [{ name: 'bench', virtual_hosts: [{ name: 'all', domains: ['*'], routes }] }],
    clusters: [{ name: 'bench', type: 'EDS', eds_cluster_config: { eds_config: ads } }],
    endpoints: [{ cluster_name: 'bench', endpoints: [locality] }],
  });
}

/** The control plane, and the streams that the agent has to it. */
class Upstream {
  async start(snapshot) {
    this.snapshot = snapshot;
    this.controlPlane = new ControlPlane();
    this.controlPlane.setSnapshot(snapshot);
    ({ address: this.address } = await this.controlPlane.start());
  }

  serve(snapshot) {
    this.snapshot = snapshot;
    this.controlPlane.setSnapshot(snapshot);
  }

  async restart() {
    await this.controlPlane.close();
    await new Promise((resolve) => setTimeout(resolve, DOWN_MS));
    await this.start(this.snapshot);
  }
}

/** Hands one stream at a time on to the control plane, over a connection of its own. */
class Agent {
  openedAt = [];
  #current;

  constructor(upstream) {
    this.upstream = upstream;
    this.server = new grpc.Server();
    this.server.addService(
      { ads: { ...bytesMethod, path: PATH } },
      { ads: (call) => this.#serve(call) },
    );
  }

  #serve(call) {
    this.openedAt.push(nowMs());
    const client = new grpc.Client(this.upstream.address, grpc.credentials.createInsecure());
    const above = client.makeBidiStreamRequest(PATH, same, same);
    let isOver = false;
    const end = (finish) => {
      if (isOver) return;
      isOver = true;
      if (this.#current === stream) this.#current = undefined;
      finish();
      above.cancel();
      client.close();
    };
    const stream = { displace: () => end(() => call.end()) };
    this.#current?.displace();
    this.#current = stream;
    const fail = () => call.emit('error', { code: grpc.status.UNAVAILABLE, details: 'EOF' });
    above.on('data', (bytes) => isOver || call.write(bytes));
    above.on('error', () => end(fail));
    above.on('end', () => end(fail));
    call.on('data', (bytes) => isOver || above.write(bytes));
    call.on('error', () => {});
    call.on('cancelled', () => end(() => {}));
    call.on('end', () => end(() => call.end()));
  }
}

async function main() {
  const [first, second] = [await startBackend('first'), await startBackend('second')];
  const upstream = new Upstream();
  await upstream.start(resourcesFor(first.port));
  const agent = new Agent(upstream);
  const port = await listen(agent.server);
  const actions = {
    restart: () => upstream.restart(),
    change: () => upstream.serve(resourcesFor(second.port)),
    endFirst: () => first.server.forceShutdown(),
    streams: () => {},
  };
  process.on('message', async (action) => {
    const atMs = nowMs();
    await actions[action]();
    process.send({ atMs, openedAt: agent.openedAt });
  });
  process.send({ address: `127.0.0.1:${port}` });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
