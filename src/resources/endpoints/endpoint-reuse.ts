import { shareFields, shareList } from '../../util/share';
import type { TypedBytes } from '../extension-points';
import type { JsonObject } from '../shared/extension-parser';
import {
  localityKey,
  type EndpointMetadata,
  type EndpointsResource,
  type Locality,
  type LocalityEndpoints,
  type SocketAddress,
  type XdsEndpoint,
} from './endpoints';

/**
 * The previous version of an assignment, from which the next one takes everything that did not change. A policy that
 * compares endpoints by identity then does work in proportion to the change.
 */
export class PreviousEndpoints {
  /** By `localityKey`, then by priority. */
  private readonly byKey = new Map<string, Map<number, LocalityEndpoints>>();

  constructor(private readonly previous: EndpointsResource | undefined) {
    for (const [priority, { localities }] of previous?.priorities.entries() ?? []) {
      for (const entry of localities) {
        const key = localityKey(entry.locality);
        const known = this.byKey.get(key);
        if (known === undefined) this.byKey.set(key, new Map([[priority, entry]]));
        else known.set(priority, entry);
      }
    }
  }

  /** Returns the previous version of a locality: that in this priority or else in the first one that has it. */
  find(priority: number, locality: Locality): LocalityEndpoints | undefined {
    const byPriority = this.byKey.get(localityKey(locality));
    if (byPriority === undefined) return undefined;
    const [first] = byPriority.values();
    return byPriority.get(priority) ?? first;
  }

  /** Returns the previous object of an assignment that has not changed, otherwise the next one with the shared parts. */
  share(next: EndpointsResource): EndpointsResource {
    const { previous } = this;
    if (previous === undefined) return next;
    const priorities = next.priorities.map((priority, i) => {
      const before = previous.priorities[i];
      const localities = shareList(before?.localities, priority.localities);
      return before?.localities === localities ? before : priority;
    });
    const drops = next.drops.map((drop, i) => shareFields(previous.drops[i], drop));
    const shared = {
      ...next,
      priorities: shareList(previous.priorities, priorities),
      drops: shareList(previous.drops, drops),
    };
    return shared.priorities === previous.priorities &&
      shared.drops === previous.drops &&
      next.clusterName === previous.clusterName &&
      next.unusableEndpoints === previous.unusableEndpoints &&
      areSameCounts(next.unhealthyEndpoints, previous.unhealthyEndpoints) &&
      next.localitiesWithoutWeight === previous.localitiesWithoutWeight
      ? previous
      : shared;
  }
}

/** The endpoints of the previous version of a locality, of which those that did not change are used again. */
export class EndpointReuse {
  /** Where in the previous version the next endpoint is expected: most updates keep the order. */
  private expected = 0;
  /** Positions in the previous version by first address; created when an endpoint is not where it was expected. */
  private positions: ReadonlyMap<string, number> | undefined;

  constructor(private readonly previous: readonly XdsEndpoint[]) {}

  /** Returns the previous object of an endpoint that has not changed, otherwise the given one. Called in order. */
  share(next: XdsEndpoint): XdsEndpoint {
    const { previous } = this;
    if (previous.length === 0) return next;
    let found = previous[this.expected];
    if (found === undefined || !areEqual(found.addresses[0], next.addresses[0])) {
      this.positions ??= new Map(previous.map((endpoint, i) => [firstAddressKey(endpoint), i]));
      const position = this.positions.get(firstAddressKey(next));
      if (position === undefined) return next;
      this.expected = position;
      found = previous[position];
    }
    this.expected++;
    return found === undefined ? next : shareEndpoint(found, next);
  }
}

/** Returns the previous object of a locality that has not changed. Its endpoints must have been shared already. */
export function shareLocality(
  previous: LocalityEndpoints | undefined,
  next: LocalityEndpoints,
): LocalityEndpoints {
  if (previous === undefined) return next;
  const locality = shareFields(previous.locality, next.locality);
  const endpoints = shareList(previous.endpoints, next.endpoints);
  const isSame =
    locality === previous.locality &&
    endpoints === previous.endpoints &&
    next.weight === previous.weight &&
    next.collection === previous.collection &&
    areEqual(next.proxy, previous.proxy);
  return isSame ? previous : { ...next, locality, endpoints };
}

function areEqual(a: SocketAddress | undefined, b: SocketAddress | undefined): boolean {
  return a?.port === b?.port && a?.host === b?.host;
}

/** Returns the previous object of an endpoint whose fields are equal, otherwise the next one. */
export function shareEndpoint(previous: XdsEndpoint, next: XdsEndpoint): XdsEndpoint {
  const { addresses, metadata } = next;
  const isSame =
    previous.weight === next.weight &&
    previous.health === next.health &&
    previous.hostname === next.hostname &&
    previous.hashKey === next.hashKey &&
    (previous.metadata === metadata ||
      shareMetadata(previous.metadata, metadata) === previous.metadata) &&
    previous.addresses.length === addresses.length;
  if (!isSame) return next;
  for (let i = 0; i < addresses.length; i++) {
    if (!areEqual(previous.addresses[i], addresses[i])) return next;
  }
  return previous;
}

/** Returns the previous object of metadata that is equal, in any order, otherwise the next one. */
export function shareMetadata(
  previous: EndpointMetadata,
  next: EndpointMetadata,
): EndpointMetadata {
  const isSame =
    previous === next ||
    (areEntriesEqual(previous.filterMetadata, next.filterMetadata, isJsonEqual) &&
      areEntriesEqual(previous.typedFilterMetadata, next.typedFilterMetadata, isMessageEqual));
  return isSame ? previous : next;
}

function areEntriesEqual<V>(
  a: ReadonlyMap<string, V>,
  b: ReadonlyMap<string, V>,
  isEqual: (a: V, b: V) => boolean,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !isEqual(value, other)) return false;
  }
  return true;
}

function isMessageEqual(a: TypedBytes, b: TypedBytes): boolean {
  return a.typeUrl === b.typeUrl && Buffer.compare(a.value, b.value) === 0;
}

function isJsonEqual(a: unknown, b: unknown): boolean {
  // Not `===`: a number may be NaN, and an endpoint with one must not look changed with every update.
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isJsonEqual(a[key], b[key]))
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

/** Returns the key of the first address of an endpoint, by which it is found in another version; empty if it has none. */
export function firstAddressKey({ addresses: [first] }: XdsEndpoint): string {
  return first === undefined ? '' : `${first.host} ${first.port}`;
}

type Counts = ReadonlyMap<string, number>;

function areSameCounts(a: Counts | undefined, b: Counts | undefined): boolean {
  if (a === undefined || b === undefined || a.size !== b.size) return a === b;
  for (const [key, count] of a) if (b.get(key) !== count) return false;
  return true;
}
