import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BootstrapConfig } from '../../../src';
import { eventually } from '../../support/eventually';
import { CertificateFolder } from '../../support/identity-server';
import { bootstrapFor } from '../../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
  type Json,
} from '../../support/xds-json';
import { freePort } from '../../support/free-port';
import { inlineRoutes, serverChain } from '../../support/xds-server-world';
import { FaultyLink } from '../faulty-link';
import { UnreliableServer } from '../unreliable-server';
import type { ClientRequests, ClientStart, LoadReport, LoadStart } from './client-process';
import { RemoteProcess } from './remote-process';
import type { ServerRequests, ServerStart } from './server-process';

/** The target of xDS clients. */
const SERVICE = 'storm.test';
const own = { non_forwarding_action: {} };
/** The methods of the server but the one that shows that the last configuration is in use. */
const REMAINING = ['Say', 'Chat'].map((name) => ({
  match: { path: `/test.Storm/${name}` },
  ...own,
}));

/** The configuration of the server and of xDS clients. */
export interface Config {
  /** The listeners of the server. */
  readonly listeners: readonly Json[];
  readonly routes?: readonly Json[];
  /** The clusters of the xDS clients, which call the first. Default: `echo`, at the first port, in plain text. */
  readonly clusters?: readonly ServedCluster[];
}

/** A cluster of the xDS clients. */
export interface ServedCluster {
  readonly name: string;
  readonly ports: readonly number[];
  /** Fields of the cluster. */
  readonly extra?: Json;
}

/** How a case is run. */
export interface StageOptions {
  readonly features: readonly string[];
  readonly callsPerSecond: number;
  readonly seconds: number;
}

/** The longest delay before a server connects to its control plane again (gRFC A57: 120 s, 20 % jitter), and time to be served. */
const MAX_RECONNECT_MS = 160_000;

/** Routes with which no call of `probe` is served any more. */
export const lastRoutes = inlineRoutes(REMAINING);

/** A control plane with a link to it, servers and clients in processes of their own. */
export class ServerStage {
  readonly folder = new CertificateFolder();
  private readonly servers: RemoteProcess<ServerRequests>[] = [];
  private readonly clients = new RemoteProcess<ClientRequests>('client-process.ts');
  private readonly closers: (() => void)[] = [];
  private load: Pick<LoadStart, 'clients'> = { clients: [] };
  /** Added to the bootstraps, such as `certificate_providers`. */
  bootstrapExtra: Partial<BootstrapConfig> = {};

  private constructor(
    readonly options: StageOptions,
    readonly control: UnreliableServer,
    readonly link: FaultyLink,
    /** Ports that servers may be bound to. */
    readonly ports: readonly [number, number],
  ) {}

  static async start(options: StageOptions): Promise<ServerStage> {
    const control: UnreliableServer = new UnreliableServer(() => undefined);
    await control.start();
    const link = new FaultyLink(control.port);
    await link.listen();
    return new ServerStage(options, control, link, [await freePort(), await freePort()]);
  }

  stop(): void {
    for (const close of this.closers) close();
    for (const server of this.servers) server.stop();
    this.clients.stop();
    this.link.refuse();
    this.control.stop();
    this.folder.close();
  }

  /** Closes something when the case has ended. */
  onStop(close: () => void): void {
    this.closers.push(close);
  }

  get bootstrap(): BootstrapConfig {
    return {
      ...bootstrapFor(this.link.address, this.options.features),
      server_listener_resource_name_template: 'server/%s',
      ...this.bootstrapExtra,
    };
  }

  /** The Listener of the server at a port. */
  listener(chain: Json = serverChain(), port = this.ports[0], host = '127.0.0.1'): Json {
    return {
      name: `server/${host}:${port}`,
      address: { socket_address: { address: host, port_value: port } },
      filter_chains: [chain],
    };
  }

  /** Has the control plane send a configuration: what differs from the one before. */
  serve(config: Config): void {
    this.control.serve(this.resourcesOf(config));
  }

