import type { EndpointsDifference } from './address-hashes';
import { firstAddress, sameEndpoint } from './endpoint-reuse';
import type { EndpointSlices } from './endpoint-slices';
import type { XdsEndpoint } from './endpoints';
import type { SliceComparison, SlicePart } from './shared/slice-comparison';

type Slot = XdsEndpoint | undefined;

/** The endpoints of a locality, and how they differ from those of its previous version. */
export interface ChangedSlices extends EndpointsDifference {
  readonly slices: EndpointSlices;
}

/** With more parts than this, they are not put together by `concat`, whose arguments have to fit on the stack. */
const MAX_ARGUMENTS = 1000;

/**
 * Puts the endpoints of a locality together: those kept from the previous version, and the new ones.
 *
 * @param decode What one element comes to; `undefined` if it is to be left out.
 */
export function applyComparison(
  { parts, slices }: SliceComparison,
  known: EndpointSlices,
  decode: (bytes: Uint8Array) => Slot,
): ChangedSlices {
  const gone = leftBehind(parts, known);
  const removed = new RemovedEndpoints(gone);
  const come = parts.flatMap((part) =>
    part.kind === 'new' ? [removed.reuse(decode(slices.bytes.subarray(part.start, part.end)))] : [],
  );
  const endpoints =
    gone.length + come.length === 0 ? known.endpoints : join(parts, known.endpoints, come);
  return {
    slices: {
      ...slices,
      endpoints,
      omitted: known.omitted - countOmitted(gone) + countOmitted(come),
      draining: known.draining - countDraining(gone) + countDraining(come),
      totalWeight: known.totalWeight - sumWeights(gone) + sumWeights(come),
    },
    added: come.filter(isPresent).filter((endpoint) => !removed.wasReused(endpoint)),
    removed: removed.rest(),
  };
}

/** The endpoints that are gone, some of which may only have moved. */
class RemovedEndpoints {
  private readonly byAddress = new Map<string, XdsEndpoint>();
  private readonly reused = new Set<XdsEndpoint>();

  constructor(private readonly gone: readonly Slot[]) {
    for (const endpoint of gone) {
      if (endpoint !== undefined) this.byAddress.set(firstAddress(endpoint), endpoint);
    }
  }

  /** The endpoint that was there before and says the same, if there is one, instead of the given one. */
  reuse(endpoint: Slot): Slot {
    if (endpoint === undefined) return undefined;
    const candidate = this.byAddress.get(firstAddress(endpoint));
    if (candidate === undefined) return endpoint;
    if (!sameEndpoint(candidate, endpoint)) return endpoint;
    // Once only: two with the same address are to be noticed.
    this.byAddress.delete(firstAddress(candidate));
    this.reused.add(candidate);
    return candidate;
  }

  wasReused(endpoint: XdsEndpoint): boolean {
    return this.reused.has(endpoint);
  }

  rest(): readonly XdsEndpoint[] {
    return this.gone.filter(isPresent).filter((endpoint) => !this.reused.has(endpoint));
  }
}

/** What the elements of the previous version came to that were not kept. */
function leftBehind(parts: readonly SlicePart[], { endpoints }: EndpointSlices): readonly Slot[] {
  const gone: Slot[] = [];
  let next = 0;
  for (const part of parts) {
    if (part.kind === 'new') continue;
    while (next < part.from) gone.push(endpoints[next++]);
    next = part.to;
  }
  while (next < endpoints.length) gone.push(endpoints[next++]);
  return gone;
}

function join(
  parts: readonly SlicePart[],
  before: readonly Slot[],
  come: readonly Slot[],
): readonly Slot[] {
  let next = 0;
  const pieces = parts.map((part) =>
    part.kind === 'kept' ? before.slice(part.from, part.to) : come.slice(next, ++next),
  );
  const none: Slot[] = [];
  return pieces.length <= MAX_ARGUMENTS ? none.concat(...pieces) : pieces.flat();
}

function countOmitted(endpoints: readonly Slot[]): number {
  let count = 0;
  for (const endpoint of endpoints) if (endpoint === undefined) count++;
  return count;
}

/** How many endpoints are DRAINING. */
export function countDraining(endpoints: readonly Slot[]): number {
  let count = 0;
  for (const endpoint of endpoints) if (endpoint?.health === 'DRAINING') count++;
  return count;
}

/** The weights of endpoints, added up. */
export function sumWeights(endpoints: readonly Slot[]): number {
  let sum = 0;
  for (const endpoint of endpoints) sum += endpoint?.weight ?? 0;
  return sum;
}

function isPresent(endpoint: Slot): endpoint is XdsEndpoint {
  return endpoint !== undefined;
}
