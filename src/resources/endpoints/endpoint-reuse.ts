import { sameMetadata } from './endpoints';
import type {
  DropCategory,
  EndpointsResource,
  LocalityEndpoints,
  SocketAddress,
  XdsEndpoint,
} from './endpoints';
import { localityName, type Locality } from './endpoints';

/**
 * The last accepted value of an assignment, from which a new one takes everything that did not change, so
 * that whoever compares by identity does work in proportion to the change.
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

  /** The last value of a locality, if there was one in this priority or else in any. */
  find(priority: number, locality: Locality): LocalityEndpoints | undefined {
    const name = localityName(locality);
    const inPriority = this.priorities[priority]?.get(name);
    if (inPriority !== undefined) return inPriority;
    return this.priorities.find((localities) => localities.has(name))?.get(name);
  }

  /** All localities of the last value. */
  *localities(): IterableIterator<LocalityEndpoints> {
    for (const byName of this.priorities) yield* byName.values();
  }

  /** The last values of a locality, one for each priority it is in. */
  named(locality: Locality): readonly LocalityEndpoints[] {
    const name = localityName(locality);
    return this.priorities.map((byName) => byName.get(name)).filter((found) => found !== undefined);
  }

  /** The previous value itself if nothing changed, otherwise the new one made of what did not. */
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

/** Takes over what did not change in one locality. */
export class LocalityReuse {
  private readonly endpoints: readonly XdsEndpoint[];
  /** Where in the last value the next endpoint is expected: most updates keep the order. */
  private expected = 0;
  /** Positions in the last value by first address; made when an endpoint is not where it was expected. */
  private positions: ReadonlyMap<string, number> | undefined;

  constructor(private readonly previous: LocalityEndpoints | undefined) {
    this.endpoints = previous?.endpoints ?? [];
  }

  /** The last object for this endpoint, if it says the same. To be asked in order. */
  shareEndpoint(next: XdsEndpoint): XdsEndpoint {
    if (this.endpoints.length === 0) return next;
    const expected = this.endpoints[this.expected];
    if (expected !== undefined && sameFirstAddress(expected, next)) {
      this.expected++;
      return sameEndpoint(expected, next) ? expected : next;
    }
    this.positions ??= new Map(this.endpoints.map((endpoint, i) => [firstAddress(endpoint), i]));
    const position = this.positions.get(firstAddress(next));
    if (position === undefined) return next;
    this.expected = position + 1;
    const found = this.endpoints[position];
    return found !== undefined && sameEndpoint(found, next) ? found : next;
  }

  /** The last object for this locality, if it says the same. The endpoints must have been shared already. */
  share(next: LocalityEndpoints): LocalityEndpoints {
    const { previous } = this;
    if (previous === undefined) return next;
    const locality = sameLocality(previous.locality, next.locality)
      ? previous.locality
      : next.locality;
    const endpoints = sameItems(previous.endpoints, next.endpoints)
      ? previous.endpoints
      : next.endpoints;
    return locality === previous.locality &&
      endpoints === previous.endpoints &&
      next.weight === previous.weight &&
      next.collection === previous.collection
      ? previous
      : { ...next, locality, endpoints };
  }
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

function sameFirstAddress(a: XdsEndpoint, b: XdsEndpoint): boolean {
  return sameAddress(a.addresses[0], b.addresses[0]);
}

/** Whether both say the same. */
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

/** The text of the first address of an endpoint. */
export function firstAddress({ addresses: [first] }: XdsEndpoint): string {
  return first === undefined ? '' : `${first.host} ${first.port}`;
}
