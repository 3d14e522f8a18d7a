import type { TypedBytes } from '../extension-points';
import type { JsonObject } from '../shared/struct-json-parser';
import {
  localityName,
  type DropCategory,
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
  /** By name within each priority. */
  private readonly priorities: readonly ReadonlyMap<string, LocalityEndpoints>[];

  constructor(private readonly previous: EndpointsResource | undefined) {
    const priorities = previous?.priorities ?? [];
    this.priorities = priorities.map(
      ({ localities }) => new Map(localities.map((entry) => [localityName(entry.locality), entry])),
    );
  }

  /** Returns the previous version of a locality: that in this priority or else in any. */
  find(priority: number, locality: Locality): LocalityEndpoints | undefined {
    const name = localityName(locality);
    const inPriority = this.priorities[priority]?.get(name);
    if (inPriority !== undefined) return inPriority;
    return this.priorities.find((localities) => localities.has(name))?.get(name);
  }

  /** Returns all localities. */
  *localities(): IterableIterator<LocalityEndpoints> {
    for (const byName of this.priorities) yield* byName.values();
  }

  /** Returns the localities of a name, one for each priority it is in. */
  named(locality: Locality): readonly LocalityEndpoints[] {
    const name = localityName(locality);
    return this.priorities.map((byName) => byName.get(name)).filter((found) => found !== undefined);
  }

  /** Returns the previous object of an assignment that has not changed, otherwise the next one with the shared parts. */
  share(next: EndpointsResource): EndpointsResource {
    const { previous } = this;
    if (previous === undefined) return next;
    const priorities = shareList(previous.priorities, next.priorities, (priority, i) => {
      const before = previous.priorities[i];
      return before !== undefined && sameItems(before.localities, priority.localities)
        ? before
        : priority;
    });
    const drops = shareList(previous.drops, next.drops, (drop, i) =>
      shareDrop(previous.drops[i], drop),
    );
    return priorities === previous.priorities &&
      drops === previous.drops &&
      next.clusterName === previous.clusterName &&
      next.unusableEndpoints === previous.unusableEndpoints
      ? previous
      : { ...next, priorities, drops };
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
    const expected = previous[this.expected];
    if (expected !== undefined && sameAddress(expected.addresses[0], next.addresses[0])) {
      this.expected++;
      return sameEndpoint(expected, next) ? expected : next;
    }
    this.positions ??= new Map(previous.map((endpoint, i) => [firstAddress(endpoint), i]));
    const position = this.positions.get(firstAddress(next));
    if (position === undefined) return next;
    this.expected = position + 1;
    const found = previous[position];
    return found !== undefined && sameEndpoint(found, next) ? found : next;
  }
}

/** Returns the previous object of a locality that has not changed. Its endpoints must have been shared already. */
export function shareLocality(
  previous: LocalityEndpoints | undefined,
  next: LocalityEndpoints,
): LocalityEndpoints {
  if (previous === undefined) return next;
  const hasLocality = sameLocality(previous.locality, next.locality);
  const hasEndpoints = sameItems(previous.endpoints, next.endpoints);
  if (
    hasLocality &&
    hasEndpoints &&
    next.weight === previous.weight &&
    next.collection === previous.collection &&
    sameAddress(next.proxy, previous.proxy)
  ) {
    return previous;
  }
  const locality = hasLocality ? previous.locality : next.locality;
  return { ...next, locality, endpoints: hasEndpoints ? previous.endpoints : next.endpoints };
}

function shareDrop(previous: DropCategory | undefined, next: DropCategory): DropCategory {
  return previous?.category === next.category && previous.perMillion === next.perMillion
    ? previous
    : next;
}

/** Shares the items, and the list if all of them were shared. */
function shareList<T>(
  previous: readonly T[],
  next: readonly T[],
  share: (item: T, position: number) => T,
): readonly T[] {
  const shared = next.map(share);
  return sameItems(previous, shared) ? previous : shared;
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

function sameLocality(a: Locality, b: Locality): boolean {
  return a.zone === b.zone && a.region === b.region && a.subZone === b.subZone;
}

function sameAddress(a: SocketAddress | undefined, b: SocketAddress | undefined): boolean {
  return a?.port === b?.port && a?.host === b?.host;
}

/** Whether two endpoints have the same fields. */
export function sameEndpoint(a: XdsEndpoint, b: XdsEndpoint): boolean {
  return (
    a.weight === b.weight &&
    a.health === b.health &&
    a.hostname === b.hostname &&
    a.hashKey === b.hashKey &&
    sameMetadata(a.metadata, b.metadata) &&
    a.addresses.length === b.addresses.length &&
    a.addresses.every((address, i) => sameAddress(address, b.addresses[i]))
  );
}

/** Whether two endpoints have the same metadata, in whatever order. */
export function sameMetadata(a: EndpointMetadata, b: EndpointMetadata): boolean {
  return (
    a === b ||
    (sameEntries(a.filterMetadata, b.filterMetadata, sameJson) &&
      sameEntries(a.typedFilterMetadata, b.typedFilterMetadata, sameMessage))
  );
}

function sameEntries<V>(
  a: ReadonlyMap<string, V>,
  b: ReadonlyMap<string, V>,
  same: (a: V, b: V) => boolean,
): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) {
    const other = b.get(key);
    if (other === undefined || !same(value, other)) return false;
  }
  return true;
}

function sameMessage(a: TypedBytes, b: TypedBytes): boolean {
  return a.typeUrl === b.typeUrl && Buffer.compare(a.value, b.value) === 0;
}

function sameJson(a: unknown, b: unknown): boolean {
  // Not `===`: a number may be NaN, and an endpoint with one must not look changed with every update.
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

/** The text of the first address of an endpoint. */
export function firstAddress({ addresses: [first] }: XdsEndpoint): string {
  return first === undefined ? '' : `${first.host} ${first.port}`;
}
