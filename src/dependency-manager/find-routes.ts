import type { RouteConfigResource } from '../resources/route-config/route-config';
import { err, ok, type Result } from '../util/result';
import type { WatchError } from '../xds-client/resource-watcher';
import type { Observations, ObservedRoutes } from './observations';
import type { HostSearch } from '../routing/virtual-host';
import type { XdsConfig } from './xds-config';
import { quoteName } from '../util/text';

/** The part of a config before the clusters. */
export interface FoundRoutes {
  readonly config: Pick<XdsConfig, 'listener' | 'routeConfig' | 'virtualHost'>;
  /** Errors at the same time, which are in the note of every cluster. */
  readonly ambient: readonly WatchError[];
}

/** The inputs of {@link findRoutes}. */
interface RouteQuery {
  readonly listenerName: string;
  /** The data-plane authority, which selects the virtual host. */
  readonly host: string;
  readonly clientNote: string;
  readonly hosts: HostSearch;
  readonly observed: Pick<Observations, 'listener' | 'routeConfig'>;
  /** The last config of the same host. */
  readonly previous: XdsConfig | undefined;
}

/** The result of {@link findRoutes}. */
interface RouteSearch {
  /** The route configuration of the listener, unless it is inline. */
  readonly routeConfigName: string | undefined;
  /** `undefined` while a resource is pending. */
  readonly found: Result<FoundRoutes, string> | undefined;
}

/** Walks from the listener to the virtual host. */
export function findRoutes(query: RouteQuery): RouteSearch {
  const { observed, listenerName, clientNote } = query;
  const listener = observed.listener();
  const ends = (found: RouteSearch['found']) => ({ routeConfigName: undefined, found });
  if (listener.kind === 'waiting') return ends(undefined);
  if (listener.kind === 'error') return ends(err(listener.error.message));
  const { value, ambient } = listener;
  if (value.kind === 'socket') {
    return ends(
      err(
        `Listener ${quoteName(listenerName)} is a socket listener and cannot serve a client: it has no api_listener (${clientNote}): give it one, or use the name of another listener`,
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

/** A report of a route configuration. */
export interface RoutesReport {
  readonly name: string;
  /** The report before it. */
  readonly before: ObservedRoutes;
}

/**
 * Returns the routes with a new version of the route configuration, if its virtual host for the target is the same one:
 * control planes put the routes of all services into one, so that most changes do not concern a target.
 *
 * @param before The last but one observation of the route configuration.
 * @returns `undefined` if the routes must be searched again.
 */
export function keepVirtualHost(
  { config, ambient }: FoundRoutes,
  hosts: HostSearch,
  before: ObservedRoutes,
  after: ObservedRoutes | undefined,
): FoundRoutes | undefined {
  if (before.kind !== 'value' || after?.kind !== 'value') return undefined;
  const { change, value: routeConfig } = after;
  // The change is relative to the version before, which must be the one in use.
  if (change === undefined || before.value !== config.routeConfig) return undefined;
  if (before.ambient !== undefined || after.ambient !== undefined) return undefined;
  const { virtualHost } = config;
  if (!hosts.isStillFound(virtualHost, routeConfig, change)) return undefined;
  return { config: { ...config, routeConfig }, ambient };
}

function chooseVirtualHost(
  { previous, host, hosts, clientNote }: RouteQuery,
  listener: XdsConfig['listener'],
  routeConfig: RouteConfigResource,
  ambient: readonly (WatchError | undefined)[],
): Result<FoundRoutes, string> {
  // The host never changes, so the same routes lead to the same virtual host.
  const virtualHost =
    previous?.routeConfig === routeConfig ? previous.virtualHost : hosts.find(routeConfig);
  if (virtualHost === undefined) {
    return err(
      `RouteConfiguration ${quoteName(routeConfig.name)} has no virtual host for ${quoteName(host)} (${clientNote}): ` +
        'add it to the domains of one, or set the channel option grpc.default_authority',
    );
  }
  return ok({
    config: { listener, routeConfig, virtualHost },
    ambient: ambient.filter((error) => error !== undefined),
  });
}
