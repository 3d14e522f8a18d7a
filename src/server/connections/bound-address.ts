import type { Socket } from 'node:net';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import { keepProcessAlive, type Clock } from '../../util/clock';
import { errorStack } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { ok } from '../../util/result';
import type { ListenerWatch, ListenerWatcher } from '../listener/listener-watch';
import { isSameListener } from '../listener/same-listener';
import type { ServerRouteTable } from '../routes/server-route-table';
import { Generation, type DrainOptions } from './generation';
import { ListenSocket } from './listen-socket';
import type { ServedChain } from './served-chain';

/** What serves the listeners of an address. */
export interface ListenerService {
  /** Called when a listener is about to be used, and when there is none. */
  prepare(listener: SocketListener | undefined): void;
  /** Creates what serves the connections of a chain, without routes. */
  createChain(chain: FilterChain): ServedChain;
  /** Makes the table of the routes of a chain. */
  compileRoutes(chain: FilterChain, routes: RouteConfigResource): ServerRouteTable;
}

/** The watch of a Listener, with its routes. */
export type ListenerRoutes = Pick<ListenerWatch, 'routesOf' | 'release'>;

/** Constructor options of an address. */
export interface BoundAddressOptions {
  readonly address: SocketAddress;
  /** Begins the messages of the log; ends in a space. */
  readonly subject: string;
  /** The queue in which updates are applied. */
  readonly batch: { run(task: () => void): void };
  /** Begins to watch the Listener. The watcher is notified in the queue. */
  readonly watch: (watcher: ListenerWatcher) => ListenerRoutes;
  readonly service: ListenerService;
  /** How connections are drained after an update. */
  readonly drain: DrainOptions;
  /** Called when the address begins to be served, and each time there is a reason why it is not. */
  readonly onState: (notServing: string | undefined) => void;
  /** Called once, when it has been closed and its last connection has closed. */
  readonly onEnded: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
}

/** An address of a server. It listens while there is a listener to serve; each listener has its own connections (gRFC A36). */
export class BoundAddress implements ListenerWatcher {
  /** While there is no listener, nothing else of a server is open. */
  private readonly alive: Handle;
  private readonly generations = new Set<Generation>();
  private watch: ListenerRoutes | undefined;
  private current: Generation | undefined;
  private socket: ListenSocket | undefined;
  private isServing = false;
  private isClosed = false;
  private hasEnded = false;

  constructor(private readonly options: BoundAddressOptions) {
    const { batch, clock } = options;
    this.alive = keepProcessAlive(clock);
    // What is known already is notified after this task, when there is a watch.
    batch.run(() => (this.watch = options.watch(this)));
  }

  onServing(listener: SocketListener): void {
    this.apply(() => {
      if (!this.isInUse(listener)) this.use(listener);
    });
  }

  /** Calls on the connections that there are use the new routes from now on. */
  onRoutes(routeConfigName: string): void {
    this.apply(() => {
      for (const [chain, served] of this.current?.chains ?? []) {
        if (routeConfigNameOf(chain) === routeConfigName) this.compileRoutes(chain, served);
      }
    });
  }

  onNotServing(reason: string): void {
    this.stop({ ...this.options.drain, jitterMs: 0 });
    this.setNotServing(reason);
  }

  /** The listener in use, with its connections; `undefined` if there is none. */
  get inUse(): Generation | undefined {
    return this.current;
  }

  /** Those that have connections, and the one in use, in the order in which they came into use. */
  get all(): ReadonlySet<Generation> {
    return this.generations;
  }

  /** Ends the connections that there are. New ones are accepted meanwhile. */
  drain(options: DrainOptions): void {
    for (const generation of this.generations) generation.drain(options);
  }

