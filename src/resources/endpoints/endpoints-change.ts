import { inSteps, type Steps } from '../../util/steps';
import { firstAddressKey, shareEndpoint } from './endpoint-reuse';
import {
  localityKey,
  type EndpointsChange,
  type EndpointsResource,
  type LocalityChange,
  type LocalityEndpoints,
  type XdsEndpoint,
  type Locality,
} from './endpoints';

/** The endpoints of a locality that are in only one of two versions; one that was updated is in both lists. */
export interface LocalityDifference {
  readonly locality: Locality;
  readonly added: XdsEndpoint[];
  readonly removed: XdsEndpoint[];
}

/** Collects how two versions of an assignment differ. */
export class EndpointsDifference {
  /** By `localityKey`. */
  private readonly byKey = new Map<string, LocalityDifference>();

  /** Includes endpoints of a locality. */
  include(
    locality: Locality,
    added: readonly XdsEndpoint[],
    removed: readonly XdsEndpoint[],
  ): void {
    const difference = this.of(locality);
    for (const endpoint of added) difference.added.push(endpoint);
    for (const endpoint of removed) difference.removed.push(endpoint);
  }

  /** Returns the difference of a locality, to whose lists endpoints may be added. */
  of(locality: Locality): LocalityDifference {
    const key = localityKey(locality);
    let difference = this.byKey.get(key);
    if (difference === undefined) {
      difference = { locality, added: [], removed: [] };
      this.byKey.set(key, difference);
    }
    return difference;
  }

  /** Returns the difference of every locality. */
  all(): readonly LocalityDifference[] {
    return [...this.byKey.values()];
  }

  /** Returns the change: an endpoint that is in both versions of its locality was updated, or only moved. */
  *toChange(): Steps<EndpointsChange> {
    const localities: LocalityChange[] = [];
    yield* inSteps(this.byKey.values(), function* (difference) {
      const change = yield* toLocalityChange(difference);
      const { added, updated, removed } = change;
      if (added.length + updated.length + removed.length > 0) localities.push(change);
    });
    return { localities };
  }
}

function* toLocalityChange(difference: LocalityDifference): Steps<LocalityChange> {
  const removed = new Map<string, XdsEndpoint>();
  yield* inSteps(
    difference.removed,
    (endpoint) => void removed.set(firstAddressKey(endpoint), endpoint),
  );
  const [added, updated]: [XdsEndpoint[], XdsEndpoint[]] = [[], []];
  yield* inSteps(difference.added, (endpoint) => {
    const address = firstAddressKey(endpoint);
    const known = removed.get(address);
    if (known === undefined) added.push(endpoint);
    else if (shareEndpoint(known, endpoint) !== known) updated.push(endpoint);
    removed.delete(address);
  });
  return { locality: difference.locality, added, removed: [...removed.values()], updated };
}

/** Compares two versions of an assignment, of which the second shares unchanged objects with the first. */
export function* compareEndpoints(
  previous: EndpointsResource,
  next: EndpointsResource,
): Steps<EndpointsChange> {
  const difference = new EndpointsDifference();
  const [before, after] = [previous, next].map((version) => new Set(localitiesOf(version)));
  const known = new Map<XdsEndpoint, LocalityDifference>();
  yield* inSteps(before ?? [], function* (entry) {
    if (after?.has(entry) === true) return;
    const locality = difference.of(entry.locality);
    yield* inSteps(entry.endpoints, (endpoint) => void known.set(endpoint, locality));
  });
  yield* inSteps(after ?? [], function* (entry) {
    if (before?.has(entry) === true) return;
    const { added } = difference.of(entry.locality);
    yield* inSteps(entry.endpoints, (endpoint) => {
      if (!known.delete(endpoint)) added.push(endpoint);
    });
  });
  yield* inSteps(known, ([endpoint, { removed }]) => void removed.push(endpoint));
  return yield* difference.toChange();
}

function localitiesOf({ priorities }: EndpointsResource): readonly LocalityEndpoints[] {
  return priorities.flatMap(({ localities }) => localities);
}
