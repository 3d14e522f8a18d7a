import type { ServerCredentials } from '@grpc/grpc-js';
import {
  BOOLEAN,
  checkArgument,
  checkOptions,
  FUNCTION,
  LOGGER,
  MILLISECONDS,
  objectOf,
  optional,
  PORT,
  POSITIVE_MILLISECONDS,
  STRING,
  TEXT,
  withMethods,
  type MembersOf,
  type Rule,
} from '../util/check-arguments';
import { START_OPTIONS, type StartOptions } from '../util/abort';
import { Allowance } from '../util/allowance';
import { systemClock, type Clock } from '../util/clock';
import { ClosedConnections } from '../util/closed-connections';
import { ConnectionAdmission, type AdmissionAllowances } from '../util/connection-admission';
import { contained } from '../util/contained';
import { errorMessage } from '../util/errors';
import {
  MAX_LOAD_ENTRIES,
  MAX_LOAD_ENTRIES_OF_CLUSTER,
  MAX_UNAUTHENTICATED,
  MAX_UNAUTHENTICATED_OF_ADDRESS,
} from '../util/limits';
import { containLogger, silentLogger, type Logger } from '../util/logger';
import { systemRandom } from '../util/random';
import { AdsService, type AdsServiceOptions } from './ads/ads-service';
import type { ResourceView } from './ads/resource-view';
import { Authentication, type Authenticate } from './authentication';
import type { ClientStream, ClientNode, ClientEvent, ClientState } from './client-state';
import { LoadTotals, type ClusterLoad, type LoadReport } from './lrs/load-totals';
import { LOAD_REPORTING, LoadService, type LoadReporting } from './lrs/load-service';
import { ServiceHost } from './service-host';
import { SERVER_LISTENER_TEMPLATE } from './snapshot/servers';
import { SNAPSHOT, type Snapshot } from './snapshot/snapshot';
import { SET_OPTIONS, SnapshotStore, type SetSnapshotOptions } from './snapshot/snapshot-store';
import { joinHostPort } from '../util/text';
import { XdsError } from '../util/xds-error';

/** Connections without an authenticated client: the time after which one more may be there, of one address and of all. */
const UNAUTHENTICATED_OF_ADDRESS_MS = 50;
const UNAUTHENTICATED_MS = 10;
/** Addresses whose connections are counted. */
const MAX_ADMISSION_ADDRESSES = 10_000;

/** The options of a control plane. */
export interface ControlPlaneOptions {
  /** The initial snapshot; must be consistent. Default: empty. */
  readonly snapshot?: Snapshot;
  /**
   * Where the resources come from, instead of snapshots: `snapshot`, `groupOf` and `setSnapshot` do not apply to such a control
   * plane. Default: snapshots.
   */
  readonly source?: ResourceView;
  /**
   * Returns the group of a client by its node, such as its metadata or locality; undefined for none. `setSnapshot` can
   * set the snapshot of a group. Called for each stream and again after each `setSnapshot`; a node for which it throws
   * has no group.
   */
  readonly groupOf?: (node: ClientNode) => string | undefined;
  /** IP address or name to listen on. Default `127.0.0.1`: without `authenticate`, this server has no authentication. */
  readonly host?: string;
  /** The addresses to listen on, such as `0.0.0.0:18000` and `[::]:18000`, instead of `host` and the port of `start`. */
  readonly listen?: readonly string[];
  /**
   * Credentials that secure connections, such as from `createReloadingServerCredentials` of `grpc-xds/server`, whose certificates
   * are replaced while it serves. Default: connections are insecure, and anyone on the way can read and change what is sent.
   */
  readonly credentials?: ServerCredentials;
  /**
   * Determines who a client is, for each of its streams, before anything from it is read: by its metadata, such as a bearer token,
   * or by its certificate. Results are not cached; at most 1,000 are pending, each for up to 10 s: beyond that, and if it throws, a
   * stream ends with UNAVAILABLE. A connection is moved within 5 s of the time that `expiresAtMs` of a principal has. Default:
   * every client is served.
   */
  readonly authenticate?: Authenticate;
  /**
   * Milliseconds after which the client of a connection is moved to another one, give or take a tenth: the connections of several
   * replicas behind one address stay balanced, and clients are authenticated again. Default: never.
   */
  readonly maxConnectionAgeMs?: number;
  /** Called with each event on a discovery stream. */
  readonly onClientEvent?: (event: ClientEvent) => void;
  /** The load reports that clients are requested to send. */
  readonly loadReporting?: LoadReporting;
  /** Called with each LRS request that contains loads. */
  readonly onLoadReport?: (client: ClientStream, report: LoadReport) => void;
  /** Default: no output. */
  readonly logger?: Logger;
}

