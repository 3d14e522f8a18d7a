import type { Steps } from '../../util/steps';
import { firstAddress, shareEndpoint } from './endpoint-reuse';
import {
  localityKey,
  type EndpointsChange,
  type EndpointsResource,
  type LocalityChange,
  type LocalityEndpoints,
  type XdsEndpoint,
  type Locality,
} from './endpoints';

/** How many endpoints, and localities, are compared in one step. */
const ENDPOINTS_PER_STEP = 256;

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
    let count = 0;
    for (const { locality, added: after, removed: before } of this.byKey.values()) {
      if (++count % ENDPOINTS_PER_STEP === 0) yield;
      const removed = new Map<string, XdsEndpoint>();
      for (const endpoint of before) {
        if (++count % ENDPOINTS_PER_STEP === 0) yield;
        removed.set(firstAddress(endpoint), endpoint);
      }
      const [added, updated]: [XdsEndpoint[], XdsEndpoint[]] = [[], []];
      for (const endpoint of after) {
        if (++count % ENDPOINTS_PER_STEP === 0) yield;
        const address = firstAddress(endpoint);
        const known = removed.get(address);
        if (known === undefined) added.push(endpoint);
        else if (shareEndpoint(known, endpoint) !== known) updated.push(endpoint);
        removed.delete(address);
      }
      if (added.length + updated.length + removed.size === 0) continue;
      localities.push({ locality, added, removed: [...removed.values()], updated });
    }
    return { localities };
  }
}

/** Compares two versions of an assignment, of which the second shares unchanged objects with the first. */
export function* compareEndpoints(
  previous: EndpointsResource,
  next: EndpointsResource,
): Steps<EndpointsChange> {
  const difference = new EndpointsDifference();
  const [before, after] = [previous, next].map((version) => new Set(localitiesOf(version)));
  const known = new Map<XdsEndpoint, LocalityDifference>();
  let count = 0;
  for (const entry of before ?? []) {
    if (++count % ENDPOINTS_PER_STEP === 0) yield;
    if (after?.has(entry) === true) continue;
    const locality = difference.of(entry.locality);
    for (const endpoint of entry.endpoints) {
      if (++count % ENDPOINTS_PER_STEP === 0) yield;
      known.set(endpoint, locality);
    }
  }
  for (const entry of after ?? []) {
    if (++count % ENDPOINTS_PER_STEP === 0) yield;
    if (before?.has(entry) === true) continue;
    const { added } = difference.of(entry.locality);
    for (const endpoint of entry.endpoints) {
      if (++count % ENDPOINTS_PER_STEP === 0) yield;
      if (!known.delete(endpoint)) added.push(endpoint);
    }
  }
  for (const [endpoint, { removed }] of known) {
    if (++count % ENDPOINTS_PER_STEP === 0) yield;
    removed.push(endpoint);
  }
  return yield* difference.toChange();
}

function localitiesOf({ priorities }: EndpointsResource): readonly LocalityEndpoints[] {
  return priorities.flatMap(({ localities }) => localities);
}
