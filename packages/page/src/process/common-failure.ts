import type { TargetReport } from 'grpc-xds';

/** Returns why each call fails, whatever it is, by the config alone; `undefined` if not. */
export function findCommonFailure({
  routes,
  clusters,
  virtualHost,
}: NonNullable<TargetReport['config']>): string | undefined {
  if (routes === 0) return `virtual host ${virtualHost} has no route: every call fails`;
  const [first] = clusters;
  if (first?.error === undefined || clusters.some(({ error }) => error === undefined))
    return undefined;
  return clusters.length === 1
    ? first.error
    : `each cluster fails, such as ${first.name}: ${first.error}`;
}
