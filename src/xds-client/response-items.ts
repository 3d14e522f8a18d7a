import { Resource, type ResourceName } from '../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../generated/google/protobuf/any';
import { errorMessage } from '../util/error-message';
import type { ResponseItem } from './ads-protocol';

const WRAPPER_TYPE_URL = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/**
 * Reads one element of a state-of-the-world response, which may be a resource or a wrapper around one
 * (`xds.config.resource-in-sotw`).
 * @param version The response's, which is what a resource's version is in this variant.
 */
export function itemFromAny(element: Any, version: string): ResponseItem {
  if (element.typeUrl !== WRAPPER_TYPE_URL) return bareItem(element, version);
  try {
    return { ...itemFromWrapper(Resource.decode(element.value)), version };
  } catch (error) {
    const problem = `wrapper cannot be decoded: ${errorMessage(error)}`;
    return { ...bareItem(undefined, version), problem };
  }
}

/** Reads a resource with its wrapper, as the incremental variant always sends it. */
export function itemFromWrapper(wrapper: Resource): ResponseItem {
  const { aliases, version, resource, ttl } = wrapper;
  const name = nameOf(wrapper.resourceName) || wrapper.name;
  const ttlMs = ttl === undefined ? 0 : Number(ttl.seconds) * 1000 + ttl.nanos / 1e6;
  return {
    name: name === '' ? undefined : name,
    aliases,
    version,
    resource,
    // None at all is how a time to live of zero is meant: nobody sends what is to be forgotten at once.
    ttlMs: ttlMs > 0 ? ttlMs : undefined,
    problem: undefined,
  };
}

function bareItem(resource: Any | undefined, version: string): ResponseItem {
  return {
    name: undefined,
    aliases: [],
    version,
    resource,
    ttlMs: undefined,
    problem: undefined,
  };
}

function nameOf(resourceName: ResourceName | undefined): string {
  return resourceName?.name ?? '';
}
