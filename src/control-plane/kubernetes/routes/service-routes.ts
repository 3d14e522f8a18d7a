import type { envoy } from '../../../wire/generated/resource-json';
import type { ClusterObjects } from '../cluster-objects';
import type { ServiceAddress } from '../names';
import type { ServiceObject, ServicePort } from '../objects';

/** A route of a virtual host as proto3 JSON. */
export type RouteJson = envoy.config.route.v3.Route;

/** Where the calls of a service go by the GRPCRoutes that have it as a parent. */
export interface ServiceRoutes {
  /** In the order in which they are matched; `undefined` if no route binds: all calls go to the cluster of the port. */
  readonly routes: readonly RouteJson[] | undefined;
  /** The ports whose clusters the routes name. */
  readonly backends: readonly ServiceAddress[];
}

/**
 * Returns the routes of the calls to a port of a service.
 * @param callerNamespace The namespace of the caller, whose own routes bind it as well; `undefined` if it is not known.
 */
export function routesOfService(
  _objects: ClusterObjects,
  _service: ServiceObject,
  _port: ServicePort,
  _callerNamespace: string | undefined,
): ServiceRoutes {
  return { routes: undefined, backends: [] };
}
