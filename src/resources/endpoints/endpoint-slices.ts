import type { Steps } from '../../util/steps';
import type { SliceComparison, SlicePart } from '../wire/slice-comparison';
import { EndpointReuse } from './endpoint-reuse';
import type { XdsEndpoint } from './endpoints';
import { summarize, type EndpointSlices, type Slot } from './endpoints-record';

/** The endpoints of a locality, and how they differ from those of its previous version. */
interface ChangedSlices {
  readonly slices: EndpointSlices;
  readonly added: readonly XdsEndpoint[];
  readonly removed: readonly XdsEndpoint[];
}

/** With more parts than this, they are not joined by `concat`, whose arguments have to fit on the stack. */
const MAX_ARGUMENTS = 1000;

/** Endpoints that are decoded in one step. */
const ENDPOINTS_PER_STEP = 64;

/**
 * Joins the endpoints of a locality, in steps: those kept from the previous version, and the new ones.
 *
 * @param decode Decodes one element; `undefined` if it is left out.
 */
export function* applyComparison(
  { parts, slices }: SliceComparison,
  previous: EndpointSlices,
  decode: (bytes: Uint8Array) => Slot,
): Steps<ChangedSlices> {
  const dropped = notKept(parts, previous);
  // Some may only have moved within the locality.
  const removed = new Set(dropped.filter(isPresent));
  const reuse = new EndpointReuse([...removed]);
  const decoded: Slot[] = [];
  for (const part of parts) {
    if (part.kind === 'kept') continue;
    const endpoint = decode(slices.bytes.subarray(part.start, part.end));
    if (decoded.push(endpoint && reuse.share(endpoint)) % ENDPOINTS_PER_STEP === 0) yield;
  }
  const isSame = dropped.length + decoded.length === 0;
  const [lost, gained] = [summarize(dropped), summarize(decoded)];
  return {
    slices: {
      ...slices,
      endpoints: isSame ? previous.endpoints : join(parts, previous.endpoints, decoded),
      omitted: previous.omitted - lost.omitted + gained.omitted,
      draining: previous.draining - lost.draining + gained.draining,
      totalWeight: previous.totalWeight - lost.totalWeight + gained.totalWeight,
    },
    // A second endpoint that is the same as one of the previous version is added.
    added: decoded.filter(isPresent).filter((endpoint) => !removed.delete(endpoint)),
    removed: [...removed],
  };
}

/** The endpoints of the previous version whose elements were not kept. */
function notKept(parts: readonly SlicePart[], { endpoints }: EndpointSlices): readonly Slot[] {
  const dropped: Slot[] = [];
  let next = 0;
  for (const part of parts) {
    if (part.kind === 'new') continue;
    while (next < part.from) dropped.push(endpoints[next++]);
    next = part.to;
  }
  while (next < endpoints.length) dropped.push(endpoints[next++]);
  return dropped;
}

function join(
  parts: readonly SlicePart[],
  previous: readonly Slot[],
  decoded: readonly Slot[],
): readonly Slot[] {
  if (keepPositions(parts, previous.length)) return exchange(parts, previous, decoded);
  let next = 0;
  const pieces = parts.map((part) =>
    part.kind === 'kept' ? previous.slice(part.from, part.to) : decoded.slice(next, ++next),
  );
  const none: Slot[] = [];
  // eslint-disable-next-line local/bounded-arguments -- as many as the line says; `flat` takes several times as long
  return pieces.length <= MAX_ARGUMENTS ? none.concat(...pieces) : pieces.flat();
}

/** Whether every endpoint that is kept stays at its position: others are replaced by as many, as in most updates. */
function keepPositions(parts: readonly SlicePart[], count: number): boolean {
  let position = 0;
  for (const part of parts) {
    if (part.kind === 'kept' && part.from !== position) return false;
    position = part.kind === 'kept' ? part.to : position + 1;
  }
  return position === count;
}

/** Copies the endpoints once, not as pieces that are then joined. */
function exchange(
  parts: readonly SlicePart[],
  previous: readonly Slot[],
  decoded: readonly Slot[],
): readonly Slot[] {
  const endpoints = previous.slice();
  let next = 0;
  let position = 0;
  for (const part of parts) {
    if (part.kind === 'kept') position = part.to;
    else endpoints[position++] = decoded[next++];
  }
  return endpoints;
}

/** Whether an endpoint is not left out. */
export function isPresent(endpoint: Slot): endpoint is XdsEndpoint {
  return endpoint !== undefined;
}