  /** Accepts no more connections, and ends those that there are. */
  close(options: DrainOptions): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.isServing = false;
    this.watch?.release();
    this.alive.release();
    this.stop(options);
    this.endIfUnused();
  }

  /** As {@link close}, and closes the connections with their calls. */
  destroy(): void {
    this.close({ graceMs: Infinity, jitterMs: 0 });
    for (const generation of [...this.generations]) generation.destroy();
  }

  private apply(update: () => void): void {
    try {
      update();
    } catch (error) {
      const { logger, subject } = this.options;
      logger.error(() => `${subject}unexpected error: ${errorStack(error)}`);
      if (this.current === undefined) this.setNotServing('unexpected error, which is in the log');
    }
  }

  /** Whether the listener differs from the one in use in nothing that a server uses. */
  private isInUse(listener: SocketListener): boolean {
    const inUse = this.current?.listener;
    return inUse !== undefined && (inUse === listener || isSameListener(inUse, listener));
  }

  private use(listener: SocketListener): void {
    const { service, clock, random } = this.options;
    service.prepare(listener);
    const chains = new Map<FilterChain, ServedChain>();
    for (const chain of chainsOf(listener)) {
      const served = service.createChain(chain);
      this.compileRoutes(chain, served);
      chains.set(chain, served);
    }
    // Closed by the application, in its logger.
    if (this.isClosed) return;
    const onEnded = (generation: Generation) => this.onEnded(generation);
    const next = new Generation(listener, chains, { clock, random, onEnded });
    const previous = this.current;
    this.current = next;
    this.generations.add(next);
    // At most one retired listener is kept for connections whose drains are spread.
    for (const each of this.generations) if (each !== previous) each.hurry();
    previous?.retire(this.options.drain);
    this.listen();
  }

  private compileRoutes(chain: FilterChain, served: ServedChain): void {
    const { routes: source } = chain.httpConnectionManager;
    const routes =
      source.kind === 'inline'
        ? ok(source.routeConfig)
        : this.watch?.routesOf(source.routeConfigName);
    if (routes === undefined) return;
    served.use(routes.ok ? ok(this.options.service.compileRoutes(chain, routes.value)) : routes);
  }

  private listen(): void {
    if (this.socket !== undefined) return;
    const { address, clock, logger, subject } = this.options;
    this.socket = new ListenSocket({
      address,
      clock,
      onConnection: (socket) => this.accept(socket),
      onListening: () => this.setServing(),
      onFailed: (reason) => this.setNotServing(reason),
      onAcceptFailed: (reason) =>
        logger.error(() => `${subject}a connection cannot be accepted: ${reason}`),
    });
  }

  /** An exception here would end the process. */
  private accept(socket: Socket): void {
    try {
      if (this.current === undefined) socket.destroy();
      else this.current.accept(socket);
    } catch (error) {
      socket.destroy();
      const { logger, subject } = this.options;
      logger.error(
        () => `${subject}a connection is closed: unexpected error: ${errorStack(error)}`,
      );
    }
  }

  private stop(options: DrainOptions): void {
    this.socket?.release();
    this.socket = undefined;
    const { current } = this;
    this.current = undefined;
    current?.retire(options);
    this.options.service.prepare(undefined);
  }

  private setServing(): void {
    if (this.isServing) return;
    this.isServing = true;
    this.options.onState(undefined);
  }

  private setNotServing(reason: string): void {
    this.isServing = false;
    this.options.onState(reason);
  }

  private onEnded(generation: Generation): void {
    this.generations.delete(generation);
    this.endIfUnused();
  }

  private endIfUnused(): void {
    if (!this.isClosed || this.generations.size > 0 || this.hasEnded) return;
    this.hasEnded = true;
    this.options.onEnded();
  }
}

/** Returns all chains of a listener. */
export function chainsOf({
  filterChains,
  defaultFilterChain,
}: SocketListener): readonly FilterChain[] {
  return defaultFilterChain === undefined ? filterChains : [...filterChains, defaultFilterChain];
}

function routeConfigNameOf({ httpConnectionManager }: FilterChain): string | undefined {
  const { routes } = httpConnectionManager;
  return routes.kind === 'rds' ? routes.routeConfigName : undefined;
}
