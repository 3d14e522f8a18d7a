// The programs that are compared. Every client is told lines of JSON, whatever language it is written in:
//
//   {"do": "call", "target", "count", "method"?, "headers"?, "timeoutMs", "failFast"?, "secure"?}  makes calls one after
//       the other, which wait until they can be sent unless failFast is true; answers {"peers": {name: count},
//       "codes": {status: count}, "message"}. With secure, the control plane decides how connections are secured.
//   {"do": "watch", "target"}  connects, so that resources are asked for
//   {"do": "close", "target"}  closes the channel
//   {"do": "probe", "target", "intervalMs"}  begins a call of EmptyCall whenever one is due, for as long as the program runs
//   {"do": "measured"}  answers {"slowestMs", "calls", "failed", "cpuMs"} of the time since the last one, or since probe: how
//       long a call took from the moment it was due, and the CPU time of the process
//
// Those of this package and of grpc-go can record metrics:
//
//   {"do": "observe", "metrics", "optionalLabels"}  records these metrics, besides those that are on by default, of the
//       channels that are created from then on
//   {"do": "metrics"}  answers {"metrics": [{"name", "unit", "kind", "buckets", "series": [{"labels", "value", "sum"}]}]},
//       where the value of a histogram is its count
//
// and serve channelz, CSDS and health:
//
//   {"do": "admin"}  starts to; answers {"address"}
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../harness/children.mjs';
import { until } from './judging.mjs';
import { LineProcess } from './line-process.mjs';

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const goPeer = pathOf('../go/build/peer');
const python = pathOf('../python');
const java = pathOf('../java/build');

const own = [process.execPath, pathOf('own-client.mjs')];
const commandLine = pathOf('../../packages/cli/dist/main.js');

/** The clients by name: the command, and what else the server is said to be able to do. */
export const CLIENTS = {
  node: { command: own },
  'node-delta': { command: own, features: ['grpc_xds_delta'] },
  go: { command: [goPeer, 'client'] },
  python: {
    command: ['python3', join(python, 'client.py')],
    env: { PYTHONPATH: join(python, 'build/packages'), PYTHONDONTWRITEBYTECODE: '1' },
  },
  java: { command: ['java', '-cp', `${java}/classes:${java}/lib/*`, 'interop.Client'] },
};

/** A certificate provider whose files are not there: Listeners that name it are valid all the same. */
export const CERTIFICATE_FILES = {
  plugin_name: 'file_watcher',
  config: {
    certificate_file: '/nonexistent/certificate.pem',
    private_key_file: '/nonexistent/key.pem',
    ca_certificate_file: '/nonexistent/ca.pem',
  },
};

/** Clients, servers and control planes of one run, and the files they need. */
export class Peers {
  #folder = mkdtempSync(join(tmpdir(), 'grpc-xds-cross-'));
  #running = new Set();
  #count = 0;

  /**
   * Starts a client, whose node id is its name.
   * @param name One of node, node-delta, go, python, java.
   * @param address Of its control plane.
   * @param options.bootstrap What else is in its bootstrap.
   * @param options.environment Environment variables.
   */
  client(name, address, { node = name, bootstrap = {}, environment = {} } = {}) {
    return this.#startWith(CLIENTS[name], address, { node, bootstrap, environment });
  }

