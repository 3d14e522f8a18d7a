import type { LocalityEndpoints, XdsEndpoint } from './endpoints';

/** The bytes that the endpoints of a locality were decoded from. */
export interface EndpointSlices {
  readonly bytes: Uint8Array;
  /** Where each `lb_endpoints` element begins and ends: pairs, in order. */
  readonly offsets: Uint32Array;
  /** What each element came to; `undefined` for one that is left out, such as an unhealthy one. */
  readonly endpoints: readonly (XdsEndpoint | undefined)[];
}

const slicesByLocality = new WeakMap<LocalityEndpoints, EndpointSlices>();

/** Keeps what a locality was decoded from, for as long as the locality is in use. */
export function rememberSlices(locality: LocalityEndpoints, slices: EndpointSlices): void {
  slicesByLocality.set(locality, slices);
}

/** What a locality was decoded from, if that was kept. */
export function recallSlices(locality: LocalityEndpoints): EndpointSlices | undefined {
  return slicesByLocality.get(locality);
}

/**
 * Finds the element of a previous version that has the same bytes, going through both in order. One that was
 * replaced, added or removed does not put it off. Each element is found at most once.
 */
export class SliceMatcher {
  private position = 0;

  constructor(private readonly previous: EndpointSlices) {}

  /** The position of the equal element in the previous version; `undefined` if there is none near. */
  find(bytes: Uint8Array, start: number, end: number): number | undefined {
    for (const candidate of [this.position, this.position + 1]) {
      if (!this.isSame(candidate, bytes, start, end)) continue;
      this.position = candidate + 1;
      return candidate;
    }
    return undefined;
  }

  private isSame(candidate: number, bytes: Uint8Array, start: number, end: number): boolean {
    const { offsets, bytes: before } = this.previous;
    const from = offsets[2 * candidate];
    const to = offsets[2 * candidate + 1];
    if (from === undefined || to === undefined || to - from !== end - start) return false;
    // From the end: addresses differ in their last digits more often than in their first.
    for (let i = end - start - 1; i >= 0; i--)
      if (before[from + i] !== bytes[start + i]) return false;
    return true;
  }
}
