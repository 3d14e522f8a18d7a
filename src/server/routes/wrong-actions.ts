import type { Route, VirtualHost } from '../../resources/route-config/route-config';
import { actionName } from '../../routing/action-name';
import { quoteText } from '../../util/text';

/** Counts the routes of a server that have another action than `non_forwarding_action`: their requests fail (gRFC A36). */
export class WrongActions {
  private routes = 0;
  private wrong = 0;
  private first: { readonly route: Route; readonly virtualHost: VirtualHost } | undefined =
    undefined;

  count(route: Route, virtualHost: VirtualHost): void {
    this.routes++;
    if (route.action.kind === 'non-forwarding') return;
    this.wrong++;
    this.first ??= { route, virtualHost };
  }

  /** Returns a text for the log; `undefined` if there is no such route. @param routes The name of the route configuration. */
  describe(routes: string): string | undefined {
    if (this.first === undefined) return undefined;
    const { route, virtualHost } = this.first;
    const name = route.name === '' ? '' : ` (${quoteText(route.name)})`;
    return (
      `${routes}: ${this.wrong} of ${this.routes} routes fail their requests with UNAVAILABLE, because their action is not ` +
      `non_forwarding_action, as it must be on a server: the first one is route ${virtualHost.routes.indexOf(route)}${name} of ` +
      `virtual host ${quoteText(virtualHost.name)}, with the action ${actionName(route.action)}`
    );
  }
}
