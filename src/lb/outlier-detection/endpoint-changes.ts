import type { LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import type { EndpointSet } from '../endpoint-set';

/** Endpoint objects that came and went. One that is listed several times may be among them as often. */
export interface EndpointChanges {
  readonly added: readonly XdsEndpoint[];
  readonly removed: readonly XdsEndpoint[];
}

/** What changed from one set to the next, children included. Looks only into localities that changed. */
export function endpointChanges(before: EndpointSet, after: EndpointSet): EndpointChanges {
  const gone = new Set(localitiesOf(before));
  const fresh = new Set<LocalityEndpoints>();
  const stayed = new Set<LocalityEndpoints>();
  for (const locality of localitiesOf(after)) {
    if (gone.delete(locality)) stayed.add(locality);
    else if (!stayed.has(locality)) fresh.add(locality);
  }
  return compare(endpointsOf(gone), endpointsOf(fresh));
}

/** Most updates leave most of a list as it was, in the same order, and cost no lookups there. */
function compare(before: readonly XdsEndpoint[], after: readonly XdsEndpoint[]): EndpointChanges {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > start && afterEnd > start && before[beforeEnd - 1] === after[afterEnd - 1]) {
    beforeEnd--;
    afterEnd--;
  }
  const unlisted = new Map<XdsEndpoint, number>();
  for (const endpoint of before.slice(start, beforeEnd)) {
    unlisted.set(endpoint, (unlisted.get(endpoint) ?? 0) + 1);
  }
  const added: XdsEndpoint[] = [];
  for (const endpoint of after.slice(start, afterEnd)) {
    const count = unlisted.get(endpoint);
    if (count === undefined) added.push(endpoint);
    else if (count === 1) unlisted.delete(endpoint);
    else unlisted.set(endpoint, count - 1);
  }
  return { added, removed: [...repeated(unlisted)] };
}

function endpointsOf(localities: ReadonlySet<LocalityEndpoints>): readonly XdsEndpoint[] {
  const list: XdsEndpoint[] = [];
  for (const { endpoints } of localities) for (const endpoint of endpoints) list.push(endpoint);
  return list;
}

function* localitiesOf({ localities, children }: EndpointSet): IterableIterator<LocalityEndpoints> {
  yield* localities;
  for (const child of children?.values() ?? []) yield* localitiesOf(child);
}

function* repeated(counts: ReadonlyMap<XdsEndpoint, number>): IterableIterator<XdsEndpoint> {
  for (const [endpoint, count] of counts) for (let i = 0; i < count; i++) yield endpoint;
}
