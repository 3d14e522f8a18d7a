import type { LbConfig } from '../../resources/extension-points';
import { ok, type Result } from '../../util/result';
import { emptyEndpointSet, type EndpointSet, sameEndpoints } from '../endpoints/endpoint-set';
import type { LbUpdate } from '../lb-policy';

/**
 * Creates the update of a child: that of the parent with another config and, if given, other endpoints.
 *
 * Not a spread: V8 creates a hidden class for each spread of an object that was itself created by one, and the updates of
 * a tree derive from each other.
 */
export function childUpdate(
  { endpoints, options, xds, resolutionNote, labels }: LbUpdate,
  config: LbConfig,
  childEndpoints: LbUpdate['endpoints'] = endpoints,
): LbUpdate {
  return { config, endpoints: childEndpoints, options, xds, resolutionNote, labels };
}

/** Returns the update with other labels. They must be the same object until one of them changes. */
export function labelledUpdate(
  { config, endpoints, options, xds, resolutionNote }: LbUpdate,
  labels: LbUpdate['labels'],
): LbUpdate {
  return { config, endpoints, options, xds, resolutionNote, labels };
}

/** Creates the update of a named child: with the endpoints under its name, or none if there are none. */
export function namedChildUpdate(update: LbUpdate, config: LbConfig, name: string): LbUpdate {
  const { endpoints } = update;
  const own = endpoints.ok
    ? ok(endpoints.value.children?.get(name) ?? emptyEndpointSet)
    : endpoints;
  return childUpdate(update, config, own);
}

/** Whether two updates have the same parts, compared by identity. */
export function sameUpdate(a: LbUpdate, b: LbUpdate): boolean {
  return (
    a === b ||
    (a.config === b.config &&
      a.options === b.options &&
      a.resolutionNote === b.resolutionNote &&
      a.xds === b.xds &&
      a.labels === b.labels &&
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
