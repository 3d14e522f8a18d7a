import {
  ApiVersion,
  type ConfigSource,
} from '../../../../src/wire/generated/envoy/config/core/v3/config_source';
import { Listener } from '../../../../src/wire/generated/envoy/config/listener/v3/listener';
import { RouteConfiguration } from '../../../../src/wire/generated/envoy/config/route/v3/route';
import {
  Route,
  type RouteAction_HashPolicy,
} from '../../../../src/wire/generated/envoy/config/route/v3/route_components';
import { Router } from '../../../../src/wire/generated/envoy/extensions/filters/http/router/v3/router';
import {
  HttpConnectionManager,
  type HttpFilter,
} from '../../../../src/wire/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager';
import type { Any } from '../../../../src/wire/generated/google/protobuf/any';
import type { DeepPartial } from '../../../../src/wire/protobuf/message-codec';
import { encodeJson, typeUrlOf } from 'grpc-xds/internal';
import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import { formatJsonProblem } from '../../../../src/wire/proto-json/json-problem';
import { err } from '../../../../src/util/result';
import { listenerKind, routeKind } from 'grpc-xds/control-plane';
import { REFUSAL_FILTER, type RouteJson } from '../routes/service-routes';
import { digestOfJson, type ResourcePlan } from './plan';

/** Resources that one of these refers to are on the same stream. */
export const ADS: ConfigSource = {
  configSourceSpecifier: { $case: 'ads', value: {} },
  initialFetchTimeout: undefined,
  resourceApiVersion: ApiVersion.V3,
};

const MANAGER = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

const ROUTE = 'envoy.config.route.v3.Route';

const ROUTER: Any = {
  typeUrl: typeUrlOf('envoy.extensions.filters.http.router.v3.Router'),
  value: Router.encode({}).finish(),
};

/** Does nothing by itself: routes of GRPCRoutes have calls fail by it. */
const REFUSAL: Any = { typeUrl: REFUSAL_FILTER.typed_config['@type'], value: new Uint8Array() };

/** The input of a listener of a port. */
export interface ListenerModel {
  readonly name: string;
  readonly namespace: string;
  /** The name of its RouteConfiguration. */
  readonly routesName: string;
  /** Whether the routes of any caller are those of GRPCRoutes. Without them, calls pass one filter less. */
  readonly hasRoutes: boolean;
}

/** Plans a listener of a port, which is the same for all audiences. */
export function planListener(model: ListenerModel): ResourcePlan {
  const { name, namespace, routesName, hasRoutes } = model;
  return {
    kind: listenerKind,
    name,
    namespaces: [namespace],
    digest: digestOfJson(model),
    variantOf: () => '',
    encode() {
      const refusal = hasRoutes ? [toFilter(REFUSAL_FILTER.name, REFUSAL)] : [];
      const manager = HttpConnectionManager.create({
        routeSpecifier: { $case: 'rds', value: { configSource: ADS, routeConfigName: routesName } },
        httpFilters: [...refusal, toFilter('router', ROUTER)],
      });
      const value = HttpConnectionManager.encode(manager).finish();
      const apiListener = { apiListener: { typeUrl: typeUrlOf(MANAGER), value } };
      return Listener.encode(Listener.create({ name, apiListener })).finish();
    },
  };
}

function toFilter(name: string, value: Any): DeepPartial<HttpFilter> {
  return { name, configType: { $case: 'typedConfig', value } };
}

/** What the routes of a port are made of. */
export interface RoutingModel {
  /** The name of the RouteConfiguration, and of the cluster that calls go to without routes. */
  readonly name: string;
  readonly namespace: string;
  /** The header whose value decides on the endpoint, of ring_hash. */
  readonly hashHeader: string | undefined;
  /**
   * The routes of GRPCRoutes by the namespace of the caller, and under '' those of all other callers; `undefined` if all calls go to
   * the cluster.
   */
  readonly routes: ReadonlyMap<string, readonly RouteJson[] | undefined>;
}

/** Plans the routes of a port. They differ between the namespaces that have routes of their own. */
export function planRoutes(model: RoutingModel): ResourcePlan {
  const { name, namespace, hashHeader, routes } = model;
  const variantOf = ({ namespace: own = '' }: { readonly namespace: string | undefined }) =>
    routes.has(own) ? own : '';
  return {
    kind: routeKind,
    name,
    namespaces: [namespace],
    variantOf,
    digest: digestOfJson([name, hashHeader, [...routes]]),
    encode: (audience) => encodeRoutes(model, routes.get(variantOf(audience))),
  };
}

function encodeRoutes(
  { name, hashHeader }: RoutingModel,
  given: readonly RouteJson[] | undefined,
): Uint8Array {
  const routes = given?.map(toRoute) ?? [defaultRoute(name)];
  const hashPolicies = hashHeader === undefined ? [] : [hashOf(hashHeader)];
  for (const { action } of routes) {
    if (action?.$case === 'route') action.value.hashPolicy = hashPolicies;
  }
  // The listener has only one virtual host, which is for any authority.
  const virtualHosts = [{ name, domains: ['*'], routes }];
  return RouteConfiguration.encode(RouteConfiguration.create({ name, virtualHosts })).finish();
}

function defaultRoute(cluster: string): Route {
  const clusterSpecifier = { $case: 'cluster', value: cluster } as const;
  return Route.create({
    match: { pathSpecifier: { $case: 'prefix', value: '' } },
    action: { $case: 'route', value: { clusterSpecifier } },
  });
}

/** @throws if a route is not valid, which its maker excludes. */
function toRoute(json: unknown): Route {
  const encoded = isJsonObject(json) ? encodeJson(ROUTE, json) : err([]);
  if (encoded.ok) return Route.decode(encoded.value);
  throw new TypeError(`not a route: ${encoded.error.map(formatJsonProblem).join('; ')}`);
}

function hashOf(headerName: string): RouteAction_HashPolicy {
  const policySpecifier = {
    $case: 'header',
    value: { headerName, regexRewrite: undefined },
  } as const;
  return { policySpecifier, terminal: false };
}
