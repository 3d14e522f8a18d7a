// One of the five services, as a process of its own: its backends, the channels to the services that it calls, and its live page.
// `main.mjs` starts it, and says what is to fail.
import { channel } from 'node:diagnostics_channel';
import grpc from '@grpc/grpc-js';
import { register, shutdown } from 'grpc-xds';
import { serveAdminPage } from 'grpc-xds-page';
import { XdsServer, XdsServerCredentials } from 'grpc-xds/server';
import { ask, ServiceClient } from './client.mjs';
import { CALLS } from './resources.mjs';

/** Steps of the story, for the live page. */
const notices = channel('grpc-xds:notice');

/** A backend on a port of its own, which it has again after it was down. */
class Backend {
  /** Whether it fails each call. */
  isFailing = false;
  #port;
  #server;
  #called;

  /** @param called The clients of the services that it calls. */
  constructor(port, called) {
    this.#port = port;
    this.#called = called;
  }

  async start() {
    if (this.#server !== undefined) return;
    const server = new XdsServer({ drainJitterMs: 0 });
    this.#server = server;
    server.addService({ ask }, { ask: (_call, callback) => void this.#answer(callback) });
    const credentials = new XdsServerCredentials(grpc.ServerCredentials.createInsecure());
    await new Promise((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${this.#port}`, credentials, (error) =>
        error ? reject(error) : resolve(),
      );
    });
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

/** The backends of the service, by their names. */
const backends = new Map();
const clients = [];
let called = [];
let page;

/** Serves the page before there is anything to show: a port that is taken ends the demo before it has begun. */
async function start({ service, ports, bootstrap, page: options }) {
  page = await serveAdminPage(options);
  register({ bootstrap });
  called = CALLS[service];
  clients.push(...called.map((name) => new ServiceClient(name)));
  for (const [name, port] of Object.entries(ports)) backends.set(name, new Backend(port, clients));
}

/** Has the backends of a zone down, one backend fail its calls, and all others well. */
async function use({ notice, faults: { lostZone, failingBackend } = {} }) {
  if (notice !== undefined) {
    const isOwn = called.some((name) => notice.target === `xds:///${name}`);
    notices.publish({ ...notice, target: isOwn ? notice.target : undefined });
  }
  for (const [name, backend] of backends) {
    backend.isFailing = name === failingBackend;
    if (lostZone !== undefined && name.at(-2) === lostZone) await backend.drain();
    else await backend.start();
  }
}

async function stop() {
  for (const client of clients) client.close();
  for (const backend of backends.values()) backend.stop();
  await shutdown();
  await page?.close();
  process.disconnect();
}

const requests = { start, use, stop };

process.on('message', ({ name, ...options }) => {
  void requests[name](options).then(
    () => process.connected && process.send({}),
    ({ message }) => process.send({ error: message }),
  );
});
// Ctrl-C is for the whole group of processes: `main.mjs` ends the load first.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
