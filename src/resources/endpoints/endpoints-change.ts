import { firstAddressKey, shareEndpoint } from './endpoint-reuse';
import { localityKey, type EndpointsResource, type XdsEndpoint } from './endpoints';

/** The endpoints of a locality that are in one of two versions only. */
interface Difference {
  readonly before: XdsEndpoint[];
  readonly after: XdsEndpoint[];
}

/**
 * Describes in a few words how the endpoints of an assignment differ from those of its previous version, with which it shares what
 * did not change.
 */
export function describeEndpointsChange(
  previous: EndpointsResource,
  next: EndpointsResource,
): string {
  const byLocality = new Map<string, Difference>();
  collectOthers(previous, next, byLocality, 'before');
  collectOthers(next, previous, byLocality, 'after');
  let added = 0;
  let removed = 0;
  let updated = 0;
  for (const { before, after } of byLocality.values()) {
    const byAddress = new Map(before.map((endpoint) => [firstAddressKey(endpoint), endpoint]));
    for (const endpoint of after) {
      const address = firstAddressKey(endpoint);
      const known = byAddress.get(address);
      byAddress.delete(address);
      if (known === undefined) added++;
      else if (shareEndpoint(known, endpoint) !== known) updated++;
    }
    removed += byAddress.size;
  }
  return `endpoints: ${added} added, ${removed} removed, ${updated} updated`;
}

/** Collects the endpoints of each locality that are not in the same locality of the other version, in whatever priority. */
function collectOthers(
  assignment: EndpointsResource,
  other: EndpointsResource,
  byLocality: Map<string, Difference>,
  version: keyof Difference,
): void {
  const others = endpointsByLocality(other);
  for (const [key, endpoints] of endpointsByLocality(assignment)) {
    const difference = byLocality.get(key) ?? { before: [], after: [] };
    byLocality.set(key, difference);
    for (const endpoint of endpoints) {
      if (others.get(key)?.has(endpoint) !== true) difference[version].push(endpoint);
    }
  }
}

/** A locality may be in several priorities. */
function endpointsByLocality({ priorities }: EndpointsResource): Map<string, Set<XdsEndpoint>> {
  const byLocality = new Map<string, Set<XdsEndpoint>>();
  for (const { localities } of priorities) {
    for (const { locality, endpoints } of localities) {
      const key = localityKey(locality);
      const known = byLocality.get(key);
      byLocality.set(key, new Set(known === undefined ? endpoints : [...known, ...endpoints]));
    }
  }
  return byLocality;
}
