import type { RouteKey } from '../observe/rates/route-rates';
import type { Route, VirtualHost } from '../resources/route-config/route-config';
import { describeMatch } from './describe-route';

/** Returns what the calls of a route are counted by: it goes by its name, or by its conditions, when it has changed. */
export function routeKey(route: Route, { routes }: Pick<VirtualHost, 'routes'>): RouteKey {
  return {
    route,
    routes,
    label: () => route.name || describeMatch(route.match),
  };
}
