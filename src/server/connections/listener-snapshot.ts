import type { RequestConnection } from '../../authorization/request';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { CertificateInstance } from '../../resources/tls/tls';
import { createHandle, type Handle } from '../../util/handle';
import { ok, type Result } from '../../util/result';
import { instancesOf } from '../credentials/server-tls-credentials';
import { findFilterChain } from '../listener/find-filter-chain';
import { chainsOf } from '../listener/usable-listener';
import { ServedChain, type ServerEnvironment } from './served-chain';

/** Returns routes that are not in the listener itself, or why there are none. */
export type RoutesOf = (routeConfigName: string) => Result<RouteConfigResource, string>;

/**
 * A version of the Listener as it is served. Each connection keeps the one by which it was accepted; the next version has connections
 * of its own (gRFC A36). Once it has been retired and its connections accept no more calls, it forgets the listener: calls in progress
 * have been judged, and a client that holds a stream would else keep the listener for as long.
 */
export class ListenerSnapshot {
  /** When it was made, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** How many connections may yet have a call that is judged. */
  private openCount = 0;
  /** By these, its certificates are loaded before its first connection. */
  private readonly loaded: readonly Handle[];
  private isRetired = false;
  private served = new Map<FilterChain, ServedChain>();

  constructor(
    /** `undefined` once it is not needed any more. */
    private listener: SocketListener | undefined,
    private readonly routesOf: RoutesOf,
    environment: ServerEnvironment,
  ) {
    this.sinceMs = environment.client.clock.now();
    for (const chain of listener ? chainsOf(listener) : []) {
      this.served.set(chain, new ServedChain(chain, environment));
    }
    this.useRoutes();
    this.loaded = loadCertificates(this.served.keys(), environment);
  }

  /** The chains with what serves them. None once they are not needed any more. */
  get chains(): ReadonlyMap<FilterChain, ServedChain> {
    return this.served;
  }

  /** Has the next calls judged by the routes as of now. @param name That of the route configuration that has changed. Default: all. */
  useRoutes(name?: string): void {
    for (const [chain, served] of this.served) {
      const { routes } = chain.httpConnectionManager;
      const rdsName = routes.kind === 'rds' ? routes.routeConfigName : undefined;
      if (name !== undefined && name !== rdsName) continue;
      const current =
        routes.kind === 'rds' ? this.routesOf(routes.routeConfigName) : ok(routes.routeConfig);
      served.use(current, chain);
    }
  }

  /**
   * Returns the chain of a connection, which reports its last call; `undefined` if there is none: it is to be closed without a byte.
   */
  accept({ local, remote }: Pick<RequestConnection, 'local' | 'remote'>): ServedChain | undefined {
    const chain = this.listener && findFilterChain(this.listener, local, remote);
    const served = chain && this.served.get(chain);
    if (served !== undefined) this.openCount++;
    return served;
  }

  /** Another one accepts the next connections, or none does. */
  retire(): void {
    this.isRetired = true;
    for (const handle of this.loaded) handle.release();
    this.forgetUnused();
  }

  /** Handles that one of its connections accepts no more calls. Called once for each. */
  onLastCall(): void {
    this.openCount--;
    this.forgetUnused();
  }

  private forgetUnused(): void {
    if (!this.isRetired || this.openCount > 0) return;
    for (const served of this.served.values()) served.close();
    this.served = new Map();
    this.listener = undefined;
  }
}

/** Loads the certificates of filter chains. The fallback, too, may have some that it loads while it is watched. */
function loadCertificates(
  chains: Iterable<FilterChain>,
  { credentials, fallback, client }: ServerEnvironment,
): readonly Handle[] {
  const plain = fallback ?? credentials;
  const watcher = () => undefined;
  plain._addWatcher(watcher);
  const handles = [createHandle(() => plain._removeWatcher(watcher))];
  if (fallback === undefined) return handles;
  // Each once.
  const instances = new Map<string, CertificateInstance>();
  for (const { tls } of chains) {
    for (const each of tls === undefined ? [] : instancesOf(tls))
      instances.set(`${each.instanceName}\n${each.certificateName}`, each);
  }
  for (const each of instances.values()) handles.push(client.certificates.watch(each, watcher));
  return handles;
}
