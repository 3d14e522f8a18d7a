import { credentials } from '@grpc/grpc-js';
import { testing } from '../lib/test-protos.mjs';
import { Child, freePort } from './children.mjs';
import { untilReady } from './waiting.mjs';

/** An interop server, which can be stopped and started again at the same port. */
export class TestServer {
  #child;

  constructor(command, name, port, flags) {
    Object.assign(this, { command, name, port, flags });
  }

  /** @param flags Beside the port and the name. */
  static async start(command, name, flags = []) {
    const server = new TestServer(command, name, await freePort(), flags);
    await server.start();
    return server;
  }

  get isRunning() {
    return this.#child !== undefined;
  }

  async start() {
    if (this.isRunning) return;
    const { command, name, port, flags } = this;
    const args = [`--port=${port}`, `--maintenance_port=${port}`, `--host_name_override=${name}`];
    this.#child = new Child(command, [...args, ...flags]);
    const host = flags.includes('--address_type=IPV6') ? '[::1]' : '127.0.0.1';
    const client = new testing.TestService(`${host}:${port}`, credentials.createInsecure());
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

/** Servers that cases use one after the other: starting one takes longer than most cases. */
export class ServerPool {
  #servers = [];

  constructor(command) {
    this.command = command;
  }

  /** The first servers, all of them running. */
  async take(count) {
    while (this.#servers.length < count) {
      const missing = Array.from({ length: count - this.#servers.length }, (_, i) =>
        TestServer.start(this.command, `server-${this.#servers.length + i}`),
      );
      this.#servers.push(...(await Promise.all(missing)));
    }
    const servers = this.#servers.slice(0, count);
    await Promise.all(servers.map((server) => server.start()));
    return servers;
  }

  async stop() {
    await Promise.all(this.#servers.map((server) => server.stop()));
  }
}
