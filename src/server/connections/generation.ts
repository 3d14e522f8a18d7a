import type { Socket } from 'node:net';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { FilterChainIndex } from '../filter-chains/filter-chain-index';
import type { ServedChain } from './served-chain';
import type { ServerConnection } from './server-connection';

/** How the connections of a generation end. */
export interface DrainOptions {
  /** Milliseconds from the GOAWAY of a connection after which its calls that are left are cancelled. Infinity: never. */
  readonly graceMs: number;
  /** Milliseconds over which the begins of the drains of the connections are spread. */
  readonly jitterMs: number;
}

/** Constructor options of a generation. */
interface GenerationOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Called once, when it has been retired and its last connection has closed. */
  readonly onEnded: (generation: Generation) => void;
}

/** A listener as it is served. */
interface Served {
  readonly listener: SocketListener;
  readonly index: FilterChainIndex;
  readonly chains: ReadonlyMap<FilterChain, ServedChain>;
}

const NO_CHAINS: Served['chains'] = new Map();

/**
 * A listener in use, with the connections that were accepted by it. The next listener has connections of its own (gRFC A36).
 * Once it has been retired and its connections accept no more calls, only the connections are kept: calls in progress have been
 * judged, and a client that holds a stream would else keep the listener for as long.
 */
export class Generation {
  private readonly connections = new Set<ServerConnection>();
  /** When it was made, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** How many of them may yet have a call that is judged. */
  private openCount = 0;
  /** The begins of drains that are due, by their timers. */
  private readonly timers = new Map<Handle, () => void>();
  private isRetired = false;
  private hasEnded = false;
  private served: Served | undefined;

  /** @param chains All chains of the listener, with what serves them. */
  constructor(
    listener: SocketListener,
    chains: ReadonlyMap<FilterChain, ServedChain>,
    private readonly options: GenerationOptions,
  ) {
    this.served = { listener, index: new FilterChainIndex(listener), chains };
    this.sinceMs = options.clock.now();
  }

  /** `undefined` once it is no longer needed. */
  get listener(): SocketListener | undefined {
    return this.served?.listener;
  }

  /** The chains with what serves them. None once they are no longer needed. */
  get chains(): Served['chains'] {
    return this.served?.chains ?? NO_CHAINS;
  }

  get openConnections(): ReadonlySet<ServerConnection> {
    return this.connections;
  }

  /** Serves a connection by the chain that it matches; closes it without a byte if there is none. */
  accept(socket: Socket): void {
    const { localAddress, localPort, remoteAddress, remotePort } = socket;
    const isOpen =
      localAddress !== undefined &&
      localPort !== undefined &&
      remoteAddress !== undefined &&
      remotePort !== undefined;
    const chain = isOpen
      ? this.served?.index.find(
          { address: localAddress, port: localPort },
          { address: remoteAddress, port: remotePort },
        )
      : undefined;
    const served = chain && this.chains.get(chain);
    if (served === undefined) {
      socket.destroy();
      return;
    }
    const ends = { localAddress, localPort, remoteAddress, remotePort };
    const watcher = {
      onLastCall: () => this.onLastCall(),
      onClosed: (connection: ServerConnection) => this.onClosed(connection),
    };
    this.openCount++;
    this.connections.add(served.accept(socket, ends, watcher));
  }

  /** Ends the connections that there are. Those that are accepted meanwhile stay. */
  drain({ graceMs, jitterMs }: DrainOptions): void {
    for (const connection of this.connections) {
      const delayMs = Math.min(jitterMs, graceMs) * this.options.random();
      if (delayMs > 0) this.later(() => connection.drain(graceMs), delayMs);
      else connection.drain(graceMs);
    }
  }

  /** Ends the connections, and then the generation: another one accepts the next connections. */
  retire(options: DrainOptions): void {
    this.isRetired = true;
    this.drain(options);
    this.forgetUnused();
    this.endIfUnused();
  }

  /** Begins the drains that are still to begin. */
  hurry(): void {
    for (const act of this.endTimers()) act();
  }

  /** Closes the connections, with their calls, and ends the generation. */
  destroy(): void {
    this.isRetired = true;
    for (const connection of this.connections) connection.destroy();
    this.endIfUnused();
  }

  private later(act: () => void, delayMs: number): void {
    const timer = this.options.clock.setTimer(() => {
      this.timers.delete(timer);
      act();
    }, delayMs);
    this.timers.set(timer, act);
  }

  private onClosed(connection: ServerConnection): void {
    this.connections.delete(connection);
    this.endIfUnused();
  }

  private endIfUnused(): void {
    if (!this.isRetired || this.connections.size > 0 || this.hasEnded) return;
    this.hasEnded = true;
    this.endTimers();
    this.options.onEnded(this);
  }

  private endTimers(): readonly (() => void)[] {
    const acts = [...this.timers.values()];
    for (const timer of this.timers.keys()) timer.release();
    this.timers.clear();
    return acts;
  }

  private onLastCall(): void {
    this.openCount--;
    if (this.isRetired) this.forgetUnused();
  }

  private forgetUnused(): void {
    if (this.openCount > 0) return;
    for (const chain of this.chains.values()) chain.close();
    this.served = undefined;
  }
}
