import type { RouteConfigResource } from '../resources/route-config/route-config';
import { findAgain, type FoundVirtualHost } from '../routing/virtual-host';
import { err, ok, type Result } from '../util/result';
import { quoteName } from '../util/text';
import type { WatchError } from '../xds-client/resource-watcher';
import { unusableError } from './build-cluster';
import type { Observations, WatchReport } from './observations';
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
  readonly observed: Pick<Observations, 'listener' | 'routeConfigs'>;
}

/** The result of {@link buildRoutes}. */
export interface BuiltRoutes {
  /** The route configuration of the listener, unless it is inline. */
  readonly routeConfigName: string | undefined;
  /** `undefined` while a resource is pending. */
  readonly routes: Result<RoutesInUse, WatchError> | undefined;
  /** The last search, which the next one starts from. */
  readonly found: FoundVirtualHost | undefined;
}

/** Walks from the listener to the virtual host. Pure. */
export function buildRoutes(inputs: RouteInputs, found: FoundVirtualHost | undefined): BuiltRoutes {
  const { observed, listenerName, host, clientNote } = inputs;
  const { listener } = observed;
  const without = { routeConfigName: undefined, found };
  if (listener.kind === 'waiting') return { ...without, routes: undefined };
  if (listener.kind === 'error') return { ...without, routes: err(listener.error) };
  const { value } = listener;
  if (value.kind === 'socket') {
    const problem = `Listener ${quoteName(listenerName)} is a socket listener and cannot serve a client: it has no api_listener (${clientNote}): give it one, or use the name of another listener`;
    return { ...without, routes: err(unusableError(problem)) };
  }
  const { routes: named } = value.httpConnectionManager;
  const routeConfigName = named.kind === 'inline' ? undefined : named.routeConfigName;
  let routeConfig: WatchReport<RouteConfigResource> | undefined;
  if (named.kind === 'inline') {
    routeConfig = { kind: 'value', value: named.routeConfig, ambient: undefined };
  } else routeConfig = observed.routeConfigs.get(named.routeConfigName);
  if (routeConfig === undefined || routeConfig.kind === 'waiting') {
    return { routeConfigName, found, routes: undefined };
  }
  if (routeConfig.kind === 'error') {
    return { routeConfigName, found, routes: err(routeConfig.error) };
  }
  const next = findAgain(routeConfig.value, host, found);
  const { virtualHost } = next;
  if (virtualHost === undefined) {
    const problem =
      `RouteConfiguration ${quoteName(next.routeConfig.name)} has no virtual host for ${quoteName(host)} (${clientNote}): ` +
      'add it to the domains of one, or set the channel option grpc.default_authority';
    return { routeConfigName, found: next, routes: err(unusableError(problem)) };
  }
  const ambient: WatchError[] = [];
  if (listener.ambient !== undefined) ambient.push(listener.ambient);
  if (routeConfig.ambient !== undefined) ambient.push(routeConfig.ambient);
  const config = { listener: value, routeConfig: next.routeConfig, virtualHost };
  return { routeConfigName, found: next, routes: ok({ config, ambient }) };
}
