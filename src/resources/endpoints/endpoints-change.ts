import { firstAddressKey, shareEndpoint } from './endpoint-reuse';
import {
  describeLocality,
  localityKey,
  type EndpointsResource,
  type LocalityEndpoints,
  type XdsEndpoint,
} from './endpoints';

/** The endpoints of a locality in two versions. */
interface Versions {
  before: readonly XdsEndpoint[];
  after: readonly XdsEndpoint[];
}

/**
 * Describes in a few words how the endpoints of an assignment differ from those of its previous version, with which it shares what
 * did not change.
 */
export function describeEndpointsChange(
  previous: EndpointsResource,
  next: EndpointsResource,
): string {
  const byLocality = new Map<string, Versions>();
  collectOthers(previous, next, byLocality, 'before');
  collectOthers(next, previous, byLocality, 'after');
  let added = 0;
  let removed = 0;
  let updated = 0;
  for (const versions of byLocality.values()) {
    const { lost, gained } = difference(versions);
    const byAddress = new Map<string, XdsEndpoint>();
    for (const endpoint of lost) byAddress.set(firstAddressKey(endpoint), endpoint);
    for (const endpoint of gained) {
      const address = firstAddressKey(endpoint);
      const known = byAddress.get(address);
      byAddress.delete(address);
      if (known === undefined) added++;
      else if (shareEndpoint(known, endpoint) !== known) updated++;
    }
    removed += byAddress.size;
  }
  const text = `endpoints: ${added} added, ${removed} removed, ${updated} updated`;
  const weights = describeWeights(previous, next);
  if (weights === '') return text;
  return added + removed + updated > 0 ? `${text}; ${weights}` : weights;
}

/** Describes which localities changed their weight, naming the first; empty if none did. */
function describeWeights(previous: EndpointsResource, next: EndpointsResource): string {
  const before = new Map(localitiesOf(previous));
  const changed = localitiesOf(next).flatMap(([key, { locality, weight }]) => {
    const known = before.get(key)?.weight ?? weight;
    return known === weight ? [] : `weight of ${describeLocality(locality)} ${known} -> ${weight}`;
  });
  const [first = ''] = changed;
  return changed.length > 1 ? `${first}, and ${changed.length - 1} more` : first;
}

/** Returns the localities by priority and name: a locality may be in several priorities. */
function localitiesOf({ priorities }: EndpointsResource) {
  return priorities.flatMap(({ localities }, priority) =>
    localities.map((each) => [`${priority} ${localityKey(each.locality)}`, each] as const),
  );
}

/** Collects the endpoints of the localities that the other version does not have as they are. */
function collectOthers(
  { priorities }: EndpointsResource,
  other: EndpointsResource,
  byLocality: Map<string, Versions>,
  version: keyof Versions,
): void {
  const others = new Set<LocalityEndpoints>();
  for (const { localities } of other.priorities) for (const entry of localities) others.add(entry);
  for (const { localities } of priorities) {
    for (const entry of localities) {
      if (others.has(entry)) continue;
      const key = localityKey(entry.locality);
      const versions = byLocality.get(key) ?? { before: [], after: [] };
      byLocality.set(key, versions);
      // A locality may be in several priorities.
      versions[version] = versions[version].concat(entry.endpoints);
    }
  }
}

/** How far on an endpoint is looked for before it counts as moved. */
const NEARBY = 8;

/** Finds the endpoints that are in one version only, wherever they are. Most updates leave nearly all of them in order. */
function difference({ before, after }: Versions): {
  readonly lost: ReadonlySet<XdsEndpoint>;
  readonly gained: ReadonlySet<XdsEndpoint>;
} {
  const lost = new Set<XdsEndpoint>();
  const gained = new Set<XdsEndpoint>();
  let i = 0;
  let k = 0;
  while (i < before.length || k < after.length) {
    if (i < before.length && before[i] === after[k]) {
      i++;
      k++;
      continue;
    }
    const [removed, added] = nextCommon(before, i, after, k);
    for (const one of before.slice(i, i + removed)) if (!gained.delete(one)) lost.add(one);
    for (const one of after.slice(k, k + added)) if (!lost.delete(one)) gained.add(one);
    i += removed;
    k += added;
  }
  return { lost, gained };
}

/** @returns after how many endpoints of each version the same one follows. */
function nextCommon(
  before: readonly XdsEndpoint[],
  i: number,
  after: readonly XdsEndpoint[],
  k: number,
): readonly [number, number] {
  if (i >= before.length || k >= after.length) return [before.length - i, after.length - k];
  for (let distance = 1; distance <= NEARBY; distance++) {
    if (before[i + distance] === after[k]) return [distance, 0];
    if (before[i] === after[k + distance]) return [0, distance];
    if (before[i + distance] === after[k + distance]) return [distance, distance];
  }
  return [1, 1];
}
