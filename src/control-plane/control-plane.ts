import { Server, status } from '@grpc/grpc-js';
import { systemClock, type Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import { silentLogger, type Logger } from '../util/logger';
import type { AdsStreamHost, DiscoveryStream } from './ads-stream';
import type { ClientIdentity, ClientState } from './client-state';
import type {
  ControlPlaneOptions,
  ListeningAddress,
  SetSnapshotOptions,
} from './control-plane-options';
import { addDiscoveryServices } from './discovery-services';
import { HeartbeatTimer } from './heartbeat-timer';
import type { ClusterLoad } from './load-report';
import { LoadService } from './load-service';
import type { LoadReporting } from './load-stream';
import { GrpcListener, joinHostPort } from './grpc-listener';
import type { Snapshot } from './snapshot';
import { SnapshotStore } from './snapshot-store';

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'started'; readonly server: Server; readonly listener: GrpcListener };

const stopped: State = { kind: 'stopped' };

/** How long `stop` waits for clients to hang up before it hangs up itself, in milliseconds. */
const stopGraceMs = 1000;

/**
 * An xDS management server inside this process: for development, tests and demonstrations. Serves
 * listeners, routes, clusters and endpoints over every kind of stream the protocol has (aggregated or one per
 * type, state-of-the-world or incremental), and takes load reports, without authentication or encryption.
 *
 * It shares no code with the client, so that one can be tested against the other.
 */
export class ControlPlane {
  private readonly host: string;
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly streamHost: AdsStreamHost;
  private readonly loadService: LoadService;
  private readonly heartbeatTimer: HeartbeatTimer;

  private readonly snapshots = new SnapshotStore((node) =>
    this.guard(() => this.options.groupOf?.(node), 'groupOf'),
  );
  private readonly streams = new Set<DiscoveryStream>();
  private streamCount = 0;
  private state: State = stopped;

  /** @throws `ConsistencyError` when the first snapshot is not consistent. */
  constructor(private readonly options: ControlPlaneOptions = {}) {
    this.host = options.host ?? '127.0.0.1';
    this.logger = options.logger ?? silentLogger;
    this.clock = options.clock ?? systemClock;
    this.streamHost = this.createStreamHost();
    this.loadService = this.createLoadService();
    this.heartbeatTimer = new HeartbeatTimer(this.clock, () => this.heartbeat());
    if (options.snapshot !== undefined) this.setSnapshot(options.snapshot);
  }

  /**
   * Starts to listen. May be called again after `stop` or `kill`, with the same port for clients
   * that are to find this server again.
   *
   * @param port Default 0: any that is free.
   * @throws when the address cannot be used, or when already started.
   */
  async start(port = 0): Promise<ListeningAddress> {
    if (this.state.kind !== 'stopped') throw new Error('the control plane is already started');
    const starting: State = { kind: 'starting' };
    this.state = starting;
    const server = new Server({ 'grpc.max_receive_message_length': -1 });
    addDiscoveryServices(server, {
      host: this.streamHost,
      nextStreamId: () => ++this.streamCount,
      accept: (stream) => this.streams.add(stream),
    });
    this.loadService.addTo(server);
    try {
      const listener = await GrpcListener.listen(server, this.host, port);
      if (this.state !== starting) {
        listener.destroy();
        throw new Error('the control plane was stopped while it was starting');
      }
      this.state = { kind: 'started', server, listener };
      this.scheduleHeartbeats();
      return { port: listener.port, address: joinHostPort(this.host, listener.port) };
    } catch (error) {
      if (this.state === starting) this.state = stopped;
      server.forceShutdown();
      throw error;
    }
  }

  /**
   * Replaces what clients are told, and tells them what changed. A snapshot that equals the old one
   * sends nothing.
   *
   * @throws `ConsistencyError` when the snapshot refers to resources it does not hold; the old one
   *   then stays.
   */
  setSnapshot(snapshot: Snapshot, options: SetSnapshotOptions = {}): void {
    this.snapshots.set(snapshot, options);
    for (const stream of [...this.streams]) stream.onSnapshotChanged();
    this.loadService.refresh();
    this.scheduleHeartbeats();
  }

