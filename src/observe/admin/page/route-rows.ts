import {
  cellText,
  createView,
  matchesFilter,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
} from '../../live-page/view';
import type { XdsConfig } from '../../../dependency-manager/xds-config';
import type { Route, RouteAction, RouteMatch } from '../../../resources/route-config/route-config';

/** The routes of a target, in the order in which calls try them. */
export function routeView(config: XdsConfig | undefined, request: ViewRequest): View {
  if (config === undefined) return NO_ROWS;
  const { virtualHost } = config;
  const { routes, name: host } = virtualHost;
  // Only the rows that are shown are made: there may be hundreds of thousands.
  if (request.filter === '') {
    return createView(routes, request, (route, index) => toRow(route, index, host));
  }
  const found = routes.flatMap((route, index) =>
    isFound(route, request.filter) ? [{ route, index }] : [],
  );
  return createView(found, request, ({ route, index }) => toRow(route, index, host));
}

function isFound({ name, match, action }: Route, filter: string): boolean {
  return [name, describeMatch(match), describeAction(action)].some((text) =>
    matchesFilter(filter, cellText(text)),
  );
}

function toRow({ name, match, action }: Route, index: number, virtualHost: string): Row {
  return {
    ...{ id: `${index}`, index, name: cellText(name), virtualHost: cellText(virtualHost) },
    ...{ match: cellText(describeMatch(match)), action: cellText(describeAction(action)) },
  };
}

function describeMatch({ path, headers, fractionPerMillion }: RouteMatch): string {
  const text = path.kind === 'regex' ? path.regex.pattern : path.text;
  const names = headers.map(({ name, invert }) => (invert ? `not ${name}` : name));
  return [
    text === '' ? 'every path' : `${path.kind} ${text}`,
    ...(names.length > 0 ? [`headers ${names.join(', ')}`] : []),
    ...(fractionPerMillion !== undefined ? [`${fractionPerMillion / 10_000} % of calls`] : []),
  ].join('; ');
}

function describeAction(action: RouteAction): string {
  if (action.kind === 'unsupported') return `fails: ${action.action} is not supported`;
  const { clusters } = action;
  if (clusters.kind === 'cluster') return `cluster ${clusters.name}`;
  const shares = clusters.clusters.map(
    ({ name, weight }) => `${name} ${((100 * weight) / clusters.totalWeight).toFixed(1)} %`,
  );
  return `clusters ${shares.join(', ')}`;
}
