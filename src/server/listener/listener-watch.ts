import type { ResourceTypes } from '../../resources/resource-types';
import type { ListenerResource, SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { err, type Result } from '../../util/result';
import { datedMessage } from '../../util/since';
import { joinHostPort } from '../../util/text';
import type { WatchError } from '../../xds-client/resource-watcher';
import { describeResource } from '../../xds-client/xds-errors';
import { RouteWatch, type RouteWatchOptions } from './route-watch';
import { chainsOf, isSameListener, usableListener, type ListenerUser } from './usable-listener';

/** Notified of the configuration of one address of a server (gRFC A36), in the queue of the client. */
export interface ListenerWatcher {
  /**
   * Another version of the listener is in use: it differs from the one before in what a server uses, and each of its route configurations has been
   * received, has failed or has been pending for 15 s. Its routes are those of `routesOf`.
   */
  onServing(listener: SocketListener): void;
  /** The routes of a route configuration of the version in use have changed: no connection is drained. */
  onRoutes(routeConfigName: string): void;
  /** There is no listener to serve. The reason names it, its management server and the node, and says since when. */
  onNotServing(reason: string): void;
}

/** Constructor options of a watch. */
export interface ListenerWatchOptions
  extends ListenerUser, Omit<RouteWatchOptions, 'server' | 'onChanged'> {
  readonly types: Pick<ResourceTypes, 'listener' | 'routeConfig'>;
  readonly clock: RouteWatchOptions['clock'] & Pick<Clock, 'now'>;
  readonly watcher: ListenerWatcher;
}

/** A listener, and the names of the route configurations that are not in the listener itself. */
interface Version {
  readonly listener: SocketListener;
  readonly routeConfigNames: ReadonlySet<string>;
}

/**
 * The state machine of one address of a server (gRFC A36): which listener it serves, from the resources of the client. A
 * changed listener is pending until its route configurations are settled; until then the one before stays in use. Whether a
 * resource that was removed or rejected stays in use is decided by the client, for servers as for channels (gRFCs A53, A88).
 */
export class ListenerWatch implements Handle {
  private readonly listenerWatch: Handle;
  private current: Version | undefined;
  private pending: Version | undefined;
  /** The routes of both. */
  private readonly routes = new Map<string, RouteWatch>();
  private readonly routeOptions: RouteWatchOptions;
  /** Since when there is no listener to serve, in milliseconds since the epoch; `undefined` if there is one, or none yet. */
  private failingSinceMs: number | undefined;

  constructor(private readonly options: ListenerWatchOptions) {
    const { client, types, name, address } = options;
    this.routeOptions = {
      ...options,
      server: `server ${joinHostPort(address.host, address.port)}`,
      onChanged: (routeConfigName) => this.onRoutesChanged(routeConfigName),
    };
    this.listenerWatch = client.watch(types.listener, name, {
      onResourceChanged: (update) => this.onListener(update),
      // The last listener stays in use, and the client has logged it.
      onAmbientError: () => undefined,
    });
  }

  /** The routes of the version in use or about to be, or why calls with them fail, for the log. */
  routesOf(routeConfigName: string): Result<RouteConfigResource, string> {
    const watch = this.routes.get(routeConfigName);
    if (watch !== undefined) return watch.routes;
    const id = { typeName: 'RouteConfiguration', name: routeConfigName };
    return err(`${describeResource(id)}: not of the listener in use`);
  }

  release(): void {
    this.listenerWatch.release();
    this.current = undefined;
    this.pending = undefined;
    this.releaseUnused();
  }

  private onListener(update: Result<ListenerResource, WatchError>): void {
    if (!update.ok) {
      this.stop(update.error);
      return;
    }
    const usable = usableListener(update.value, this.options);
    if (!usable.ok) this.stop({ message: usable.error });
    else if (isSame(usable.value, this.current)) this.prepare(undefined);
    else if (!isSame(usable.value, this.pending)) this.prepare(usable.value);
  }

  /** Replaces the pending version. */
  private prepare(listener: SocketListener | undefined): void {
    this.pending = listener && { listener, routeConfigNames: routeConfigNamesOf(listener) };
    for (const name of this.pending?.routeConfigNames ?? []) {
      if (!this.routes.has(name)) this.routes.set(name, new RouteWatch(name, this.routeOptions));
    }
    this.releaseUnused();
    this.swapWhenSettled();
  }

  private onRoutesChanged(routeConfigName: string): void {
    if (this.current?.routeConfigNames.has(routeConfigName) === true) {
      this.routes.get(routeConfigName)?.reportState();
      this.options.watcher.onRoutes(routeConfigName);
    }
    this.swapWhenSettled();
  }

  private swapWhenSettled(): void {
    const { pending, routes } = this;
    if (pending === undefined) return;
    const { listener, routeConfigNames } = pending;
    for (const name of routeConfigNames) if (routes.get(name)?.isSettled !== true) return;
    this.current = pending;
    this.pending = undefined;
    this.failingSinceMs = undefined;
    this.releaseUnused();
    for (const name of routeConfigNames) routes.get(name)?.reportState();
    this.options.watcher.onServing(listener);
  }

  /** Ends the use of every listener. */
  private stop(error: Pick<WatchError, 'message' | 'sinceMs'>): void {
    this.current = undefined;
    this.pending = undefined;
    this.releaseUnused();
    const { clock, watcher } = this.options;
    this.failingSinceMs ??= clock.now();
    watcher.onNotServing(datedMessage(error, this.failingSinceMs));
  }

  private releaseUnused(): void {
    const { current, pending } = this;
    for (const [name, watch] of this.routes) {
      if (current?.routeConfigNames.has(name) === true) continue;
      if (pending?.routeConfigNames.has(name) === true) continue;
      this.routes.delete(name);
      watch.release();
    }
  }
}

function routeConfigNamesOf(listener: SocketListener): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { httpConnectionManager } of chainsOf(listener)) {
    const { routes } = httpConnectionManager;
    if (routes.kind === 'rds') names.add(routes.routeConfigName);
  }
  return names;
}

/** Compares what servers use: connections need not be drained if other fields differ. */
function isSame(listener: SocketListener, other: Version | undefined): boolean {
  return other !== undefined && isSameListener(listener, other.listener);
}