  /**
   * Tells every client now that the resources it has and that expire are still good, without repeating them.
   * Needed only with the option `heartbeats: false`.
   */
  heartbeat(): void {
    for (const stream of [...this.streams]) stream.heartbeat();
  }

  /** Changes what clients report of their calls, and tells those that are connected. */
  setLoadReporting(reporting: LoadReporting): void {
    this.loadService.setReporting(reporting);
  }

  /**
   * Everything clients have reported since the start, or since `clearLoads`, added up per cluster and locality.
   * Calls in progress are those of clients that are connected.
   *
   * @param nodeId Default: all nodes together.
   */
  loads(nodeId?: string): readonly ClusterLoad[] {
    return this.loadService.ledger.totals(nodeId);
  }

  /** Forgets what clients have reported. */
  clearLoads(): void {
    this.loadService.ledger.clear();
  }

  /** The clients that have a stream for load reports, in the order they came. */
  loadClients(): readonly ClientIdentity[] {
    return this.loadService.clients();
  }

  /** The clients connected now, in the order they came. A client with two streams counts twice. */
  clients(): readonly ClientState[] {
    const states: ClientState[] = [];
    for (const stream of this.streams) {
      const state = stream.describe();
      if (state !== undefined) states.push(state);
    }
    return states;
  }

  /** Ends all streams with UNAVAILABLE, closes the connections and stops listening. */
  async stop(): Promise<void> {
    const { state } = this;
    this.state = stopped;
    this.heartbeatTimer.schedule(undefined);
    if (state.kind !== 'started') return;
    const { server, listener } = state;
    listener.close();
    const farewell = 'the control plane is shutting down';
    for (const stream of [...this.streams]) stream.fail(status.UNAVAILABLE, farewell);
    this.loadService.stop(farewell);
    const timer = this.clock.setTimer(() => listener.destroy(), stopGraceMs);
    await new Promise<void>((resolve) => {
      server.tryShutdown(() => resolve());
    });
    timer.release();
  }

  /** Drops all connections and stops listening at once, as a crash would. */
  kill(): void {
    const { state } = this;
    this.state = stopped;
    this.heartbeatTimer.schedule(undefined);
    if (state.kind !== 'started') return;
    state.listener.destroy();
    state.server.forceShutdown();
  }

  private scheduleHeartbeats(): void {
    if (this.state.kind !== 'started' || this.options.heartbeats === false) return;
    this.heartbeatTimer.schedule(this.snapshots.shortestTtlMs);
  }

  private createStreamHost(): AdsStreamHost {
    const { onClientEvent, onRequest, onDeltaRequest } = this.options;
    return {
      identifier: this.options.identifier ?? 'grpc-xds',
      wrapResources: this.options.wrapResources ?? false,
      imitate: this.options.imitate,
      now: () => this.clock.now(),
      snapshotFor: (node) => this.snapshots.for(node),
      onEvent: (event) => this.guard(() => onClientEvent?.(event)),
      onRequest: (client, request) => this.guard(() => onRequest?.(client, request)),
      onDeltaRequest: (client, request) => this.guard(() => onDeltaRequest?.(client, request)),
      onClosed: (stream) => this.streams.delete(stream),
    };
  }

  private createLoadService(): LoadService {
    const { onLoadReport } = this.options;
    return new LoadService(this.options.loadReporting ?? {}, {
      nextStreamId: () => ++this.streamCount,
      snapshotFor: (node) => this.snapshots.for(node),
      onLoadReport: (client, report) => this.guard(() => onLoadReport?.(client, report)),
    });
  }

  /** Calls a function of the application. One that throws must not take the stream or the process with it. */
  private guard<Answer>(call: () => Answer, what = 'an observer'): Answer | undefined {
    try {
      return call();
    } catch (error) {
      this.logger.error(() => `control plane: ${what} threw: ${errorMessage(error)}`);
      return undefined;
    }
  }
}
