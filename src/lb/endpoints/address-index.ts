import type { Locality, LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { runSteps, STEP_SIZE, type Steps } from '../../util/steps';
import { formatAddress } from './endpoint-key';
import type { EndpointSet } from './endpoint-set';

/** Endpoints in changed localities that are compared at once, in a few milliseconds. */
const AT_ONCE = 4096;

/** Returns an empty index of the endpoints of addresses. */
export function createHostIndex(): AddressIndex<XdsEndpoint> {
  return new AddressIndex(
    (endpoint) => endpoint,
    (a, b) => a === b,
  );
}

/** Returns an empty index of the localities of addresses. */
export function createLocalityIndex(): AddressIndex<Locality> {
  return new AddressIndex(
    (_endpoint, locality) => locality,
    (a, b) => a === b || (a.region === b.region && a.zone === b.zone && a.subZone === b.subZone),
  );
}

/**
 * Finds the endpoint or the locality of an address, among the endpoints of all priorities of a cluster. An update takes
 * time in proportion to the endpoints of the localities that changed, and formats only the addresses of endpoints that
 * were added, removed or moved.
 */
export class AddressIndex<Value> {
  private readonly byAddress = new Map<string, Value>();
  private localities: ReadonlySet<LocalityEndpoints> = new Set();

  constructor(
    private readonly valueOf: (endpoint: XdsEndpoint, locality: Locality) => Value,
    private readonly isSame: (a: Value, b: Value) => boolean,
  ) {}

  /** @param address Such as `10.0.0.1:80`. */
  get(address: string): Value | undefined {
    return this.byAddress.get(address);
  }

  /** @returns Whether the value of an address that is still listed changed. */
  update(set: EndpointSet): boolean {
    return runSteps(this.updateInSteps(set));
  }

  /**
   * Does the same in steps; few changes are applied in one. Until the end, an address has its previous value or the next one.
   * Another update must not start before.
   */
  *updateInSteps(set: EndpointSet): Steps<boolean> {
    const next = new Set<LocalityEndpoints>();
    collectLocalities(set, next);
    const [before, after] = [without(this.localities, next), without(next, this.localities)];
    const isLarge = countEndpoints(before) + countEndpoints(after) > AT_ONCE;
    let count = 0;
    const isDue = () => isLarge && ++count % STEP_SIZE === 0;
    const removed = new Map<XdsEndpoint, Value>();
    for (const { endpoints, locality } of before) {
      for (const endpoint of endpoints) {
        if (isDue()) yield;
        removed.set(endpoint, this.valueOf(endpoint, locality));
      }
    }
    const added = new Map<XdsEndpoint, Value>();
    for (const { endpoints, locality } of after) {
      for (const endpoint of endpoints) {
        if (isDue()) yield;
        const known = removed.get(endpoint);
        const value = this.valueOf(endpoint, locality);
        if (known !== undefined && this.isSame(known, value)) removed.delete(endpoint);
        else added.set(endpoint, value);
      }
    }
    this.localities = next;
    return yield* this.replace(removed, added, isDue);
  }

  private *replace(
    removed: ReadonlyMap<XdsEndpoint, Value>,
    added: ReadonlyMap<XdsEndpoint, Value>,
    isDue: () => boolean,
  ): Steps<boolean> {
    let hasChanged = false;
    // In this order: an address may have moved from one endpoint to another, and is found all the time.
    const listed = new Set<string>();
    for (const [{ addresses }, value] of added) {
      for (const address of addresses.map(formatAddress)) {
        if (isDue()) yield;
        if (removed.size > 0 && !listed.has(address)) {
          const before = this.byAddress.get(address);
          hasChanged ||= before !== undefined && !this.isSame(before, value);
          listed.add(address);
        }
        this.byAddress.set(address, value);
      }
    }
    for (const { addresses } of removed.keys()) {
      for (const address of addresses.map(formatAddress)) {
        if (isDue()) yield;
        if (!listed.has(address)) this.byAddress.delete(address);
      }
    }
    return hasChanged;
  }
}

function collectLocalities(set: EndpointSet, into: Set<LocalityEndpoints>): void {
  for (const locality of set.localities) into.add(locality);
  for (const child of set.children?.values() ?? []) collectLocalities(child, into);
}

function without<T>(all: ReadonlySet<T>, others: ReadonlySet<T>): readonly T[] {
  return [...all].filter((item) => !others.has(item));
}

function countEndpoints(localities: readonly LocalityEndpoints[]): number {
  return localities.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}