/** What only the command and the tests of this package set. */
export interface ControlPlaneHooks {
  /** Default: the system clock. */
  readonly clock?: Clock;
}

const SOURCE: Rule = withMethods(
  'a source of resources with the methods resourcesFor and watch',
  'resourcesFor',
  'watch',
);
const CREDENTIALS: Rule = withMethods('a ServerCredentials of @grpc/grpc-js', '_isSecure');
const ADDRESSES: Rule = {
  legal: 'a list of addresses with ports, such as "0.0.0.0:18000"',
  accepts: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((each) => parseAddress(each)),
};

/** The options of `ControlPlane.close`. */
export interface CloseOptions {
  /**
   * Milliseconds over which clients are moved to other servers, one after the other, before the rest is stopped. Default: 0, all
   * at once.
   */
  readonly moveMs?: number;
  /**
   * Closes all connections at once, as a crash does, even if another `close` still waits for them. Not with `moveMs`. Default:
   * false.
   */
  readonly force?: boolean;
}

const CLOSE_OPTIONS: MembersOf<CloseOptions> = {
  moveMs: optional(MILLISECONDS),
  force: optional(BOOLEAN),
};

const OPTIONS: MembersOf<ControlPlaneOptions> = {
  snapshot: optional(SNAPSHOT),
  source: optional(SOURCE),
  listen: optional(ADDRESSES),
  credentials: optional(CREDENTIALS),
  authenticate: optional(FUNCTION),
  maxConnectionAgeMs: optional(POSITIVE_MILLISECONDS),
  groupOf: optional(FUNCTION),
  host: optional(TEXT),
  onClientEvent: optional(FUNCTION),
  loadReporting: optional(objectOf(LOAD_REPORTING)),
  onLoadReport: optional(FUNCTION),
  logger: optional(LOGGER),
};

/** The address a control plane listens on. */
export interface ListeningAddress {
  readonly port: number;
  /** `host:port`, the form of `server_uri` in a bootstrap. The first one of several. */
  readonly address: string;
  /** A bootstrap for clients on this machine, such as for `register({ bootstrap })`. */
  readonly bootstrap: ClientBootstrap;
}

/** A bootstrap with one management server. */
export interface ClientBootstrap {
  readonly xds_servers: readonly {
    readonly server_uri: string;
    readonly channel_creds: readonly { readonly type: string }[];
    readonly server_features: readonly string[];
  }[];
  readonly node: { readonly id: string };
  /** The template for the Listeners of `Snapshot.forServers`. Clients do not read it. */
  readonly server_listener_resource_name_template: string;
}

/**
 * An xDS management server in this process, for development, tests and demonstrations. Serves listeners, routes,
 * clusters and endpoints over all variants of the protocol (aggregated or one stream per type, state-of-the-world or
 * incremental) and receives load reports, without authentication or encryption unless options add them.
 *
 * It shares no code with the client, so each tests the other.
 *
 * @example
 * ```ts
 * import { register } from 'grpc-xds';
 * import { ControlPlane, Snapshot } from 'grpc-xds/control-plane';
 *
 * const snapshot = Snapshot.forServices({ echo: ['127.0.0.1:50051'] });
 * const controlPlane = new ControlPlane({ snapshot });
 * const { bootstrap } = await controlPlane.start();
 * register({ bootstrap });
 * ```
 */
export class ControlPlane {
  private readonly host: string;
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly ads: AdsService;
  private readonly lrs: LoadService;
  private readonly snapshots: SnapshotStore;
  private readonly view: ResourceView;
  private readonly totals: LoadTotals;
  private readonly server: ServiceHost;
  private streamCount = 0;

