import {
  Server,
  type ServerCredentials,
  type ServerInterceptor,
  type ServerOptions,
} from '@grpc/grpc-js';
import { containedCallback } from '../grpc-js/host-callbacks';
import { guardHostLog } from '../grpc-js/host-log';
import { abortable } from '../util/abort';
import { systemClock, type Clock } from '../util/clock';
import type { ConnectionAdmission } from '../util/connection-admission';
import type { Handle } from '../util/handle';
import { MAX_REQUEST_BYTES, MAX_STREAMS_OF_CONNECTION } from '../util/limits';
import { SessionLimits } from '../util/session-limits';
import {
  GrpcListener,
  type AcceptedConnection,
  type ListenAddress,
  type ListeningSocket,
} from './grpc-listener';
import type { StreamMethod } from './server-stream';
import { errorMessage } from '../util/errors';
import { XdsError } from '../util/xds-error';

/** How long a connection without a stream lasts, also one that has not sent a whole preface. */
const MAX_IDLE_MS = 60_000;

/** A service of the host. */
export interface HostedService {
  readonly methods: readonly StreamMethod[];
  /** Ends streams with UNAVAILABLE. @param peer Only those of the client at this address. Default: all. */
  endStreams(details: string, peer?: string): void;
}

/** The options of `ServiceHost`. */
export interface ServiceHostOptions {
  /** What is hosted, in messages, such as `control plane`. */
  readonly name: string;
  readonly services: readonly HostedService[];
  readonly clock: Clock;
  /** Default: insecure. */
  readonly credentials?: ServerCredentials | undefined;
  /** Called when certificates of the credentials cannot be used; those before stay in use. */
  readonly onBadCertificates?: (error: unknown) => void;
  /** Of each call, before its service receives it. */
  readonly interceptors?: readonly ServerInterceptor[];
  /** Bounds the work for connections whose clients have proven nothing. */
  readonly admission: ConnectionAdmission;
  /** When connections are moved to another server. Default: never, and connections cost less. */
  readonly moves?: MoveOptions | undefined;
}

/** When connections are moved to another server. */
export interface MoveOptions {
  /** Milliseconds from the accept of a connection until it is moved, more or less by a tenth. Default: it has no age. */
  readonly maxConnectionAgeMs: number | undefined;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
}

/** A connection with the first of the times at which it is moved. */
interface MovedConnection {
  readonly connection: AcceptedConnection;
  /** On the monotonic clock; Infinity without one. */
  dueMs: number;
  timer: Handle | undefined;
}

/** What listens. */
interface Started {
  readonly kind: 'started';
  readonly server: Server;
  readonly listeners: readonly [GrpcListener, ...GrpcListener[]];
  /** Aborted when it is killed. */
  readonly killed: AbortController;
}

type State = { readonly kind: 'stopped' } | { readonly kind: 'starting' } | Started;

const stopped: State = { kind: 'stopped' };

/** How long `stop` waits for clients to close their connections, in milliseconds. */
const stopGraceMs = 1000;

/** Milliseconds after their expiry within which the credentials of clients end, each at another time. */
const EXPIRY_JITTER_MS = 5000;

const serverOptions: ServerOptions = {
  'grpc.max_receive_message_length': MAX_REQUEST_BYTES,
  'grpc.max_connection_idle_ms': MAX_IDLE_MS,
  // GrpcListener injects connections: the server would have a listening socket without an address, at which grpcdebug
  // panics (https://github.com/grpc-ecosystem/grpcdebug/blob/v1.0.5/cmd/channelz.go, prettyAddress).
  'grpc.enable_channelz': 0,
};

/** Serves gRPC services at an address, from a start to a stop, any number of times. */
export class ServiceHost {
  private state: State = stopped;
  /** What `stop` still waits for. */
  private readonly stopping = new Set<Started>();
  /** Those that are moved, by the addresses of their clients or, without one, by themselves. */
  private readonly connections = new Map<string | AcceptedConnection, MovedConnection>();
  private readonly admission: ConnectionAdmission;

  constructor(private readonly options: ServiceHostOptions) {
    this.admission = options.admission;
  }

  get isStarted(): boolean {
    return this.state.kind === 'started';
  }

  /** Where it listens first, in the form of `server_uri`; `undefined` if it does not. */
  get address(): string | undefined {
    return this.state.kind === 'started' ? this.state.listeners[0].address : undefined;
  }

  /**
   * Starts to listen.
   *
   * @param others Further addresses.
   * @param signal Gives up this start.
   * @returns the port of the first one; 0 for a path.
   * @throws XdsError if an address cannot be used, or if already started.
   */
  async start(
    address: ListenAddress,
    others: readonly ListenAddress[] = [],
    signal?: AbortSignal,
  ): Promise<number> {
    if (this.state.kind !== 'stopped')
      throw new XdsError('XDS_STATE_INVALID', `the ${this.options.name} is already started`);
    return abortable(
      signal,
      () => this.listenAt([address, ...others]),
      () => this.kill(),
    );
  }

