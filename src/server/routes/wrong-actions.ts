import type { Route, VirtualHost } from '../../resources/route-config/route-config';
import { actionName } from '../../routing/action-name';
import { quoteText } from '../../util/text';

/**
 * Describes the routes that have another action than `non_forwarding_action`, for the log: their requests fail (gRFC A36).
 *
 * @param name That of the route configuration.
 * @returns `undefined` if there are none.
 */
export function describeWrongActions(
  name: string,
  virtualHosts: readonly VirtualHost[],
): string | undefined {
  let wrong = 0;
  let all = 0;
  let example: string | undefined;
  for (const virtualHost of virtualHosts) {
    all += virtualHost.routes.length;
    for (const route of virtualHost.routes) {
      if (route.action.kind === 'non-forwarding') continue;
      wrong++;
      example ??= describeRoute(route, virtualHost);
    }
  }
  if (example === undefined) return undefined;
  return (
    `${name}: ${wrong} of ${all} routes fail their requests with UNAVAILABLE, because their action is not ` +
    `non_forwarding_action, as it must be on a server: the first one is ${example}`
  );
}

function describeRoute(route: Route, { name }: VirtualHost): string {
  const ofRoute = route.name === '' ? '' : ` (${quoteText(route.name)})`;
  return (
    `route ${route.index}${ofRoute} of virtual host ${quoteText(name)}, ` +
    `with the action ${actionName(route.action)}`
  );
}