  resourcesOf({ listeners, routes = [], clusters = [this.plainCluster('echo')] }: Config) {
    const [called = this.plainCluster('echo')] = clusters;
    return {
      listeners: [...listeners, listenerJson(SERVICE)],
      routes: [...routes, routeConfigJson(`${SERVICE}-routes`, [routeToCluster(called.name)])],
      clusters: clusters.map(({ name, extra }) => edsClusterJson(name, extra)),
      endpoints: clusters.map(({ name, ports }) => endpointsJson(name, [{ zone: 'a', ports }])),
    };
  }

  /** A cluster without TLS. */
  plainCluster(name: string, ports: readonly number[] = [this.ports[0]]): ServedCluster {
    return { name, ports };
  }

  /** Starts a server in a process of its own, and waits until it is served. */
  async startServer(options: Partial<ServerStart> = {}): Promise<RemoteProcess<ServerRequests>> {
    const server = new RemoteProcess<ServerRequests>('server-process.ts');
    this.servers.push(server);
    await server.request('start', {
      address: `127.0.0.1:${this.ports[0]}`,
      bootstrap: this.bootstrap,
      drainGraceTimeMs: 10_000,
      drainJitterMs: 0,
      ...options,
    });
    return server;
  }

  /** A client of the first port, without xDS. */
  plainClient(tls?: ClientStart['tls']): ClientStart {
    return { target: `127.0.0.1:${this.ports[0]}`, tls };
  }

  get xdsClient(): ClientStart {
    return { target: `xds:///${SERVICE}` };
  }

  /** Begins to call, by four plain clients and one of xDS unless others are given. */
  async startLoad(options: Partial<LoadStart> = {}): Promise<void> {
    const plain = this.plainClient();
    const load: LoadStart = {
      bootstrap: this.bootstrap,
      callsPerSecond: this.options.callsPerSecond,
      clients: [plain, plain, plain, plain, this.xdsClient],
      streams: 0,
      waitForReady: false,
      ...options,
    };
    this.load = load;
    await this.clients.request('start', load);
  }

  /** Does something again and again, as long as the case lasts. @returns how often. */
  async repeat(
    everyMs: number,
    act: (round: number) => void | Promise<void> = () => undefined,
  ): Promise<number> {
    const endsAt = performance.now() + this.options.seconds * 1000;
    let round = 0;
    for (; performance.now() < endsAt; round++) {
      const next = performance.now() + everyMs;
      await act(round);
      await sleep(Math.max(0, next - performance.now()));
    }
    return round;
  }

  report(): Promise<LoadReport> {
    return this.clients.request('report').then(defined);
  }

  /** Waits for the calls that are pending. */
  stopLoad(): Promise<LoadReport> {
    return this.clients.request('stop').then(defined);
  }

  /** Calls on a new connection of the kind of the first client. @returns the name of the status. */
  call(client = this.load.clients[0] ?? this.plainClient()): Promise<string> {
    return this.clients.request('probe', { client, method: 'say' });
  }

  /** Waits until new connections are served by a configuration that has `lastRoutes`. @returns how long, for the notes. */
  async untilLast(client = this.load.clients[0] ?? this.plainClient()): Promise<string> {
    const startMs = performance.now();
    await eventually(
      () => this.clients.request('probe', { client, method: 'probe' }),
      (code) => code !== 'OK',
      MAX_RECONNECT_MS,
    );
    return `the last configuration after ${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  }

  /** Connects to the first port again and again. @returns a function that ends that, and returns how often it was refused. */
  watchPort(): () => number {
    let refused = 0;
    const timer = setInterval(() => {
      const socket = connect(this.ports[0], '127.0.0.1');
      socket.once('connect', () => socket.destroy());
      socket.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED') refused++;
      });
    }, 20);
    const end = () => {
      clearInterval(timer);
      return refused;
    };
    this.onStop(end);
    return end;
  }
}

function defined(report: LoadReport | undefined): LoadReport {
  if (report === undefined) throw new Error('there is no load');
  return report;
}
