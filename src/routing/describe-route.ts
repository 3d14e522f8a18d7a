import type { RouteKey } from '../observe/rates/route-rates';
import type {
  ClusterSpecifier,
  Route,
  RouteAction,
  RouteMatch,
  VirtualHost,
} from '../resources/route-config/route-config';

/** The share of the calls of a route that one of its clusters gets, 0 to 1. */
interface ClusterShare {
  readonly cluster: string;
  readonly share: number;
}

/**
 * A route in words, and what its calls are counted by. The words are made when they are read: there may be hundreds of thousands
 * of routes.
 */
export class DescribedRoute implements RouteKey {
  readonly routes: readonly Route[];

  constructor(
    readonly route: Route,
    { routes }: Pick<VirtualHost, 'routes'>,
  ) {
    this.routes = routes;
  }

  get index(): number {
    return this.route.index;
  }

  get name(): string {
    return this.route.name;
  }

  /** Its conditions. */
  get match(): string {
    return describeMatch(this.route.match);
  }

  /** `undefined` if it takes all calls that match. */
  get fractionPerMillion(): number | undefined {
    return this.route.match.fractionPerMillion;
  }

  /** What becomes of its calls. */
  get action(): string {
    return describeAction(this.route.action);
  }

  /** Those with weight 0 are the last; `undefined` if the route forwards no calls. */
  get shares(): readonly ClusterShare[] | undefined {
    const { action } = this.route;
    return action.kind === 'forward' ? sharesOf(action.clusters) : undefined;
  }

  /** Its name, or its conditions: what it goes by when it has changed. */
  label(): string {
    return this.name || this.match;
  }
}

/** Describes the conditions of a route in a few words, without the values of headers. */
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
  if (action.kind === 'non-forwarding') return 'for servers; calls of clients fail';
  const { clusters } = action;
  if (clusters.kind === 'cluster') return `cluster ${clusters.name}`;
  if (clusters.kind === 'plugin') return clusters.name;
  const shares = sharesOf(clusters).map(
    ({ cluster, share }) => `${cluster} ${(100 * share).toFixed(1)} %`,
  );
  return `clusters ${shares.join(', ')}`;
}

function sharesOf(clusters: ClusterSpecifier): readonly ClusterShare[] {
  if (clusters.kind !== 'weighted') return [{ cluster: clusters.name, share: 1 }];
  const { totalWeight, zeroWeight } = clusters;
  return [
    ...clusters.clusters.map(({ name, weight }) => ({
      cluster: name,
      share: weight / totalWeight,
    })),
    ...zeroWeight.map((cluster) => ({ cluster, share: 0 })),
  ];
}
