import type { LbConfig } from '../resources/extension-points';
import type { Result } from '../util/result';
import { sameEndpoints, type EndpointSet } from './endpoint-set';
import type { LbUpdate } from './lb-policy';

/**
 * Creates the update of a child: that of the parent with another config and, if given, other endpoints.
 *
 * Not a spread: V8 makes a hidden class for each spread of an object that was itself made by one, and the updates of a
 * tree are made of each other.
 */
export function childUpdate(
  { endpoints, options, xds, resolutionNote }: LbUpdate,
  config: LbConfig,
  childEndpoints: LbUpdate['endpoints'] = endpoints,
): LbUpdate {
  return { config, endpoints: childEndpoints, options, xds, resolutionNote };
}

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
