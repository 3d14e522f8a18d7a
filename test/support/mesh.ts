import type { ChannelCredentials, ChannelOptions, ServerCredentials } from '@grpc/grpc-js';
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

/** Of the variants, one with a single stream and the other with as many as there can be; `XDS_TEST_VARIANTS=all`: all. */
export const DISTANT_VARIANTS =
  process.env.XDS_TEST_VARIANTS === 'all'
    ? VARIANTS
    : [0, 3].flatMap((at) => VARIANTS.slice(at, at + 1));

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

/** What a mesh has that is not as usual. */
export interface MeshOptions {
  /** The `server_features` of its server; see `VARIANTS`. */
  readonly features?: readonly string[] | undefined;
  /** Those of the process: in force if no other mesh was started before. */
  readonly limits?: Partial<Limits>;
  /** Options of the control plane, for example to receive load reports. */
  readonly controlPlane?: ControlPlaneOptions;
  readonly type?: typeof ControlPlane;
}

/**
 * A control plane, backends and clients, all real; `stop` ends whatever was started. Of several at a time, the first has the
 * bootstrap of the process, and the clients of the others have their own.
 */
export class Mesh {
  controlPlane: ControlPlane;
  private readonly backends: EchoBackend[] = [];
  private readonly clients: EchoClient[] = [];
  private port = 0;
  private channelOptions: ChannelOptions = {};

  constructor(private readonly options: MeshOptions = {}) {
    this.controlPlane = this.createControlPlane();
  }

  /** Starts a control plane with nothing to serve and registers the client with it. */
  static async start(features?: readonly string[], limits: Partial<Limits> = {}): Promise<Mesh> {
    return new Mesh({ features, limits }).begin();
  }

  /** As `start`, with a control plane that has options of its own. */
  static async startWith(
    controlPlane: ControlPlaneOptions,
    features?: readonly string[],
    type = ControlPlane,
  ): Promise<Mesh> {
    return new Mesh({ controlPlane, features, type }).begin();
  }

  /** Begins, again after a stop. */
  async begin(): Promise<this> {
    const { features, limits = {} } = this.options;
    this.controlPlane = this.createControlPlane();
    this.port = (await this.controlPlane.start()).port;
    this.register({ bootstrap: bootstrapFor(this.address, features), limits });
    return this;
  }

  private createControlPlane(options: ControlPlaneOptions = {}): ControlPlane {
    const { controlPlane, type: Type = ControlPlane } = this.options;
    return new Type({ ...controlPlane, ...options });
  }

  private register(options: RegisterOptions): void {
    this.channelOptions = {};
    if (running.size === 0) registerAnew(options);
    else this.channelOptions = { 'grpc_xds.bootstrap': JSON.stringify(options.bootstrap) };
    running.add(this);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async backend(name: string, credentials?: ServerCredentials): Promise<EchoBackend> {
    const backend = await EchoBackend.start(name, credentials);
    this.backends.push(backend);
    return backend;
  }

  client(
    options: ChannelOptions = {},
    target = `xds:///${SERVICE}`,
    credentials?: ChannelCredentials,
  ): EchoClient {
    const client = new EchoClient(target, { ...this.channelOptions, ...options }, credentials);
    this.clients.push(client);
    return client;
  }

  serve(resources: MeshResources): void {
    this.controlPlane.setSnapshot(Snapshot.from(resources), { allowInconsistent: true });
  }

  /** Waits until every client has left the control plane. */
  async untilNoClients(): Promise<void> {
    await eventually(() => this.controlPlane.clients().length, 0);
  }

  /** Ends the control plane without a word, connections and all. */
  killControlPlane(): void {
    void this.controlPlane.close({ force: true });
  }

  /** Starts a new control plane on the old port. */
  async restartControlPlane(resources: MeshResources): Promise<void> {
    this.controlPlane = this.createControlPlane({ snapshot: Snapshot.from(resources) });
    await this.controlPlane.start(this.port);
  }

  closeClients(): void {
    for (const client of this.clients.splice(0)) client.close();
  }

  stop(): void {
    running.delete(this);
    this.closeClients();
    for (const backend of this.backends.splice(0)) backend.stop();
    void this.controlPlane.close({ force: true });
  }
}

/** Returns the mesh of the tests of a block, which begins anew for each of them. */
export function useMesh(options?: MeshOptions): Mesh {
  const mesh = new Mesh(options);
  beforeEach(async () => {
    await mesh.begin();
  });
  afterEach(() => mesh.stop());
  return mesh;
}

/** Returns one mesh for all tests of a block. */
export function useSharedMesh(options?: MeshOptions): Mesh {
  const mesh = new Mesh(options);
  beforeAll(async () => {
    await mesh.begin();
  });
  afterAll(() => mesh.stop());
  return mesh;
}