  /** @throws `ConsistencyError` if the initial snapshot is not consistent; XdsError if an option is unknown or invalid. */
  constructor(options?: ControlPlaneOptions);
  /** @internal */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the declarations of the package leave this one out
  constructor(options: ControlPlaneOptions, hooks: ControlPlaneHooks);
  constructor(
    private readonly options: ControlPlaneOptions = {},
    hooks: ControlPlaneHooks = {},
  ) {
    checkOptions('new ControlPlane()', options, OPTIONS);
    this.host = options.host ?? '127.0.0.1';
    this.logger = containLogger(options.logger ?? silentLogger);
    this.clock = hooks.clock ?? systemClock;
    this.snapshots = new SnapshotStore(this.contain('groupOf', options.groupOf));
    this.view = options.source ?? this.snapshots;
    if (options.source !== undefined && (options.snapshot ?? options.groupOf) !== undefined)
      throw contradiction('new ControlPlane()', 'source, or snapshot and groupOf');
    const { onClientEvent } = options;
    this.ads = this.createAdsService({
      settings: { identifier: 'grpc-xds', wrapResources: false },
      clock: this.clock,
      nextStreamId: () => ++this.streamCount,
      view: this.view,
      onEvent: onClientEvent && this.contain('onClientEvent', onClientEvent),
    });
    this.totals = this.createTotals();
    this.lrs = this.createLoadService();
    this.server = this.createHost();
    if (options.snapshot !== undefined) this.setSnapshot(options.snapshot);
  }

  /**
   * Starts to listen. May be called again after `close`; with the same port, clients reconnect.
   *
   * @param port Default 0: any free port. Not with the option `listen`, which has the ports.
   * @throws XdsError if an address cannot be used, or if already started.
   */
  async start(port = 0, options: StartOptions = {}): Promise<ListeningAddress> {
    checkArgument('ControlPlane.start()', 'port', port, PORT);
    checkOptions('ControlPlane.start()', options, START_OPTIONS);
    const { listen } = this.options;
    if (listen !== undefined && port !== 0) {
      throw new XdsError(
        'XDS_OPTION_INVALID',
        'ControlPlane.start(): the option listen has the ports already',
      );
    }
    const addresses = listen?.flatMap((text) => parseAddress(text) ?? []);
    const [first = { host: this.host, port }, ...others] = addresses ?? [];
    const listening = await this.server.start(first, others, options.signal);
    this.scheduleHeartbeats();
    return toListeningAddress(first.host, listening);
  }

  /**
   * Replaces the snapshot and sends clients the changes. A snapshot equal to the current one sends nothing.
   *
   * @throws `ConsistencyError` if the snapshot refers to resources it does not hold; the current one stays. XdsError for an option
   * that is unknown or illegal, and if the resources come from the option `source`.
   */
  setSnapshot(snapshot: Snapshot, options: SetSnapshotOptions = {}): void {
    checkArgument('ControlPlane.setSnapshot()', 'snapshot', snapshot, SNAPSHOT);
    checkOptions('ControlPlane.setSnapshot()', options, SET_OPTIONS);
    if (this.options.source !== undefined) {
      throw new XdsError(
        'XDS_STATE_INVALID',
        'ControlPlane.setSnapshot(): the resources come from the option source',
      );
    }
    if (options.nodeId !== undefined && options.group !== undefined)
      throw contradiction('ControlPlane.setSnapshot()', 'nodeId or group');
    this.snapshots.set(snapshot, options);
    this.scheduleHeartbeats();
  }

  /** Changes the requested load reports, also of connected clients. */
  setLoadReporting(reporting: LoadReporting): void {
    checkOptions('ControlPlane.setLoadReporting()', reporting, LOAD_REPORTING);
    this.lrs.setReporting(reporting);
  }

  /**
   * Returns the totals of all load reports since the creation of the server or the last `clearLoads`, by cluster and locality.
   * Calls in progress are counted for connected clients.
   *
   * @param nodeId Default: all nodes.
   */
  loads(nodeId?: string): readonly ClusterLoad[] {
    checkArgument('ControlPlane.loads()', 'nodeId', nodeId, optional(STRING));
    return this.totals.list(nodeId);
  }

  /** Removes all reported loads. */
  clearLoads(): void {
    this.totals.clear();
  }

  /** Returns the clients with an LRS stream, in the order of their streams. */
  loadClients(): readonly ClientStream[] {
    return this.lrs.clients();
  }

  /** Returns the clients with a discovery stream, in the order of their streams. A client with two streams appears twice. */
  clients(): readonly ClientState[] {
    return this.ads.clients();
  }

