import { findAgain, type FoundVirtualHost } from '../routing/virtual-host';
import { err, ok, type Result } from '../util/result';
import { quoteName } from '../util/text';
import type { WatchError } from '../xds-client/resource-watcher';
import type { Observations } from './observations';
import type { XdsConfig } from './xds-config';

/** The part of a config before the clusters. */
export interface RoutesInUse {
  readonly config: Pick<XdsConfig, 'listener' | 'routeConfig' | 'virtualHost'>;
  /** Errors at the same time, which are in the note of every cluster. */
  readonly ambient: readonly WatchError[];
}

/** The inputs of {@link buildRoutes}. */
export interface RouteInputs {
  /** Full resource name. */
  readonly listenerName: string;
  /** The data-plane authority, by which the virtual host is chosen. */
  readonly host: string;
  /** Names the management servers and the node in errors and notes, such as `management server s:443 (node "n1")`. */
  readonly clientNote: string;
  readonly observed: Pick<Observations, 'listener' | 'routeConfig'>;
}

/** The result of {@link buildRoutes}. */
export interface BuiltRoutes {
  /** The route configuration of the listener, unless it is inline. */
  readonly routeConfigName: string | undefined;
  /** `undefined` while a resource is pending. */
  readonly routes: Result<RoutesInUse, string> | undefined;
  /** The last search, which the next one starts from. */
  readonly found: FoundVirtualHost | undefined;
}

/** Walks from the listener to the virtual host. Pure. */
export function buildRoutes(inputs: RouteInputs, found: FoundVirtualHost | undefined): BuiltRoutes {
  const { observed, listenerName, clientNote } = inputs;
  const listener = observed.listener();
  const ends = (routes: BuiltRoutes['routes']) => ({ routeConfigName: undefined, routes, found });
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
    const next = findAgain(routes.routeConfig, inputs.host, found);
    return { ...ends(useRoutes(inputs, value, next, [ambient])), found: next };
  }
  const { routeConfigName } = routes;
  const routeConfig = observed.routeConfig(routeConfigName);
  if (routeConfig === undefined || routeConfig.kind === 'waiting') {
    return { routeConfigName, routes: undefined, found };
  }
  if (routeConfig.kind === 'error') {
    return { routeConfigName, routes: err(routeConfig.error.message), found };
  }
  const next = findAgain(routeConfig.value, inputs.host, found);
  const errors = [ambient, routeConfig.ambient];
  return { routeConfigName, routes: useRoutes(inputs, value, next, errors), found: next };
}

function useRoutes(
  { host, clientNote }: RouteInputs,
  listener: XdsConfig['listener'],
  { routeConfig, virtualHost }: FoundVirtualHost,
  ambient: readonly (WatchError | undefined)[],
): Result<RoutesInUse, string> {
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
