import type { Result } from '../util/result';
import { sameEndpoints, type EndpointSet } from './endpoint-set';
import type { LbUpdate } from './lb-policy';

/** Whether an update is the same as the one before. Compares identities only. */
export function sameUpdate(a: LbUpdate, b: LbUpdate): boolean {
  return (
    a === b ||
    (a.config === b.config &&
      a.options === b.options &&
      a.resolutionNote === b.resolutionNote &&
      a.xds === b.xds &&
      sameEndpointResult(a.endpoints, b.endpoints))
  );
}

function sameEndpointResult(
  a: Result<EndpointSet, string>,
  b: Result<EndpointSet, string>,
): boolean {
  if (a.ok && b.ok) return sameEndpoints(a.value, b.value);
  return !a.ok && !b.ok && a.error === b.error;
}