  /** Stops listening, ends all streams with UNAVAILABLE, and closes the connections. */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('ControlPlane.close()', options, CLOSE_OPTIONS);
    const { force = false, moveMs = 0 } = options;
    if (force && moveMs > 0) throw contradiction('ControlPlane.close()', 'moveMs or force');
    this.ads.scheduleHeartbeats(undefined);
    if (force) this.server.kill();
    else await this.server.stop(moveMs);
  }

  private scheduleHeartbeats(): void {
    if (this.server.isStarted) this.ads.scheduleHeartbeats(this.view.shortestTtlMs);
  }

  private createHost(): ServiceHost {
    const { clock, logger } = this;
    const { credentials, authenticate, maxConnectionAgeMs } = this.options;
    const closed = new ClosedConnections(clock, logger);
    const allowances = authenticate && createAllowances();
    const admission = new ConnectionAdmission(clock, closed, allowances);
    const authentication =
      authenticate &&
      new Authentication({
        authenticate,
        clock,
        logger,
        onAuthenticated: (peer, expiresAtMs) => {
          admission.onAuthenticated(peer);
          if (expiresAtMs !== undefined) host.moveAfterExpiry(peer, expiresAtMs);
        },
      });
    const host = new ServiceHost({
      name: 'control plane',
      services: [this.ads, this.lrs],
      clock,
      credentials,
      admission,
      interceptors: authentication === undefined ? [] : [authentication.interceptor],
      moves: { maxConnectionAgeMs, random: systemRandom },
      onBadCertificates: (error) =>
        logger.error(
          () =>
            `control plane: certificates cannot be used: ${errorMessage(error)}: those before stay`,
        ),
    });
    return host;
  }

  /** @internal */
  protected createAdsService(options: AdsServiceOptions): AdsService {
    return new AdsService(options);
  }

  private createTotals(): LoadTotals {
    return new LoadTotals(() =>
      this.logger.error(
        () =>
          `control plane: load reports have more than ${MAX_LOAD_ENTRIES} clusters, localities, metrics and categories, or ${MAX_LOAD_ENTRIES_OF_CLUSTER} of one cluster: loads() leaves out the others until clearLoads()`,
      ),
    );
  }

  private createLoadService(): LoadService {
    const onLoadReport = this.contain('onLoadReport', this.options.onLoadReport);
    return new LoadService(this.options.loadReporting ?? {}, {
      clock: this.clock,
      nextStreamId: () => ++this.streamCount,
      view: this.view,
      onReport: (client, report) => {
        this.totals.add(client, report);
        onLoadReport(client, report);
      },
      onClosed: ({ streamId }) => this.totals.removeStream(streamId),
    });
  }

  /** Returns a function of the application. An exception of it is logged and does not end the stream. */
  private contain<Args extends readonly unknown[], R>(
    name: string,
    call: ((...args: Args) => R) | undefined,
  ): (...args: Args) => R | undefined {
    if (call === undefined) return () => undefined;
    return contained(call, (error) =>
      this.logger.error(() => `control plane: ${name} threw: ${errorMessage(error)}`),
    );
  }
}

/** The error of options that exclude each other. */
function contradiction(caller: string, options: string): XdsError {
  return new XdsError('XDS_OPTION_INVALID', `${caller} takes either ${options}`);
}

function createAllowances(): AdmissionAllowances {
  return {
    ofAddress: new Allowance({
      atOnce: MAX_UNAUTHENTICATED_OF_ADDRESS,
      everyMs: UNAUTHENTICATED_OF_ADDRESS_MS,
      maxSources: MAX_ADMISSION_ADDRESSES,
    }),
    ofAll: new Allowance({
      atOnce: MAX_UNAUTHENTICATED,
      everyMs: UNAUTHENTICATED_MS,
      maxSources: 1,
    }),
  };
}

function toListeningAddress(host: string, port: number): ListeningAddress {
  const address = joinHostPort(host, port);
  const server = {
    server_uri: toReachable(address),
    channel_creds: [{ type: 'insecure' }],
    server_features: ['xds_v3'],
  };
  const bootstrap = {
    xds_servers: [server],
    node: { id: 'my-client' },
    server_listener_resource_name_template: SERVER_LISTENER_TEMPLATE,
  };
  return { port, address, bootstrap };
}

/** Parses an address of the option `listen`. */
function parseAddress(text: unknown): { readonly host: string; readonly port: number } | undefined {
  if (typeof text !== 'string') return undefined;
  const [, bracketed, host = bracketed, port] =
    /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535) return undefined;
  return { host, port: Number(port) };
}

/** Replaces an address of all interfaces by the loopback address. */
function toReachable(address: string): string {
  return address.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:');
}
