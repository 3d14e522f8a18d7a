import type { RouteConfigResource } from '../resources/route-config/route-config';
import { err, ok, type Result } from '../util/result';
import type { XdsError } from '../xds-client/resource-watcher';
import type { Observations } from './observations';
import { findVirtualHost } from './virtual-host';
import type { XdsConfig } from './xds-config';

/** The part of a config before the clusters. */
export interface FoundRoutes {
  readonly config: Pick<XdsConfig, 'listener' | 'routeConfig' | 'virtualHost'>;
  /** What is wrong beside that, which the note of every cluster repeats. */
  readonly ambient: readonly XdsError[];
}

/** What routes are found by. */
export interface RouteQuery {
  readonly listenerName: string;
  /** The data-plane authority, by which the virtual host is chosen. */
  readonly host: string;
  readonly clientNote: string;
  readonly observed: Pick<Observations, 'listener' | 'routeConfig'>;
  /** The last config of the same host. */
  readonly previous: XdsConfig | undefined;
}

/** What the first part of the walk came to. */
export interface RouteSearch {
  /** The route configuration the listener names, if it names one. */
  readonly routeConfigName: string | undefined;
  /** `undefined` while something is still awaited. */
  readonly found: Result<FoundRoutes, string> | undefined;
}

/** Walks from the listener to the virtual host. Pure. */
export function findRoutes(query: RouteQuery): RouteSearch {
  const { observed, listenerName, clientNote } = query;
  const listener = observed.listener();
  const ends = (found: RouteSearch['found']) => ({ routeConfigName: undefined, found });
  if (listener.kind === 'waiting') return ends(undefined);
  if (listener.kind === 'error') return ends(err(listener.error.message));
  const { value, ambient } = listener;
  if (value.kind === 'socket-listener') {
    return ends(
      err(
        `Listener "${listenerName}" is a socket listener and cannot serve a client: it has no api_listener (${clientNote})`,
      ),
    );
  }
  const { routes } = value.httpConnectionManager;
  if (routes.kind === 'inline') {
    return ends(chooseVirtualHost(query, value, routes.routeConfig, [ambient]));
  }
  const { routeConfigName } = routes;
  const routeConfig = observed.routeConfig(routeConfigName);
  if (routeConfig === undefined || routeConfig.kind === 'waiting') {
    return { routeConfigName, found: undefined };
  }
  const found =
    routeConfig.kind === 'error'
      ? err(routeConfig.error.message)
      : chooseVirtualHost(query, value, routeConfig.value, [ambient, routeConfig.ambient]);
  return { routeConfigName, found };
}

function chooseVirtualHost(
  { previous, host, clientNote }: RouteQuery,
  listener: XdsConfig['listener'],
  routeConfig: RouteConfigResource,
  ambient: readonly (XdsError | undefined)[],
): Result<FoundRoutes, string> {
  // The host never changes, so the same routes lead to the same virtual host.
  const virtualHost =
    previous?.routeConfig === routeConfig
      ? previous.virtualHost
      : findVirtualHost(routeConfig, host);
  if (virtualHost === undefined) {
    return err(
      `RouteConfiguration "${routeConfig.name}" has no virtual host for "${host}" (${clientNote}): ` +
        'add it to the domains of one, or set the channel option grpc.default_authority',
    );
  }
  return ok({
    config: { listener, routeConfig, virtualHost },
    ambient: ambient.filter((error) => error !== undefined),
  });
}
