import type { Route, VirtualHost } from '../../resources/route-config/route-config';
import { actionName } from '../../routing/action-name';
import { quoteText } from '../../util/text';

/** The routes of a virtual host that have another action than `non_forwarding_action`: their requests fail (gRFC A36). */
export class WrongActions {
  private count = 0;
  private first: Route | undefined = undefined;

  constructor(private readonly virtualHost: VirtualHost) {}

  add(route: Route): void {
    if (route.action.kind === 'non-forwarding') return;
    this.count++;
    this.first ??= route;
  }

  /** Describes those of all virtual hosts, for the log; `undefined` if there are none. @param name That of the route configuration. */
  static describe(name: string, hosts: readonly WrongActions[]): string | undefined {
    let wrong = 0;
    let all = 0;
    let example: string | undefined;
    for (const { virtualHost, count, first } of hosts) {
      wrong += count;
      all += virtualHost.routes.length;
      if (first !== undefined) example ??= describeRoute(first, virtualHost);
    }
    if (example === undefined) return undefined;
    return (
      `${name}: ${wrong} of ${all} routes fail their requests with UNAVAILABLE, because their action is not ` +
      `non_forwarding_action, as it must be on a server: the first one is ${example}`
    );
  }
}

function describeRoute(route: Route, { name }: VirtualHost): string {
  const ofRoute = route.name === '' ? '' : ` (${quoteText(route.name)})`;
  return (
    `route ${route.index}${ofRoute} of virtual host ${quoteText(name)}, ` +
    `with the action ${actionName(route.action)}`
  );
}
