import type { Socket } from 'node:net';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { inSteps, type Steps } from '../../util/steps';
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

export interface GenerationOptions {
  readonly listener: SocketListener;
  /** All chains of the listener. */
  readonly chains: readonly FilterChain[];
  /** Creates what serves a chain, with its routes. */
  readonly createChain: (chain: FilterChain) => Steps<ServedChain>;
  readonly clock: Clock;
  readonly random: Random;
  /** Called once, when it has been retired and its last connection has closed. */
  readonly onEnded: (generation: Generation) => void;
}

/** A listener in use, with the connections that were accepted by it. The next listener has connections of its own (gRFC A36). */
export class Generation {
  private readonly connections = new Set<ServerConnection>();
  /** When it was made, in milliseconds since the epoch. */
  readonly sinceMs: number;
  private readonly timers = new Set<Handle>();
  private isRetired = false;
  private hasEnded = false;

  private constructor(
    private readonly options: GenerationOptions,
    private readonly index: FilterChainIndex,
    /** The chains with what serves them. */
    readonly chains: ReadonlyMap<FilterChain, ServedChain>,
  ) {
    this.sinceMs = options.clock.now();
  }

  /** Makes a generation, in steps. */
  static *inSteps(options: GenerationOptions): Steps<Generation> {
    const index = yield* FilterChainIndex.inSteps(options.listener);
    const chains = new Map<FilterChain, ServedChain>();
    yield* inSteps(options.chains, function* (chain) {
      chains.set(chain, yield* options.createChain(chain));
    });
    return new Generation(options, index, chains);
  }

  get listener(): SocketListener {
    return this.options.listener;
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
      ? this.index.find(
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
    const onClosed = (connection: ServerConnection) => this.onClosed(connection);
    this.connections.add(served.accept(socket, ends, onClosed));
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
    this.endIfUnused();
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
    this.timers.add(timer);
  }

  private onClosed(connection: ServerConnection): void {
    this.connections.delete(connection);
    this.endIfUnused();
  }

  private endIfUnused(): void {
    if (!this.isRetired || this.connections.size > 0 || this.hasEnded) return;
    this.hasEnded = true;
    for (const timer of this.timers) timer.release();
    this.timers.clear();
    for (const chain of this.chains.values()) chain.close();
    this.options.onEnded(this);
  }
}
