import { credentials } from '@grpc/grpc-js';
import { testing } from '../lib/test-protos.mjs';
import { Child, freePort } from './children.mjs';
import { untilReady } from './waiting.mjs';

/** An interop server, which can be stopped and started again at the same port. */
export class TestServer {
  #child;

  constructor(command, name, options) {
    Object.assign(this, { command, name, ...options });
  }

  /**
   * @param flags Beside the ports and the name.
   * @param env The bootstrap of an xDS server, which has a port of its own for maintenance.
   */
  static async start(command, name, flags = [], env = undefined) {
    const port = await freePort();
    const maintenancePort = env === undefined ? port : await freePort();
    const server = new TestServer(command, name, { port, maintenancePort, flags, env });
    await server.start();
    return server;
  }

  /** What the program wrote last. */
  get output() {
    return this.#child?.output ?? '';
  }

  get isRunning() {
    return this.#child !== undefined;
  }

  async start() {
    if (this.isRunning) return;
    const { command, name, port, maintenancePort, flags, env } = this;
    const ports = [`--port=${port}`, `--maintenance_port=${maintenancePort}`];
    this.#child = new Child(command, [...ports, `--host_name_override=${name}`, ...flags], env);
    const host = flags.includes('--address_type=IPV6') ? '[::1]' : '127.0.0.1';
    const client = new testing.TestService(
      `${host}:${maintenancePort}`,
      credentials.createInsecure(),
    );
    try {
      await untilReady(client, this.#child);
    } finally {
      client.close();
    }
  }

  async stop() {
    const child = this.#child;
    this.#child = undefined;
    await child?.stop();
  }
}

/** Servers that cases share, also at the same time: starting one takes longer than most cases. Who stops one needs his own. */
export class ServerPool {
  #servers = [];

  constructor(command) {
    this.command = command;
  }

  /** The first servers. */
  take(count) {
    for (let i = this.#servers.length; i < count; i++) {
      this.#servers.push(TestServer.start(this.command, `server-${i}`));
    }
    return Promise.all(this.#servers.slice(0, count));
  }

  async stop() {
    await Promise.all(this.#servers.map(async (server) => (await server).stop()));
  }
}
