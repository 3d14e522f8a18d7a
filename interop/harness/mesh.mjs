import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
import { SERVICE } from './resources.mjs';
import { TestClient } from './test-client.mjs';
import { TestServer } from './test-server.mjs';

/** What a case runs in: a control plane, servers and clients. It ends with the case; the servers are kept. */
export class Mesh {
  /** The programs, each with its first arguments. */
  commands;
  /** Whether the client is that of this package. */
  hasOwnClient;
  #pool;
  #folder = mkdtempSync(join(tmpdir(), 'grpc-xds-interop-'));
  #bootstraps = 0;
  #controlPlanes = [];
  #clients = [];
  #ownServers = [];

  /** @param options.commands The programs for `client` and `server`. */
  constructor({ commands, pool, hasOwnClient }) {
    this.commands = commands;
    this.hasOwnClient = hasOwnClient;
    this.#pool = pool;
  }

  /** Running servers, called `server-0` and so on. Other cases use them, too: they must not be stopped. */
  servers(count) {
    return this.#pool.take(count);
  }

  /** As `servers`, for this case alone, which may stop them. */
  ownServers(count) {
    return Promise.all(Array.from({ length: count }, (_, i) => this.server(`server-${i}`, [])));
  }

  /** A server for this case alone. */
  async server(name, flags) {
    const server = await TestServer.start(this.commands.server, name, flags);
    this.#ownServers.push(server);
    return server;
  }

  /**
   * An xDS server for this case alone. It requests its Listener as `server/ADDRESS`, and serves once it has one.
   * @param bootstrap What differs from that of a client.
   */
  async xdsServer(name, flags, bootstrap) {
    const env = this.#environment({
      server_listener_resource_name_template: 'server/%s',
      ...bootstrap,
    });
    const all = ['--secure_mode=true', ...flags];
    const server = await TestServer.start(this.commands.server, name, all, env);
    this.#ownServers.push(server);
    return server;
  }

  /** One more control plane; the first one is there from the beginning. */
  async addControlPlane(options = {}) {
    const server = new ControlPlane(options);
    const { address, port } = await server.start();
    this.#controlPlanes.push({ server, address });
    return { server, address, port };
  }

  /** The control plane that clients ask. */
  get controlPlane() {
    return this.#controlPlanes[0].server;
  }

  /** Changes what the control plane says. */
  serve(resources) {
    this.serveOn(this.controlPlane, resources);
  }

  /** Changes what another control plane says, running or not. */
  serveOn(controlPlane, resources) {
    controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
  }

  /** `xds_servers` of a bootstrap. */
  xdsServers(...addresses) {
    return addresses.map((address) => ({
      server_uri: address,
      channel_creds: [{ type: 'insecure' }],
      server_features: ['xds_v3'],
    }));
  }

  /**
   * Starts a client.
   * @param flags Of the program, such as `{ qps: 100 }`.
   * @param bootstrap What differs from that of a client of the first control plane.
   */
  async client(flags = {}, bootstrap = {}) {
    const all = { server: `xds:///${SERVICE}`, qps: 100, ...flags };
    const client = await TestClient.start(this.commands.client, all, this.#environment(bootstrap));
    this.#clients.push(client);
    return client;
  }

  /** Writes a bootstrap, and returns the variables that name it. */
  #environment(bootstrap) {
    const path = join(this.#folder, `bootstrap-${this.#bootstraps++}.json`);
    const { address } = this.#controlPlanes[0];
    const content = {
      xds_servers: this.xdsServers(address),
      node: { id: 'interop' },
      ...bootstrap,
    };
    writeFileSync(path, JSON.stringify(content));
    return { GRPC_XDS_BOOTSTRAP: path, GRPC_XDS_BOOTSTRAP_CONFIG: '' };
  }

  /** What the programs of this case wrote last. */
  get output() {
    return [...this.#clients, ...this.#ownServers].map(({ output }) => output).join('\n');
  }

  async stop() {
    await Promise.all(this.#clients.map((client) => client.stop()));
    await Promise.all(this.#ownServers.map((server) => server.stop()));
    for (const { server } of this.#controlPlanes) await server.close({ force: true });
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
