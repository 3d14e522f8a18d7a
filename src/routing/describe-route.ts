import type {
  ClusterSpecifier,
  RouteAction,
  RouteMatch,
} from '../resources/route-config/route-config';

/** Describes the conditions of a route in a few words, without the values of headers. */
export function describeMatch({ path, headers, fractionPerMillion }: RouteMatch): string {
  const text = path.kind === 'regex' ? path.regex.pattern : path.text;
  const names = headers.map(({ name, invert }) => (invert ? `not ${name}` : name));
  return [
    text === '' ? 'every path' : `${path.kind} ${text}`,
    ...(names.length > 0 ? [`headers ${names.join(', ')}`] : []),
    ...(fractionPerMillion !== undefined ? [`${fractionPerMillion / 10_000} % of calls`] : []),
  ].join('; ');
}

/** Describes what becomes of the calls of a route. */
export function describeAction(action: RouteAction): string {
  if (action.kind === 'unsupported') return `fails: ${action.action} is not supported`;
  if (action.kind === 'non-forwarding') return 'for servers; calls of clients fail';
  const { clusters } = action;
  if (clusters.kind === 'cluster') return `cluster ${clusters.name}`;
  const shares = sharesOf(clusters).map(
    ({ cluster, share }) => `${cluster} ${(100 * share).toFixed(1)} %`,
  );
  return `clusters ${shares.join(', ')}`;
}

/** Returns the share of the calls of a route that each of its clusters gets, 0 to 1: those with weight 0 are the last. */
export function sharesOf(
  clusters: ClusterSpecifier,
): readonly { readonly cluster: string; readonly share: number }[] {
  if (clusters.kind === 'cluster') return [{ cluster: clusters.name, share: 1 }];
  const { totalWeight, zeroWeight } = clusters;
  return [
    ...clusters.clusters.map(({ name, weight }) => ({
      cluster: name,
      share: weight / totalWeight,
    })),
    ...zeroWeight.map((cluster) => ({ cluster, share: 0 })),
  ];
}
