import type { ResourceTypes } from '../../resources/resource-types';
import type { SocketListener } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { SocketAddress } from '../../resources/endpoints/endpoints';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Result } from '../../util/result';
import type { WatchClient } from '../../xds-client/xds-client';

/** Notified of the configuration of one address of a server (gRFC A36), in the queue of the client. */
export interface ListenerWatcher {
  /**
   * A new generation is in use: a listener that differs from the one before, each of whose route configurations has been
   * received, has failed or has been pending for 15 s. Its routes are those of `routesOf`.
   */
  onServing(listener: SocketListener): void;
  /** The routes of a route configuration of the generation in use have changed: no connection is drained. */
  onRoutes(routeConfigName: string): void;
  /** There is no listener to serve, for a reason that names it, or there is another reason than before. */
  onNotServing(reason: string): void;
}

/** Constructor options of a watch. */
export interface ListenerWatchOptions {
  readonly client: Pick<WatchClient, 'watch' | 'run' | 'waitingFor'>;
  readonly types: Pick<ResourceTypes, 'listener' | 'routeConfig'>;
  /** The name of the Listener resource. */
  readonly name: string;
  /** The address that the server is bound to: a literal IP address and the port. */
  readonly address: SocketAddress;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly logger: Logger;
  readonly watcher: ListenerWatcher;
}

/** The state machine of one address of a server. */
export interface ListenerWatchContract extends Handle {
  /** The routes of the generation in use or about to be, or why calls with them fail, as the details of their status. */
  routesOf(routeConfigName: string): Result<RouteConfigResource, string>;
}