  /** Starts a program with a bootstrap. */
  #startWith({ command, env, features = [] }, address, { node, bootstrap, environment = {} }) {
    const path = this.#writeBootstrap(address, features, { node: { id: node }, ...bootstrap });
    return this.#start(command, {
      ...env,
      ...environment,
      GRPC_XDS_BOOTSTRAP: path,
      GRPC_XDS_BOOTSTRAP_CONFIG: '',
    });
  }

  /** @returns the path of the bootstrap. */
  #writeBootstrap(address, features, content) {
    const path = join(this.#folder, `bootstrap-${this.#count++}.json`);
    const server = {
      server_uri: address,
      channel_creds: [{ type: 'insecure' }],
      server_features: ['xds_v3', ...features],
    };
    writeFileSync(path, JSON.stringify({ xds_servers: [server], ...content }));
    return path;
  }

  /**
   * Starts `grpc-xds relay` below a control plane.
   * @param options.features The `server_features` by which it uses the control plane.
   * @param options.listen Where it listens. Default: a socket.
   * @returns the process, and its `address` for clients.
   */
  async relay(address, { node = 'relay', features = [], listen } = {}) {
    const path = this.#writeBootstrap(address, features, { node: { id: node } });
    const socket = `unix:${join(this.#folder, `relay-${this.#count++}.sock`)}`;
    const args = ['relay', '--listen', listen ?? socket];
    const env = { GRPC_XDS_BOOTSTRAP: path, GRPC_XDS_BOOTSTRAP_CONFIG: '' };
    const relay = new Child([process.execPath, commandLine], args, env);
    this.#running.add(relay);
    const findAddress = () => /^Relaying on (.*)$/m.exec(relay.output)?.[1];
    const started = () => findAddress() ?? relay.output;
    await until(started, () => findAddress() !== undefined, 'the relay to listen');
    return { process: relay, address: findAddress(), stop: () => relay.stop() };
  }

  /** Interop servers of grpc-go; its greeting has their ports by name. */
  servers(names) {
    return this.#start([goPeer, 'server', ...names]);
  }

  /**
   * Interop servers with TLS of grpc-go (`go`) or grpc-java (`java`), one for each line; each is answered with its port:
   *
   *   {"name", "certificate"?, "key"?, "clientRoots"?, "maxVersion"?}  starts a server with files in PEM, without TLS if
   *       there is no certificate; with clientRoots, clients must present a certificate that one of them signed
   */
  secureServers(language) {
    const commands = {
      go: [goPeer, 'secure-servers'],
      java: ['java', '-cp', `${java}/classes:${java}/lib/*`, 'interop.SecureServers'],
    };
    return this.#start(commands[language], {});
  }

  /**
   * Starts servers that are configured by Listeners, whose names are `server/` and their address; the node id is the language.
   *
   *   {"do": "serve", "name", "port"}  starts a server, which requests its Listener; answers {"host", "port"}
   *   {"do": "seen"}  answers {"connections", "calls"}: how many calls have begun, and on how many connections
   *
   * @param language `node`, `go`, `java` or `python`, whose server has no service, a port of its own, and answers `serve` alone.
   * @param certificate_providers Of the bootstrap. Default: one whose files are not there.
   */
  xdsServers(language, address, certificate_providers = { default: CERTIFICATE_FILES }) {
    const commands = {
      node: { command: [process.execPath, pathOf('own-server.mjs')] },
      go: { command: [goPeer, 'xds-servers'] },
      java: { command: ['java', '-cp', `${java}/classes:${java}/lib/*`, 'interop.XdsServers'] },
      python: { ...CLIENTS.python, command: ['python3', join(python, 'xds_server.py')] },
    };
    const bootstrap = {
      certificate_providers,
      server_listener_resource_name_template: 'server/%s',
    };
    return this.#startWith(commands[language], address, { node: language, bootstrap });
  }

  /** Turns resources in proto3 JSON into bytes. */
  encoder() {
    return this.#start([goPeer, 'encoder']);
  }

  /**
   * Judges requests by the RBAC filter of grpc-go's xDS servers, or by its authorization policies for plain ones:
   *
   *   {"rules"|"policy", "requests"}  answers {"rejected": error} or {"allowed": [boolean]}
   */
  authorization() {
    return this.#start([goPeer, 'authorization']);
  }

  /**
   * Decides calls by grpc-go's policy `rls_experimental`; see `route_lookup.go`:
   *
   *   {"config", "requests"}  answers {"rejected": error} or {"outcomes": [{"lookups", "target"}]}
   */
  routeLookups() {
    return this.#start([goPeer, 'route-lookups']);
  }

  /**
   * Makes the calls that grpcdebug makes to the admin services of a process, and fails where it does; see `debug.go`.
   *
   *   {"do": "xds status"|"xds config"|"channels"|"servers"|"health", "address"}
   */
  debugger() {
    return this.#start([goPeer, 'debugger']);
  }

  /** go-control-plane, with a cache of the kind `snapshot` or `linear`. */
  goControlPlane(cache, port = 0) {
    return this.#start([goPeer, 'control-plane', cache, String(port)]);
  }

  async stop() {
    await Promise.all([...this.#running].map((one) => one.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(command, env) {
    const started = await LineProcess.start(command, env);
    this.#running.add(started);
    return started;
  }
}
