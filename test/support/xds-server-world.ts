import { connect } from 'node:net';
import { freePort } from './free-port';
import {
  Client,
  credentials,
  Metadata,
  ServerCredentials,
  status,
  type ChannelCredentials,
  type ChannelOptions,
  type ClientDuplexStream,
  type ServiceError,
} from '@grpc/grpc-js';
import type { BootstrapConfig } from '../../src';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { XdsServer, XdsServerCredentials, type XdsServerOptions } from '../../src/server';
import { echoMethod } from './echo-backend';
import { CertificateFolder } from './identity-server';
import { bootstrapFor } from './mesh';
import type { TestCertificate } from './test-certificates';
import { routerFilter, type Json } from './xds-json';

const TYPE = 'type.googleapis.com';
const MANAGER = `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`;

/** A route for every call that a server handles itself. */
const ownRoute: Json = { match: { prefix: '' }, non_forwarding_action: {} };

/** The routes of a listener, inside of it. */
export function inlineRoutes(routes: readonly Json[] = [ownRoute]): Json {
  return { route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] } };
}

/** A filter chain of a server. @param manager Its routes, and HTTP filters if it has others than the router. */
export function serverChain(manager: Json = inlineRoutes(), extra: Json = {}): Json {
  const config = { '@type': MANAGER, http_filters: [routerFilter], ...manager };
  return { filters: [{ name: 'manager', typed_config: config }], ...extra };
}

/** Routes by RDS. */
export function rdsRoutes(route_config_name: string): Json {
  return { rds: { route_config_name, config_source: { ads: {} } } };
}

export function serverRouteConfig(name: string, routes: readonly Json[] = [ownRoute]): Json {
  return { name, virtual_hosts: [{ name: 'all', domains: ['*'], routes }] };
}

/** The RBAC filter with one policy, by a rule of permissions. */
export function rbacFilter(
  action: 'ALLOW' | 'DENY',
  permissions: readonly Json[],
  principals: readonly Json[] = [{ any: true }],
  policy = 'the-policy',
): Json {
  const policies = { [policy]: { permissions, principals } };
  return {
    name: 'rbac',
    typed_config: {
      '@type': `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBAC`,
      rules: { action, policies },
    },
  };
}

/** A transport socket of istiod: certificates of the instance `default`. */
export function strictTls(extra: Json = {}): Json {
  const instance = { instance_name: 'default' };
  return {
    transport_socket: {
      name: 'envoy.transport_sockets.tls',
      typed_config: {
        '@type': `${TYPE}/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext`,
        common_tls_context: {
          tls_certificate_provider_instance: instance,
          validation_context: { ca_certificate_provider_instance: instance },
        },
        require_client_certificate: true,
        ...extra,
      },
    },
  };
}

/** A change of the state of an address. */
export interface SeenState {
  readonly state: string;
  readonly error: string | undefined;
}

const same = (bytes: Buffer) => bytes;
const bidiMethod = {
  ...echoMethod,
  path: '/test.Echo/Chat',
  requestStream: true,
  responseStream: true,
};

/** An xDS server with its control plane and clients, all real and of one test. */
export class XdsServerWorld {
  controlPlane = new ControlPlane({});
  port = 0;
  bootstrapExtra: Partial<BootstrapConfig> = {};
  readonly states: SeenState[] = [];
  /** The ports of the clients of calls, one for each connection. */
  readonly peers = new Set<string>();
  calls = 0;
  private host = '127.0.0.1';
  private controlPort = 0;
  private folder: CertificateFolder | undefined;
  private readonly servers: XdsServer[] = [];
  private readonly clients: Client[] = [];

  static start(host?: string): Promise<XdsServerWorld> {
    return new XdsServerWorld().begin(host);
  }

  /** Begins, again after a stop, with an address of this host. */
  async begin(host = '127.0.0.1'): Promise<this> {
    this.host = host;
    this.bootstrapExtra = {};
    this.states.length = 0;
    this.peers.clear();
    this.calls = 0;
    this.controlPlane = new ControlPlane({});
    this.controlPort = (await this.controlPlane.start()).port;
    this.port = await freePort();
    return this;
  }

  /** The address that servers are bound to. */
  get address(): string {
    return this.host.includes(':') ? `[${this.host}]:${this.port}` : `${this.host}:${this.port}`;
  }

  get bootstrap(): BootstrapConfig {
    return {
      ...bootstrapFor(`127.0.0.1:${this.controlPort}`),
      server_listener_resource_name_template: 'server/%s',
      ...this.bootstrapExtra,
    };
  }

