import type { Socket } from 'node:net';
import type { Allowance } from './allowance';
import { inNextTurn, systemLoop, type Clock } from './clock';
import type { ClosedConnections, CloseReason } from './closed-connections';
import { describeDuration, inSeconds } from './duration';
import type { Handle } from './handle';
import { HandshakeCosts, sourceOf, SourceDelays, type CostlyHandshakes } from './handshake-costs';
import { MAX_HANDSHAKES_OF_ADDRESS, MAX_UNPROVEN } from './limits';
import { afterRunning } from './running-time';
import { whenHelloArrived } from './tls-hello';

/** Connections that are begun in one turn of the event loop: each takes 1 to 3 ms of it with its handshake. */
export const MAX_BEGUN_IN_TURN = 4;
/** Milliseconds in which the client of a connection must send its first bytes, and then prove itself. */
export const UNPROVEN_MS = 20_000;
/** The same once it has begun, while others wait. */
export const UNPROVEN_WHILE_OTHERS_WAIT_MS = 1000;

const ALL = '';

const FLOOD = 'if it is a flood, limit new connections in a proxy in front of this server';
const SILENT: CloseReason = {
  cause: `the client sent neither a ClientHello nor an HTTP/2 preface within ${describeDuration(UNPROVEN_MS)}`,
  nextStep: `check what connects and sends nothing, such as a probe; ${FLOOD}`,
};
const UNPROVEN: CloseReason = {
  cause: `the client did not acknowledge the HTTP/2 settings within ${describeDuration(UNPROVEN_MS)}, or ${describeDuration(UNPROVEN_WHILE_OTHERS_WAIT_MS)} while others waited`,
  nextStep: `check that its TLS settings match this server; ${FLOOD}`,
};
const UNAUTHENTICATED: CloseReason = {
  cause: 'too many connections without an authenticated client',
  nextStep: `check the credentials of the clients; ${FLOOD}`,
};

/**
 * Called with what is to be called once the client of the connection has proven itself, and before that once its TLS handshake has
 * ended, at once without TLS.
 */
export type BeginConnection = (onProven: () => void, onSecured: () => void) => void;

/** Which connections are reset at once: how many of one address, and of all, may have no authenticated client. */
export interface AdmissionAllowances {
  readonly ofAddress: Allowance;
  readonly ofAll: Allowance;
}

interface Waiting {
  readonly socket: Socket;
  readonly begin: BeginConnection;
}

/**
 * Bounds the work for connections whose clients have proven nothing, so that it does not delay the others: how many begin in a turn
 * of the event loop, and how many there are at a time. A connection waits until its first bytes have arrived, of TLS its whole
 * ClientHello, and then for its turn; addresses take turns. It is closed if its client does not prove itself in time. After
 * failed handshakes that blocked the process, connections of their address wait, and then begin one at a time. All addresses of a network
 * of 64 bits of IPv6 are one.
 */
export class ConnectionAdmission {
  /** The addresses of the connections without an authenticated client, by their peers. */
  private readonly unauthenticated = new Map<string, string>();
  /** By address; the one whose turn it is comes first. */
  private readonly waiting = new Map<string, Set<Waiting>>();
  private readonly unproven = new Set<Socket>();
  private readonly delays = new SourceDelays();
  private readonly costs: HandshakeCosts;
  private begun = 0;
  private turn: Handle | undefined;
  private resetCount = 0;

