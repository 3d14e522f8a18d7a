import type { LbConfig } from '../../resources/extension-points';
import { ok } from '../../util/result';
import { emptyEndpointSet, shareEndpointSet } from '../endpoints/endpoint-set';
import type { LbUpdate } from '../lb-policy';

/**
 * Creates the update of a child: that of the parent with another config and, if given, other endpoints.
 *
 * Not a spread: V8 creates a hidden class for each spread of an object that was itself created by one, and the updates of
 * a tree derive from each other.
 */
export function childUpdate(
  { endpoints, options, xds, resolutionNote, labels, childChannelOptions }: LbUpdate,
  config: LbConfig,
  childEndpoints: LbUpdate['endpoints'] = endpoints,
): LbUpdate {
  return {
    config,
    endpoints: childEndpoints,
    options,
    xds,
    resolutionNote,
    labels,
    childChannelOptions,
  };
}

/** Returns the update with other labels. They must be the same object until one of them changes. */
export function labelledUpdate(
  { config, endpoints, options, xds, resolutionNote, childChannelOptions }: LbUpdate,
  labels: LbUpdate['labels'],
): LbUpdate {
  return { config, endpoints, options, xds, resolutionNote, labels, childChannelOptions };
}

/** Creates the update of a named child: with the endpoints under its name, or none if there are none. */
export function namedChildUpdate(update: LbUpdate, config: LbConfig, name: string): LbUpdate {
  const { endpoints } = update;
  const own = endpoints.ok
    ? ok(endpoints.value.children?.get(name) ?? emptyEndpointSet)
    : endpoints;
  return childUpdate(update, config, own);
}

/** Returns the previous update if it has the same parts, otherwise the next one with the endpoints that are the same. */
export function shareUpdate<Config extends LbConfig>(
  previous: LbUpdate<Config> | undefined,
  next: LbUpdate<Config>,
): LbUpdate<Config> {
  if (previous === undefined) return next;
  const endpoints = shareEndpoints(previous.endpoints, next.endpoints);
  const { config, options, xds, resolutionNote, labels, childChannelOptions } = next;
  const isSame =
    config === previous.config &&
    options === previous.options &&
    resolutionNote === previous.resolutionNote &&
    xds === previous.xds &&
    labels === previous.labels &&
    childChannelOptions === previous.childChannelOptions &&
    endpoints === previous.endpoints;
  if (isSame) return previous;
  if (endpoints === next.endpoints) return next;
  return { config, endpoints, options, xds, resolutionNote, labels, childChannelOptions };
}

function shareEndpoints(
  previous: LbUpdate['endpoints'],
  next: LbUpdate['endpoints'],
): LbUpdate['endpoints'] {
  if (previous.ok && next.ok) {
    const shared = shareEndpointSet(previous.value, next.value);
    if (shared === previous.value) return previous;
    return shared === next.value ? next : ok(shared);
  }
  const isSameError = !previous.ok && !next.ok && previous.error === next.error;
  return isSameError ? previous : next;
}
