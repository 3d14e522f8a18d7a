// The five services: real gRPC servers on loopback, and a channel for each service that calls another one.
import grpc from '@grpc/grpc-js';
import { backendNames, CLUSTERS } from './resources.mjs';

const same = (buffer) => buffer;

const ask = {
  path: '/demo.Shop/Ask',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

const DEADLINE_MS = 10_000;

/** Which services a backend of a cluster calls before it answers. */
const CALLS = {
  web: ['catalog', 'cart'],
  catalog: ['stock'],
  stock: [],
  'cart-v1': ['payment'],
  'cart-v2': ['payment'],
  payment: [],
};

/** A client of a service, as each process that calls it has one. */
export class ServiceClient {
  #client;

  constructor(service) {
    this.#client = new grpc.Client(`xds:///${service}`, grpc.credentials.createInsecure());
  }

  /** Makes a call. @returns a promise that is rejected with the status if it fails. */
  call() {
    const { path, requestSerialize, responseDeserialize } = ask;
    const options = { deadline: Date.now() + DEADLINE_MS };
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.alloc(0),
        options,
        (error) => (error ? reject(error) : resolve()),
      );
    });
  }

  close() {
    this.#client.close();
  }
}

/** Listens on a port, any that is free if it is 0. @returns the port. */
function bind(server, port) {
  return new Promise((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
}

/** A backend on a port of its own, which it has again after it was down. */
class Backend {
  port = 0;
  /** Whether it fails each call. */
  isFailing = false;
  #server;
  #called;

  /** @param called The clients of the services that it calls. */
  constructor(called) {
    this.#called = called;
  }

  async start() {
    if (this.#server !== undefined) return;
    const server = new grpc.Server();
    server.addService({ ask }, { ask: (_call, callback) => void this.#answer(callback) });
    this.#server = server;
    // Another process may have taken the port meanwhile.
    this.port = await bind(server, this.port).catch(() => bind(server, 0));
  }

  /** Refuses connections from now on, and ends those that it has once their calls have ended. */
  async drain() {
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) await new Promise((resolve) => server.tryShutdown(resolve));
  }

  stop() {
    this.#server?.forceShutdown();
  }

  async #answer(callback) {
    if (this.isFailing) {
      callback({ code: grpc.status.UNAVAILABLE, details: 'the disk is full' });
      return;
    }
    try {
      await Promise.all(this.#called.map((client) => client.call()));
      callback(null, Buffer.alloc(0));
    } catch (error) {
      callback({ code: grpc.status.INTERNAL, details: error.message });
    }
  }
}

/** The backends of all services, in one process. Each service has one channel to each that it calls. */
export class Services {
  #backends = new Map();
  #clients = new Map();

  constructor() {
    for (const service of Object.values(CALLS).flat()) {
      if (!this.#clients.has(service)) this.#clients.set(service, new ServiceClient(service));
    }
    for (const [cluster, zones] of Object.entries(CLUSTERS)) {
      const called = CALLS[cluster].map((service) => this.#clients.get(service));
      for (const name of Object.keys(zones).flatMap((zone) => backendNames(cluster, zone)))
        this.#backends.set(name, new Backend(called));
    }
  }

  /** The ports of the backends, by their names. */
  get ports() {
    return new Map([...this.#backends].map(([name, { port }]) => [name, port]));
  }

  /** Has the backends of a zone down, one backend fail its calls, and all others well. */
  async use({ lostZone, failingBackend } = {}) {
    for (const [name, backend] of this.#backends) {
      backend.isFailing = name === failingBackend;
      if (lostZone !== undefined && zoneOf(name) === lostZone) await backend.drain();
      else await backend.start();
    }
  }

  stop() {
    for (const client of this.#clients.values()) client.close();
    for (const backend of this.#backends.values()) backend.stop();
  }
}

/** Returns the zone in the name of a backend, such as `b` of `stock-b2`. */
function zoneOf(name) {
  return name.at(-2);
}