  /** @param allowances Of servers that authenticate their clients. */
  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs' | 'nextTurn' | 'setTimer'>,
    readonly closed: ClosedConnections,
    private readonly allowances?: AdmissionAllowances,
    loop = systemLoop,
  ) {
    this.costs = new HandshakeCosts(clock, (costly) => this.delay(costly), loop);
  }

  /** The number of connections that were reset. */
  get resets(): number {
    return this.resetCount;
  }

  /** Begins a connection in its turn, or resets it. All connections of Unix sockets are those of one address. */
  admit(socket: Socket, begin: BeginConnection): void {
    const { remoteAddress, remotePort } = socket;
    if (this.allowances !== undefined && remoteAddress !== undefined) {
      const peer = `${remoteAddress}:${remotePort}`;
      if (!this.take(peer, remoteAddress, this.allowances)) {
        this.resetCount++;
        this.closed.add(socket, UNAUTHENTICATED);
        socket.resetAndDestroy();
        return;
      }
      socket.once('close', () => this.unauthenticated.delete(peer));
    }
    // Until it is begun, nothing else listens to it; it closes after an error.
    socket.on('error', () => {});
    const timer = afterRunning(this.clock, () => this.close(socket, SILENT), UNPROVEN_MS);
    socket.once('close', () => timer.release());
    whenHelloArrived(socket, () => {
      timer.release();
      this.wait(sourceOf(remoteAddress ?? ALL), { socket, begin });
    });
  }

  /** Handles that a client of a connection was authenticated. */
  onAuthenticated(peer: string): void {
    const address = this.unauthenticated.get(peer);
    if (address === undefined) return;
    this.unauthenticated.delete(peer);
    this.allowances?.ofAddress.giveBack(address);
    this.allowances?.ofAll.giveBack(ALL);
  }

  private take(peer: string, address: string, { ofAddress, ofAll }: AdmissionAllowances): boolean {
    const nowMs = this.clock.monotonicMs();
    if (!ofAddress.allows(address, nowMs) || !ofAll.allows(ALL, nowMs)) return false;
    ofAddress.take(address, nowMs);
    ofAll.take(ALL, nowMs);
    this.unauthenticated.set(peer, address);
    return true;
  }

  private wait(source: string, connection: Waiting): void {
    const ofSource = this.waiting.get(source) ?? new Set<Waiting>();
    this.waiting.set(source, ofSource.add(connection));
    connection.socket.once('close', () => {
      ofSource.delete(connection);
      if (ofSource.size === 0 && this.waiting.get(source) === ofSource) {
        this.waiting.delete(source);
      }
    });
    this.beginWaiting();
  }

  private beginWaiting(): void {
    while (this.begun < MAX_BEGUN_IN_TURN && this.unproven.size < MAX_UNPROVEN) {
      const source = this.nextSource();
      const next = source === undefined ? undefined : this.takeNext(source);
      if (source === undefined || next === undefined) break;
      this.begun++;
      this.begin(source, next);
    }
    if (this.begun > 0) this.turn ??= inNextTurn(this.clock, () => this.onTurn());
  }

  /** Returns the first waiting address whose next connection may begin. */
  private nextSource(): string | undefined {
    for (const source of this.waiting.keys()) if (this.mayBegin(source)) return source;
    return undefined;
  }

  private mayBegin(source: string): boolean {
    const delayMs = this.delays.leftMs(source, this.clock.monotonicMs());
    const max = delayMs === undefined ? MAX_HANDSHAKES_OF_ADDRESS : 1;
    return (delayMs ?? 0) === 0 && this.costs.count(source) < max;
  }

  private takeNext(source: string): Waiting | undefined {
    const connections = this.waiting.get(source) ?? new Set();
    const [next] = connections;
    this.waiting.delete(source);
    if (next === undefined) return undefined;
    connections.delete(next);
    if (connections.size > 0) this.waiting.set(source, connections);
    return next;
  }

  private begin(source: string, { socket, begin }: Waiting): void {
    this.unproven.add(socket);
    let timer: Handle;
    let inHandshake = true;
    const wait = (leftMs: number) => {
      timer = afterRunning(
        this.clock,
        () => {
          const nextMs = leftMs - UNPROVEN_WHILE_OTHERS_WAIT_MS;
          const isWaitedFor =
            this.nextSource() !== undefined || (inHandshake && this.waiting.has(source));
          if (nextMs <= 0 || isWaitedFor) this.close(socket, UNPROVEN);
          else wait(nextMs);
        },
        UNPROVEN_WHILE_OTHERS_WAIT_MS,
      );
    };
    wait(UNPROVEN_MS);
    const endHandshake = this.costs.begin(socket, source);
    const onSecured = () => {
      inHandshake = false;
      endHandshake(true);
      this.beginWaiting();
    };
    const end = () => {
      if (!this.unproven.delete(socket)) return;
      timer.release();
      this.beginWaiting();
    };
    socket.once('close', () => {
      endHandshake(false);
      end();
    });
    begin(end, onSecured);
  }

  /** Handles that handshakes have blocked the process. */
  private delay({ source, costMs, local, closed }: CostlyHandshakes): void {
    const delayMs = this.delays.add(source, costMs, this.clock.monotonicMs());
    this.clock.setTimer(() => this.beginWaiting(), delayMs);
    this.closed.reportDelay(
      local,
      `failed TLS handshakes of ${source} took ${inSeconds(costMs)} of CPU: its connections in handshakes are closed ` +
        `(${closed}), and the next ones wait for ${inSeconds(delayMs)}: if it is an attack, block the address, ` +
        'or end TLS in a proxy in front of this server',
    );
  }

  private close(socket: Socket, reason: CloseReason): void {
    this.closed.add(socket, reason);
    socket.destroy();
  }

  private onTurn(): void {
    this.turn = undefined;
    this.begun = 0;
    this.beginWaiting();
  }
}
