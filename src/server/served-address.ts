import type { Socket } from 'node:net';
import type { ServerCredentials } from '../grpc-js';
import { processServers } from '../observe/admin/process-servers';
import type { ServerReport } from '../observe/admin/server-report';
import { ServerInstruments, ServerLabel } from '../observe/stats/instruments';
import type { ReportGauge } from '../observe/stats/stats-plugin';
import { processStats } from '../observe/stats/stats-registry';
import type { SocketListener } from '../resources/listener/listener';
import { keepProcessAlive } from '../util/clock';
import type { ConnectionAdmission } from '../util/connection-admission';
import { errorStack } from '../util/errors';
import type { Handle } from '../util/handle';
import { lazy } from '../util/lazy';
import { err } from '../util/result';
import { SERVER_TARGET } from '../util/report-targets';
import { describeServers } from '../xds-client/xds-errors';
import { ListenSocket } from './connections/listen-socket';
import { ListenerSnapshot, type RoutesOf } from './connections/listener-snapshot';
import type { ServerEnvironment } from './connections/served-chain';
import { endsOf, ServerConnection } from './connections/server-connection';
import { recordListenerName } from './listener-names';
import { ListenerWatch, type ListenerWatcher } from './listener/listener-watch';
import type * as DescribeServer from './observation/describe-server';
import { ServerEvents } from './observation/server-events';
import { ServingStatus, type BindCallback, type ServingStatusOptions } from './serving-status';
import { xdsFallbackOf } from './xds-server-credentials';
import type { AcquiredClient } from './acquire-client';

/** Loaded lazily, because few processes report their state. */
const loadDescribe = lazy<typeof DescribeServer>(() => require('./observation/describe-server'));

/** How connections end. */
export interface DrainOptions {
  /** Milliseconds from the GOAWAY of a connection after which its calls that are left are cancelled. Infinity: never. */
  readonly graceMs: number;
  /** Milliseconds over which the begins of the drains of the connections are spread. */
  readonly jitterMs: number;
}

/** Constructor options of an address. Its client is released when it is closed. */
export interface ServedAddressOptions
  extends
    AcquiredClient,
    Omit<ServingStatusOptions, 'client'>,
    Pick<ServerEnvironment, 'createInjector' | 'credentials' | 'enableTrace' | 'sessions'> {
  readonly admission: ConnectionAdmission;
  /** How connections are drained after an update. */
  readonly drain: DrainOptions;
  /** Called once, when it is closed: it cannot be served any more. */
  readonly onClosed: () => void;
  /** Called once, when it has been closed and its last connection has closed. */
  readonly onEnded: () => void;
}

const { SERVING, CONNECTIONS, CALLS } = ServerInstruments;

/**
 * An address to which a server is bound, with its part of the XdsClient of the process. It listens while there is a Listener to
 * serve; each version of that is a snapshot with its own connections (gRFC A36).
 */
export class ServedAddress implements ListenerWatcher {
  private readonly status: ServingStatus;
  private readonly events: ServerEvents;
  private readonly environment: ServerEnvironment;
  /** Those that are open, in the order in which they were accepted, each with its snapshot. */
  private readonly connections = new Set<ServerConnection>();
  /** That accepts connections. */
  private current: ListenerSnapshot | undefined;
  private watch: ListenerWatch | undefined;
  private socket: ListenSocket | undefined;
  private isClosed = false;
  /** Released when it is closed. */
  private readonly used: readonly Handle[];
  /** Released when it has ended. */
  private readonly shown: readonly (Handle | undefined)[];
  private readonly onShutdown = () => {
    this.close('shutdown() of grpc-xds was called', this.options.drain);
  };
  private readonly routesOf: RoutesOf = (name) =>
    this.watch?.routesOf(name) ?? err('the Listener is not watched yet');

  constructor(private readonly options: ServedAddressOptions) {
    const { address, listenerName: name, client: used } = options;
    const { client, clock, logger } = used;
    this.used = [recordListenerName(options), keepProcessAlive(clock), used];
    this.status = new ServingStatus(options);
    const subject = `server ${address.text}: `;
    const stats = processStats.forChannel(SERVER_TARGET, logger);
    const { bootstrap, types } = used;
    const nodeId = bootstrap.node.id;
    const environment = { address: address.text, nodeId, subject, stats, clock, logger };
    this.events = new ServerEvents(environment);
    this.environment = {
      ...options,
      subject,
      events: this.events,
      fallback: xdsFallbackOf(options.credentials),
      origin: describeServers(bootstrap, name, types.listener.typeUrl),
    };
    this.shown = [
      processServers.add({
        report: () => this.report(),
        forgetCalls: () => this.events.recent.clear(),
      }),
      stats?.observeGauges([SERVING, CONNECTIONS, CALLS], (report) => this.observe(report)),
    ];
    // What is known already is notified after this task, when there is a watch.
    client.run(() => {
      // By a callback of the application, which runs in the same queue.
      if (this.isClosed) return;
      this.watch = new ListenerWatch({ ...used, client, name, address, watcher: this });
    });
    used.shutdown.addEventListener('abort', this.onShutdown);
  }

