import type { Socket } from 'node:net';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { CertificateInstance } from '../../resources/tls/tls';
import { createHandle, type Handle } from '../../util/handle';
import { ok, type Result } from '../../util/result';
import { findFilterChain } from '../filter-chains/find-filter-chain';
import { chainsOf } from '../listener/usable-listener';
import { ServedChain, type ChainEnvironment } from './served-chain';
import type { ConnectionWatcher, ServerConnection } from './server-connection';

/** How the connections of a snapshot end. */
export interface DrainOptions {
  /** Milliseconds from the GOAWAY of a connection after which its calls that are left are cancelled. Infinity: never. */
  readonly graceMs: number;
  /** Milliseconds over which the begins of the drains of the connections are spread. */
  readonly jitterMs: number;
}

/** Returns routes that are not in the listener itself, or why there are none. */
export type RoutesOf = (routeConfigName: string) => Result<RouteConfigResource, string>;

/** The chains by which connections are served. */
interface Chains {
  readonly listener: SocketListener;
  readonly served: ReadonlyMap<FilterChain, ServedChain>;
}

const NO_CHAINS: Chains['served'] = new Map();

/**
 * A version of the Listener as it is served, with the connections that were accepted by it: each keeps the chain with which it
 * began, and the next version has connections of its own (gRFC A36). Once it has been retired and its connections accept no more
 * calls, only the connections are kept: calls in progress have been judged, and a client that holds a stream would else keep the
 * listener for as long.
 */
export class ListenerSnapshot implements ConnectionWatcher {
  /** When it was made, in milliseconds since the epoch. */
  readonly sinceMs: number;
  private readonly connections = new Set<ServerConnection>();
  /** How many of them may yet have a call that is judged. */
  private openCount = 0;
  /** By these, its certificates are loaded before its first connection. */
  private loaded: readonly Handle[];
  /** The begins of drains that are due, by their timers. */
  private readonly timers = new Map<Handle, () => void>();
  private isRetired = false;
  private hasEnded = false;
  /** `undefined` once they are not needed any more. */
  private chains: Chains | undefined;

  /** @param onEnded Called once, when it has been retired and its last connection has closed. */
  constructor(
    listener: SocketListener,
    routesOf: RoutesOf,
    private readonly environment: ChainEnvironment,
    private readonly onEnded: (snapshot: ListenerSnapshot) => void,
  ) {
    this.sinceMs = environment.client.clock.now();
    const served = new Map<FilterChain, ServedChain>();
    for (const chain of chainsOf(listener)) served.set(chain, new ServedChain(chain, environment));
    this.chains = { listener, served };
    this.useRoutes(routesOf);
    this.loaded = loadCertificates(listener, environment);
  }

  /** `undefined` once it is not needed any more. */
  get listener(): SocketListener | undefined {
    return this.chains?.listener;
  }

  /** The chains with what serves them. None once they are not needed any more. */
  get served(): Chains['served'] {
    return this.chains?.served ?? NO_CHAINS;
  }

  get openConnections(): ReadonlySet<ServerConnection> {
    return this.connections;
  }

  /** Has the next calls judged by the routes as of now. @param name That of the route configuration that has changed. Default: all. */
  useRoutes(routesOf: RoutesOf, name?: string): void {
    for (const [chain, served] of this.served) {
      const { routes } = chain.httpConnectionManager;
      if (routes.kind === 'rds') {
        if (name === undefined || name === routes.routeConfigName)
          served.use(routesOf(routes.routeConfigName), chain);
      } else if (name === undefined) {
        served.use(ok(routes.routeConfig), chain);
      }
    }
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
      ? this.listener &&
        findFilterChain(
          this.listener,
          { address: localAddress, port: localPort },
          { address: remoteAddress, port: remotePort },
        )
      : undefined;
    const served = chain && this.served.get(chain);
    if (served === undefined) {
      socket.destroy();
      return;
    }
    this.openCount++;
    this.connections.add(served.accept(socket, this));
  }

  /** Ends the connections that there are. Those that are accepted meanwhile stay. */
  drain({ graceMs, jitterMs }: DrainOptions): void {
    for (const connection of this.connections) {
      const delayMs = Math.min(jitterMs, graceMs) * this.environment.client.random();
      if (delayMs > 0) this.later(() => connection.drain(graceMs), delayMs);
      else connection.drain(graceMs);
    }
  }

  /** Ends the connections, and then the snapshot: another one accepts the next connections. */
  retire(options: DrainOptions): void {
    this.isRetired = true;
    for (const handle of this.loaded) handle.release();
    this.loaded = [];
    this.drain(options);
    this.forgetUnused();
    this.endIfUnused();
  }

  /** Begins the drains that are still to begin. */
  hurry(): void {
    for (const act of this.endTimers()) act();
  }

  /** Closes the connections, with their calls. It must have been retired. */
  destroy(): void {
    for (const connection of this.connections) connection.destroy();
    this.endIfUnused();
  }

  onLastCall(): void {
    this.openCount--;
    if (this.isRetired) this.forgetUnused();
  }

  onClosed(connection: ServerConnection): void {
    this.connections.delete(connection);
    this.endIfUnused();
  }

  private later(act: () => void, delayMs: number): void {
    const timer = this.environment.client.clock.setTimer(() => {
      this.timers.delete(timer);
      act();
    }, delayMs);
    this.timers.set(timer, act);
  }

  private endTimers(): readonly (() => void)[] {
    const acts = [...this.timers.values()];
    for (const timer of this.timers.keys()) timer.release();
    this.timers.clear();
    return acts;
  }

  private endIfUnused(): void {
    if (!this.isRetired || this.connections.size > 0 || this.hasEnded) return;
    this.hasEnded = true;
    this.endTimers();
    this.onEnded(this);
  }

  private forgetUnused(): void {
    if (this.openCount > 0) return;
    for (const served of this.served.values()) served.close();
    this.chains = undefined;
  }
}

/** Loads the certificates of a listener. The fallback, too, may have some that it loads while it is watched. */
function loadCertificates(
  listener: SocketListener,
  { credentials, fallback, client }: ChainEnvironment,
): readonly Handle[] {
  const plain = fallback ?? credentials;
  const watcher = () => undefined;
  plain._addWatcher(watcher);
  const handles = [createHandle(() => plain._removeWatcher(watcher))];
  if (fallback === undefined) return handles;
  for (const { instanceName, certificateName } of instancesOf(listener)) {
    handles.push(client.certificates.watch(instanceName, certificateName, () => undefined));
  }
  return handles;
}

/** Returns the certificates that a listener uses, each once. */
function instancesOf(listener: SocketListener): Iterable<CertificateInstance> {
  const instances = new Map<string, CertificateInstance>();
  for (const { tls } of chainsOf(listener)) {
    const roots = tls?.clientValidation?.rootCertificates;
    for (const each of [tls?.identity, roots?.kind === 'instance' ? roots : undefined]) {
      if (each !== undefined) instances.set(`${each.instanceName}\n${each.certificateName}`, each);
    }
  }
  return instances.values();
}
