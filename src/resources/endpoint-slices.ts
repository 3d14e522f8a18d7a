import type { LocalityEndpoints, XdsEndpoint } from './endpoints';
import type { SlicedMessage } from './shared/sliced-message';

/** What the endpoints of a locality were decoded from. */
export interface EndpointSlices extends SlicedMessage {
  /** What each element came to; `undefined` for one that is left out, such as an unhealthy one. */
  readonly endpoints: readonly (XdsEndpoint | undefined)[];
  /** How many are left out. If none is, `endpoints` is that of the locality. */
  readonly omitted: number;
  /** How many are DRAINING. */
  readonly draining: number;
  /** The sum of their weights. */
  readonly totalWeight: number;
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

/** Whether a locality is known to have no endpoint that is DRAINING, without looking at all of them. */
export function isKnownNotDraining(locality: LocalityEndpoints): boolean {
  return recallSlices(locality)?.draining === 0;
}