  /**
   * Gives servers their certificates, by the provider `default` of the bootstrap.
   *
   * @param extra Further settings of the provider `file_watcher`.
   * @returns the folder of the files, which `stop` removes.
   */
  useCertificates(
    identity: TestCertificate,
    root: { readonly certificate: string },
    extra: Json = {},
  ): CertificateFolder {
    const folder = new CertificateFolder();
    this.folder = folder;
    folder.writeIdentity(identity);
    const config = {
      certificate_file: folder.path('tls.crt'),
      private_key_file: folder.path('tls.key'),
      ca_certificate_file: folder.write('ca.crt', root.certificate),
      ...extra,
    };
    this.bootstrapExtra = {
      certificate_providers: { default: { plugin_name: 'file_watcher', config } },
    };
    return folder;
  }

  get listenerName(): string {
    return `server/${this.address}`;
  }

  /** A listener of the address. */
  listener(chains: readonly Json[] = [serverChain()], extra: Json = {}): Json {
    const address = { socket_address: { address: this.host, port_value: this.port } };
    return { name: this.listenerName, address, filter_chains: chains, ...extra };
  }

  serve(listeners: readonly Json[], routes: readonly Json[] = []): void {
    const resources = { listeners, routes, clusters: [], endpoints: [] };
    this.controlPlane.setSnapshot(Snapshot.from(resources), {
      allowInconsistent: true,
    });
  }

  async restartControlPlane(listeners: readonly Json[]): Promise<void> {
    this.controlPlane = new ControlPlane({});
    this.serve(listeners);
    await this.controlPlane.start(this.controlPort);
  }

  server(options: Partial<XdsServerOptions> = {}): XdsServer {
    const server = new XdsServer({
      bootstrap: this.bootstrap,
      drainJitterMs: 0,
      onServingState: (_address, state, error) =>
        this.states.push({ state, error: error?.message }),
      ...options,
    });
    const say = (
      call: { getPeer(): string },
      callback: (error: null, answer: Buffer) => void,
    ): void => {
      this.calls++;
      this.peers.add(call.getPeer());
      callback(null, Buffer.from('ok'));
    };
    const chat = (call: NodeJS.ReadWriteStream): void => void call.pipe(call);
    server.addService({ say: echoMethod, chat: bidiMethod }, { say, chat });
    this.servers.push(server);
    return server;
  }

  /** Binds a server to the address. @returns what its callback is called with. */
  bind(
    server: XdsServer,
    own: ServerCredentials = new XdsServerCredentials(ServerCredentials.createInsecure()),
  ): Promise<{ readonly error: Error | null; readonly port: number }> {
    return new Promise((resolve) => {
      server.bindAsync(this.address, own, (error, port) => resolve({ error, port }));
    });
  }

  client(
    own = credentials.createInsecure(),
    host = '127.0.0.1',
    options: ChannelOptions = {},
  ): Client {
    const client = new Client(`${host}:${this.port}`, own, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 100,
      ...options,
    });
    this.clients.push(client);
    return client;
  }

  /** Connects to the address. @returns whether that is refused, closed without a byte, or answered. */
  async connects(host = '127.0.0.1'): Promise<'refused' | 'closed' | 'open'> {
    const socket = connect({ host, port: this.port });
    const outcome = await new Promise<'refused' | 'closed' | 'open'>((resolve) => {
      socket.once('error', () => resolve('refused'));
      socket.once('close', () => resolve('closed'));
      socket.once('data', () => resolve('open'));
      // A server of HTTP/2 begins with its settings.
      socket.once('connect', () =>
        socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
      );
    });
    socket.destroy();
    return outcome;
  }

  stop(): void {
    for (const client of this.clients.splice(0)) client.close();
    for (const server of this.servers.splice(0)) server.forceShutdown();
    void this.controlPlane.close({ force: true });
    this.folder?.close();
    this.folder = undefined;
  }
}

/** Returns the world of the tests of a file or a block, which begins anew for each of them. */
export function useServerWorld(): XdsServerWorld {
  const world = new XdsServerWorld();
  beforeEach(async () => {
    await world.begin();
  });
  afterEach(() => world.stop());
  return world;
}

/** Credentials of a client that trusts the root, with a certificate of its own unless it has none. */
export function clientTls(
  root: { readonly certificate: string },
  own?: TestCertificate,
): ChannelCredentials {
  return credentials.createSsl(
    Buffer.from(root.certificate),
    own ? Buffer.from(own.privateKey) : null,
    own ? Buffer.from(own.certificateChain) : null,
  );
}

/** Calls a server. @returns `OK`, or the code and the details of its status. */
export function callServer(
  client: Client,
  { path = echoMethod.path, metadata = new Metadata(), deadlineMs = 20_000 } = {},
): Promise<string> {
  return new Promise((resolve) => {
    const onAnswer = (error: ServiceError | null) =>
      resolve(error === null ? 'OK' : `${status[error.code] ?? error.code}: ${error.details}`);
    const deadline = Date.now() + deadlineMs;
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), metadata, { deadline }, onAnswer);
  });
}

/** Opens a stream that echoes. */
export function openStream(client: Client): ClientDuplexStream<Buffer, Buffer> {
  return client.makeBidiStreamRequest(bidiMethod.path, same, same);
}
