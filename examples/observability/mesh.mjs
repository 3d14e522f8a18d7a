// Two control planes, of which the second is the fallback of the first, backends in two zones, and clients that call
// them.
import { Client, credentials } from '@grpc/grpc-js';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { Backend, shopService } from './backends.mjs';
import { resourcesFor } from './resources.mjs';
import { ConfiguredServer } from './server.mjs';

/** Nothing listens there. */
const UNREACHABLE = '127.0.0.1:1';
const CALL_TIMEOUT_MS = 1000;

const bootstrapServer = (address) => ({
  server_uri: address,
  channel_creds: [{ type: 'insecure' }],
});

/** Everything that the application and its incidents are made of. */
export class Mesh {
  west = ['west-1', 'west-2', 'west-3'].map((name) => new Backend(name));
  east = ['east-1', 'east-2'].map((name) => new Backend(name));
  server = new ConfiguredServer();
  /** Serves the clients unless it is stopped. */
  primary = new ControlPlane();
  #fallback = new ControlPlane();
  #port = 0;
  #addresses = [];
  #load = new Map();
  #options;

  async start() {
    for (const backend of [...this.west, ...this.east]) await backend.start();
    await this.server.choosePort();
    this.serve();
    const { port, address } = await this.primary.start();
    this.#port = port;
    this.#addresses = [address, (await this.#fallback.start()).address];
  }

  get bootstrap() {
    return {
      xds_servers: this.#addresses.map(bootstrapServer),
      authorities: { elsewhere: { xds_servers: [bootstrapServer(UNREACHABLE)] } },
      node: { id: 'observability-example' },
      ...this.server.bootstrap,
    };
  }

  /** Serves resources; see `resourcesFor`. */
  serve(options) {
    const ports = (backends) => backends.map(({ port }) => port);
    const places = { west: ports(this.west), east: ports(this.east) };
    const { snapshot } = this.server;
    this.#options = options;
    this.primary.setSnapshot(Snapshot.from(resourcesFor(places, options)).merge(snapshot));
    this.#fallback.setSnapshot(Snapshot.from(resourcesFor(places)).merge(snapshot));
  }

  /** Serves other resources for the server alone. */
  serveServer(change) {
    Object.assign(this.server, change);
    this.serve(this.#options);
  }

  /** Starts the first control plane again after `primary.close()`. */
  async restartPrimary() {
    await this.primary.start(this.#port);
  }

  /** Calls a target this often until `stopCalls`. */
  startCalls(target, perSecond) {
    const client = new Client(target, credentials.createInsecure());
    let count = 0;
    const timer = setInterval(() => {
      const { path } = count++ % 3 === 0 ? shopService.buy : shopService.browse;
      const { requestSerialize, responseDeserialize } = shopService.buy;
      const options = { deadline: Date.now() + CALL_TIMEOUT_MS };
      const body = Buffer.from('hello');
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, body, options, () => {});
    }, 1000 / perSecond);
    this.#load.set(target, { client, timer });
  }

  stopCalls(target) {
    const { client, timer } = this.#load.get(target);
    clearInterval(timer);
    client.close();
    this.#load.delete(target);
  }
}
