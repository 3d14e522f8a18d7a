import type { ChannelOptions } from '@grpc/grpc-js';
import { ControlPlane, Snapshot, type ControlPlaneOptions } from '../../src/control-plane';
import {
  register,
  shutdown,
  type BootstrapConfig,
  type Limits,
  type RegisterOptions,
} from '../../src';
import { eventually } from './eventually';
import { EchoBackend, EchoClient } from './echo-backend';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from './xds-json';

/** The node id every test client uses. */
export const NODE_ID = 'test-node';

/** The name most tests resolve. */
export const SERVICE = 'echo.test:50051';

/** Returns the target of a name: what would mean something else in it is escaped. */
export function targetOf(name: string): string {
  return `xds:///${name.replace(/[%?#]/g, encodeURIComponent)}`;
}

/** Resources by kind. */
export interface MeshResources {
  readonly listeners: readonly Json[];
  readonly routes: readonly Json[];
  readonly clusters: readonly Json[];
  readonly endpoints: readonly Json[];
}

/** Everything for one service with one cluster of these ports. */
export function simpleResources(ports: readonly number[], routeExtra: Json = {}): MeshResources {
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('echo', routeExtra)])],
    clusters: [edsClusterJson('echo')],
    endpoints: [endpointsJson('echo', [{ zone: 'a', ports }])],
  };
}

/**
 * The variants of the protocol, each as the `server_features` that choose it. Whole-path tests that are about
 * configuration on its way run in each of them.
 */
export const VARIANTS: readonly (readonly [name: string, features: readonly string[]])[] = [
  ['state of the world', []],
  ['incremental', ['grpc_xds_delta']],
  ['state of the world, a stream per type', ['grpc_xds_separate_streams']],
  ['incremental, a stream per type', ['grpc_xds_delta', 'grpc_xds_separate_streams']],
];

/**
 * The `server_features` of servers for which a test asks for none. With `XDS_TEST_SERVER_FEATURES=grpc_xds_delta`
 * everything runs over incremental streams.
 */
const DEFAULT_FEATURES = (process.env.XDS_TEST_SERVER_FEATURES ?? '').split(',').filter(Boolean);

/** A bootstrap for one management server. */
export function bootstrapFor(
  serverUri: string,
  features: readonly string[] = DEFAULT_FEATURES,
): BootstrapConfig {
  return {
    xds_servers: [
      {
        server_uri: serverUri,
        channel_creds: [{ type: 'insecure' }],
        server_features: [...features],
      },
    ],
    node: { id: NODE_ID },
  };
}

/** Registers with other options than before in this process. Ends the channels that were created before. */
export function registerAnew(options: RegisterOptions = {}): void {
  void shutdown({ timeoutMs: 0 });
  register(options);
}

/** The meshes that have not been stopped. */
const running = new Set<Mesh>();

/**
 * A control plane, backends and clients, all real; `stop` ends whatever was started. Of several at a time, the first has the
 * bootstrap of the process, and the clients of the others have their own.
 */
export class Mesh {
  private readonly backends: EchoBackend[] = [];
  private readonly clients: EchoClient[] = [];
  private port = 0;
  private options: ControlPlaneOptions = {};
  private type = ControlPlane;
  private channelOptions: ChannelOptions = {};

  private constructor(public controlPlane: ControlPlane) {}

  /**
   * Starts a control plane with nothing to serve and registers the client with it.
   * @param features The server's `server_features`; see `VARIANTS`.
   * @param limits Those of the process: in force if no other mesh was started before.
   */
  static async start(features?: readonly string[], limits: Partial<Limits> = {}): Promise<Mesh> {
    const mesh = new Mesh(new ControlPlane({}));
    mesh.port = (await mesh.controlPlane.start()).port;
    mesh.register({ bootstrap: bootstrapFor(mesh.address, features), limits });
    return mesh;
  }

  private register(options: RegisterOptions): void {
    if (running.size === 0) registerAnew(options);
    else this.channelOptions = { 'grpc_xds.bootstrap': JSON.stringify(options.bootstrap) };
    running.add(this);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** As `start`, with a control plane that has options of its own, such as to be sent load reports. */
  static async startWith(
    options: ControlPlaneOptions,
    features?: readonly string[],
    type = ControlPlane,
  ): Promise<Mesh> {
    const mesh = new Mesh(new type(options));
    mesh.options = options;
    mesh.type = type;
    mesh.port = (await mesh.controlPlane.start()).port;
    mesh.register({ bootstrap: bootstrapFor(mesh.address, features) });
    return mesh;
  }

  async backend(name: string): Promise<EchoBackend> {
    const backend = await EchoBackend.start(name);
    this.backends.push(backend);
    return backend;
  }

  client(options: ChannelOptions = {}, target = `xds:///${SERVICE}`): EchoClient {
    const client = new EchoClient(target, { ...this.channelOptions, ...options });
    this.clients.push(client);
    return client;
  }

  serve(resources: MeshResources): void {
    this.controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
  }

  /** Waits until every client has left the control plane. */
  async untilNoClients(): Promise<void> {
    await eventually(
      () => this.controlPlane.clients().length,
      (count) => count === 0,
    );
  }

  /** Ends the control plane without a word, connections and all. */
  killControlPlane(): void {
    void this.controlPlane.close({ force: true });
  }

  /** Starts a new control plane on the old port. */
  async restartControlPlane(resources: MeshResources): Promise<void> {
    const options = { ...this.options, snapshot: Snapshot.from(resources) };
    this.controlPlane = new this.type(options);
    await this.controlPlane.start(this.port);
  }

  stop(): void {
    running.delete(this);
    for (const client of this.clients) client.close();
    for (const backend of this.backends) backend.stop();
    void this.controlPlane.close({ force: true });
  }
}
