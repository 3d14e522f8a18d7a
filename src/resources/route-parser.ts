import type { Route as RouteMessage } from '../generated/envoy/config/route/v3/route_components';
import { assertNever } from '../util/assert-never';
import type { Violations } from '../util/violations';
import { parseFilterOverrides } from './filter-overrides-parser';
import type { ParseContext } from './parse-context';
import { parseRouteAction } from './route-action-parser';
import type { Route, RouteAction } from './route-config';
import { canNeverMatch, parseRouteMatch } from './route-match-parser';

/** `undefined` if no call can use the route, which is no error, and after adding a violation. */
export function parseRoute(
  message: RouteMessage,
  plugins: ReadonlySet<string>,
  context: ParseContext,
  violations: Violations,
): Route | undefined {
  const { extensions } = context;
  const matchAt = violations.at('match');
  if (message.match === undefined) matchAt.add('field not present');
  else if (canNeverMatch(message.match)) return undefined;
  const match = message.match && parseRouteMatch(message.match, context.regexes, matchAt);
  const action = parseAction(message.action, plugins, context, violations);
  if (action === 'unusable') return undefined;
  const filterOverrides = parseFilterOverrides(
    message.typedPerFilterConfig,
    extensions.httpFilters,
    violations.at('typed_per_filter_config'),
  );
  return match && action && { name: message.name, match, action, filterOverrides };
}

/** What is not `route` is legal, since servers use it; a client fails the calls it gets (gRFC A36). */
function parseAction(
  action: RouteMessage['action'],
  plugins: ReadonlySet<string>,
  context: ParseContext,
  violations: Violations,
): RouteAction | 'unusable' | undefined {
  switch (action?.$case) {
    case 'route':
      return parseRouteAction(action.value, plugins, context, violations.at('route'));
    case 'redirect':
      return { kind: 'unsupported', action: 'redirect' };
    case 'directResponse':
      return { kind: 'unsupported', action: 'direct_response' };
    case 'filterAction':
      return { kind: 'unsupported', action: 'filter_action' };
    case 'nonForwardingAction':
      return { kind: 'unsupported', action: 'non_forwarding_action' };
    case undefined:
      return { kind: 'unsupported', action: 'unset' };
    default:
      return assertNever(action);
  }
}
