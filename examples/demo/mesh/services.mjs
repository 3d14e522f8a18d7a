// The processes of the five services, and the ports of their backends and pages.
import { fork } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providerOf, writeCertificates } from './certificates.mjs';
import { backendNames, CALLS, CLUSTERS, serviceOf } from './resources.mjs';

const PROGRAM = fileURLToPath(new URL('service.mjs', import.meta.url));

/** Ports that no system hands out by itself: a port from its range can be another connection's before a backend listens on it. */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 32_767;
/** A machine on which so many ports in turn are taken has another problem. */
const MAX_TRIES = 1000;

/** @returns a server on a random port. */
async function listenAnywhere() {
  for (let left = MAX_TRIES; ; left--) {
    const socket = createServer().listen(randomInt(LOWEST_PORT, HIGHEST_PORT + 1), '127.0.0.1');
    try {
      await once(socket, 'listening');
      return socket;
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

/** Returns ports that nothing uses: an xDS server cannot have one chosen, because its Listener is found by it. */
async function freePorts(count) {
  const sockets = await Promise.all(Array.from({ length: count }, listenAnywhere));
  const ports = sockets.map((socket) => socket.address().port);
  for (const socket of sockets) socket.close();
  return ports;
}

/** Sends a request to a process. @returns a promise that is rejected with what went wrong there. */
function request(child, message) {
  return new Promise((resolve, reject) => {
    const ended = (code) => reject(new Error(`a service has ended with ${code}`));
    child.once('exit', ended);
    child.once('message', ({ error }) => {
      child.off('exit', ended);
      if (error === undefined) resolve();
      else reject(new Error(error));
    });
    child.send(message);
  });
}

/** A process for each service. They call each other under mutual TLS. */
export class Services {
  /** The ports of the backends, by their names. */
  ports = new Map();
  /** The addresses of the pages, by the names of the services. */
  pages = {};
  #children = new Map();
  #folder = mkdtempSync(join(tmpdir(), 'grpc-xds-demo-'));

  /** Chooses the ports. @param page That of the first page; the others have those after it. 0 for any. */
  async prepare(page) {
    const services = Object.keys(CALLS);
    writeCertificates(this.#folder, [...services, 'load']);
    const names = Object.entries(CLUSTERS).flatMap(([cluster, zones]) =>
      Object.keys(zones).flatMap((zone) => backendNames(cluster, zone)),
    );
    const free = await freePorts(names.length + services.length);
    this.ports = new Map(names.map((name) => [name, free.pop()]));
    const token = randomBytes(16).toString('base64url');
    services.forEach((service, index) => {
      const port = page === 0 ? free.pop() : page + index;
      this.pages[service] = { port, token, url: `http://127.0.0.1:${port}/#token=${token}` };
    });
  }

  /** The bootstrap of a process. */
  bootstrapOf(name, bootstrap) {
    const certificate_providers = { default: providerOf(this.#folder, name) };
    return { ...bootstrap, node: { id: name }, certificate_providers };
  }

  /** @throws what went wrong in the first service, in their order, that did not start. */
  async start(bootstrap) {
    const starts = await Promise.allSettled(
      Object.entries(this.pages).map(([service, { port, token }]) => {
        const child = fork(PROGRAM);
        this.#children.set(service, child);
        const own = [...this.ports].filter(([name]) => serviceOf(name) === service);
        const others = Object.entries(this.pages).filter(([name]) => name !== service);
        const links = Object.fromEntries(others.map(([name, { url }]) => [name, url]));
        return request(child, {
          name: 'start',
          service,
          ports: Object.fromEntries(own),
          bootstrap: this.bootstrapOf(service, bootstrap),
          page: { port, token, links },
        });
      }),
    );
    const failed = starts.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Has all services fail as a step says, and its text on their pages. */
  async use(step) {
    const children = [...this.#children.values()];
    await Promise.all(children.map((child) => request(child, { name: 'use', ...step })));
  }

  async stop() {
    await Promise.all(
      [...this.#children.values()].map(async (child) => {
        if (child.exitCode !== null || !child.connected) return;
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.send({ name: 'stop' });
        await ended;
      }),
    );
    rmSync(this.#folder, { recursive: true });
  }
}