  get credentials(): ServerCredentials {
    return this.options.credentials;
  }

  /** Calls the callback when the address is served for the first time, or is closed before that. */
  whenServed(callback: BindCallback): void {
    this.status.whenServed(callback);
  }

  onServing(listener: SocketListener): void {
    this.apply(() => this.use(listener));
  }

  /** Calls on the connections that there are use the new routes from now on. */
  onRoutes(routeConfigName: string): void {
    this.apply(() => this.current?.useRoutes(routeConfigName));
  }

  onNotServing(reason: string): void {
    this.stop({ ...this.options.drain, jitterMs: 0 });
    this.status.onNotServing(reason);
  }

  /** Ends the connections that there are. New ones are accepted meanwhile. */
  drain({ graceMs, jitterMs }: DrainOptions): void {
    const { random } = this.options.client;
    for (const connection of this.connections) {
      connection.drain(graceMs, Math.min(jitterMs, graceMs) * random());
    }
  }

  /** Accepts no more connections, and ends those that there are. @param reason Such as `unbound`. */
  close(reason: string, drain: DrainOptions): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.options.onClosed();
    this.watch?.release();
    this.stop(drain);
    this.endIfUnused();
    this.options.client.shutdown.removeEventListener('abort', this.onShutdown);
    for (const handle of this.used) handle.release();
    this.status.onClosed(reason);
  }

  /** As {@link close}, and closes the connections with their calls. */
  destroy(reason: string): void {
    this.close(reason, { graceMs: Infinity, jitterMs: 0 });
    for (const connection of this.connections) connection.destroy();
  }

  private apply(update: () => void): void {
    try {
      update();
    } catch (error) {
      this.reportError('', error);
      if (this.current === undefined) {
        this.status.onNotServing('unexpected error, which is in the log');
      }
    }
  }

  private use(listener: SocketListener): void {
    const next = new ListenerSnapshot(listener, this.routesOf, this.environment);
    // Closed by the application, in its logger.
    if (this.isClosed) {
      next.retire();
      return;
    }
    this.retire(this.options.drain);
    this.current = next;
    this.socket ??= this.listen();
  }

  /** Ends the use of the Listener, and drains the connections. */
  private retire(drain: DrainOptions): void {
    const { current } = this;
    if (current === undefined) return;
    this.current = undefined;
    this.drain(drain);
    current.retire();
  }

  private listen(): ListenSocket {
    const { address, client } = this.options;
    return new ListenSocket({
      address,
      clock: client.clock,
      onConnection: (socket) => this.accept(socket),
      onListening: () => this.status.onServing(),
      onFailed: (reason) => this.status.onNotServing(reason),
      onAcceptFailed: (reason) =>
        client.logger.error(
          () => `${this.environment.subject}a connection cannot be accepted: ${reason}`,
        ),
    });
  }

  /** An exception here would end the process. */
  private accept(socket: Socket): void {
    try {
      const { current } = this;
      const ends = endsOf(socket);
      const chain = ends && current?.accept(ends);
      if (ends === undefined || current === undefined || chain === undefined) {
        socket.destroy();
        return;
      }
      const connection = new ServerConnection(socket, ends, chain, current);
      this.connections.add(connection);
      socket.once('close', () => {
        this.connections.delete(connection);
        this.endIfUnused();
      });
      this.options.admission.admit(socket, (onProven, onSecured) =>
        chain.secure(socket, (stream) => {
          onSecured();
          connection.open(stream, onProven);
        }),
      );
    } catch (error) {
      socket.destroy();
      this.reportError('a connection is closed: ', error);
    }
  }

  private reportError(effect: string, error: unknown): void {
    const { client, subject } = this.environment;
    client.logger.error(() => `${subject}${effect}unexpected error: ${errorStack(error)}`);
  }

  private stop(drain: DrainOptions): void {
    this.socket?.release();
    this.socket = undefined;
    this.retire(drain);
  }

  private endIfUnused(): void {
    if (!this.isClosed || this.connections.size > 0) return;
    for (const handle of this.shown) handle?.release();
    this.options.onEnded();
  }

  /** Reports the gauges when metrics are collected. */
  private observe(report: ReportGauge): void {
    const { calls } = this.events;
    const labels = { [ServerLabel.ADDRESS]: this.options.address.text };
    report(SERVING, this.status.notServing === undefined ? 1 : 0, labels);
    report(CALLS, calls.started - calls.ended, labels);
    let draining = 0;
    for (const { accepts } of this.connections) if (!accepts) draining++;
    const { CONNECTION_STATE } = ServerLabel;
    report(CONNECTIONS, this.connections.size - draining, {
      ...labels,
      [CONNECTION_STATE]: 'open',
    });
    report(CONNECTIONS, draining, { ...labels, [CONNECTION_STATE]: 'draining' });
  }

  private report(): ServerReport {
    const { status, current, connections } = this;
    const state = { ...this.options, ...this.environment, status, current, connections };
    return loadDescribe().describeServer(state);
  }
}