  private async listenAt(addresses: readonly ListenAddress[]): Promise<number> {
    const { name, services, interceptors = [] } = this.options;
    const starting: State = { kind: 'starting' };
    this.state = starting;
    guardHostLog();
    // eslint-disable-next-line no-restricted-syntax -- the limits are those of the next lines
    const server = new Server({ ...serverOptions, interceptors: [...interceptors] });
    // One client alone cannot have all streams that there may be.
    const { admission } = this;
    const sessions = new SessionLimits(server, {
      maxStreams: MAX_STREAMS_OF_CONNECTION,
      // Calls take turns of the event loop, which passes whatever clock the host has.
      clock: systemClock,
      closed: admission.closed,
    });
    for (const { methods } of services) for (const method of methods) method.addTo(server);
    const listeners: GrpcListener[] = [];
    try {
      for (const each of addresses) listeners.push(await this.listen(server, sessions, each));
      const [first, ...others] = listeners;
      if (this.state !== starting || first === undefined)
        throw new XdsError('XDS_STATE_INVALID', `the ${name} was stopped while it was starting`);
      const killed = new AbortController();
      this.state = { kind: 'started', server, listeners: [first, ...others], killed };
      return first.port;
    } catch (error) {
      if (this.state === starting) this.state = stopped;
      for (const listener of listeners) listener.destroy();
      server.forceShutdown();
      if (error instanceof XdsError) throw error;
      throw new XdsError('XDS_LISTEN_FAILED', errorMessage(error), { cause: error });
    }
  }

  /** Listens on another socket in place of the first one, which its owner closes; connections and streams go on. */
  listenOn(to: ListeningSocket): void {
    if (this.state.kind === 'started') this.state.listeners[0].move(to);
  }

  /**
   * Stops listening, ends all streams with UNAVAILABLE, and closes the connections.
   * @param moveMs Milliseconds over which connections are moved, one after the other, before the rest ends. Not without
   * `moves`.
   */
  async stop(moveMs = 0): Promise<void> {
    const { state } = this;
    const { name, services, clock } = this.options;
    this.state = stopped;
    if (state.kind !== 'started') return;
    const { server, listeners, killed } = state;
    this.stopping.add(state);
    for (const listener of listeners) listener.close();
    if (moveMs > 0) await this.moveAll(moveMs, killed.signal);
    for (const service of services) service.endStreams(`the ${name} is shutting down`);
    const timer = clock.setTimer(() => {
      for (const listener of listeners) listener.destroy();
    }, stopGraceMs);
    await new Promise<void>((resolve) => {
      server.tryShutdown(containedCallback('the end of a server', () => resolve()));
    });
    timer.release();
    this.stopping.delete(state);
  }

  /** Closes all connections and stops listening at once, as a crash does. Ends what `stop` waits for. */
  kill(): void {
    const { state } = this;
    this.state = stopped;
    if (state.kind === 'started') this.stopping.add(state);
    for (const { server, listeners, killed } of this.stopping) {
      killed.abort();
      for (const listener of listeners) listener.destroy();
      server.forceShutdown();
    }
    this.stopping.clear();
  }

  /**
   * Moves the connection of a client to another one shortly after its credentials have expired: the next stream has new ones, and
   * the next handshake a new certificate. Not without `moves`.
   */
  moveAfterExpiry(peer: string, expiresAtMs: number): void {
    const { clock, moves } = this.options;
    const jitterMs = EXPIRY_JITTER_MS * (moves?.random() ?? 0);
    const delayMs = expiresAtMs - clock.now() + jitterMs;
    this.moveIn(delayMs, peer, 'the credentials of the client have expired');
  }

  private listen(
    server: Server,
    sessions: SessionLimits,
    address: ListenAddress,
  ): Promise<GrpcListener> {
    const { credentials, onBadCertificates, moves, name } = this.options;
    const connections = moves && {
      onAccepted: (connection: AcceptedConnection) => {
        const key = connection.peer ?? connection;
        this.connections.set(key, { connection, dueMs: Infinity, timer: undefined });
        const { maxConnectionAgeMs: ageMs, random } = moves;
        if (ageMs === undefined) return;
        this.moveIn(ageMs * (0.9 + 0.2 * random()), key, movedBy(name));
      },
      onClosed: (connection: AcceptedConnection) => {
        const key = connection.peer ?? connection;
        this.connections.get(key)?.timer?.release();
        this.connections.delete(key);
      },
    };
    return GrpcListener.listen(server, address, {
      credentials,
      onBadCertificates,
      connections,
      limits: { admission: this.admission, sessions },
    });
  }

  /** Moves a connection after a time, unless it has closed or is moved before. */
  private moveIn(delayMs: number, key: string | AcceptedConnection, reason: string): void {
    const { clock } = this.options;
    const moved = this.connections.get(key);
    const dueMs = clock.monotonicMs() + delayMs;
    if (moved === undefined || moved.dueMs <= dueMs) return;
    moved.timer?.release();
    moved.dueMs = dueMs;
    const wait = () => {
      const leftMs = dueMs - clock.monotonicMs();
      // A timer does not last as long as a certificate.
      if (leftMs > 0) moved.timer = clock.setTimer(wait, leftMs);
      else this.move(moved.connection, reason);
    };
    moved.timer = clock.setTimer(wait, delayMs);
  }

  /** Sends a GOAWAY first, so that the client opens its next stream on another connection. */
  private move(connection: AcceptedConnection, reason: string): void {
    const { peer } = connection;
    connection.drain(stopGraceMs);
    if (peer === undefined) return;
    for (const service of this.options.services) service.endStreams(reason, peer);
  }

  /** Moves the connections that there are, in the order of their accept, at equal distances. */
  private async moveAll(moveMs: number, killed: AbortSignal): Promise<void> {
    const reason = movedBy(this.options.name);
    const connections = [...this.connections];
    const stepMs = moveMs / Math.max(1, connections.length);
    for (const [key, { connection }] of connections) {
      if (!this.connections.has(key)) continue;
      this.move(connection, reason);
      await new Promise<void>((resolve) => {
        const timer = this.options.clock.setTimer(resolve, stepMs, true);
        killed.onabort = () => {
          timer.release();
          resolve();
        };
      });
      if (killed.aborted) return;
    }
  }
}

function movedBy(name: string): string {
  return `the ${name} moves the client to another connection`;
}
