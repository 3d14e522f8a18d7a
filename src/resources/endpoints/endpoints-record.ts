import { inSteps, type Steps } from '../../util/steps';
import type { SlicedMessage } from '../encoded/sliced-message';
import type { AssignmentPieces } from './assignment-pieces-parser';
import { AddressHashes, type AddressSet } from './endpoint-addresses';
import type { LocalityEndpoints, XdsEndpoint } from './endpoints';

/** The result of one `lb_endpoints` entry; `undefined` for one that is left out, such as an unhealthy one. */
export type Slot = XdsEndpoint | undefined;

/** The bytes of the endpoints of a locality, and the decoded endpoints. */
export interface EndpointSlices extends SlicedMessage {
  /** One for each element. */
  readonly endpoints: readonly Slot[];
  /** How many are left out. If none is, `endpoints` is that of the locality. */
  readonly omitted: number;
  /** How many are DRAINING. */
  readonly draining: number;
  /** The sum of their weights. */
  readonly totalWeight: number;
}

/**
 * The size of an assignment in bytes from which it has a record, about that of 50 endpoints. A smaller one is decoded as
 * a whole in less time than a comparison takes, and a process may have 20,000 of them.
 */
const MIN_BYTES_RECORDED = 2048;

/** Small operations that recording a locality takes. */
const LOCALITY_SIZE = 4;

/** The record of an assignment, with which only the changes of its next version are decoded. */
export class EndpointsRecord {
  constructor(
    /** The bytes of the endpoints, of each locality where they are contiguous. */
    readonly slices: ReadonlyMap<LocalityEndpoints, EndpointSlices>,
    /** The hashes of all addresses. */
    readonly addressHashes: AddressHashes,
  ) {}

  /**
   * Creates the record of an assignment whose localities have been read, in steps.
   *
   * @param parsed One for each locality of the message; `undefined` where it gets no calls.
   * @returns `undefined` for a small assignment.
   */
  static *create(
    { pieces, length }: { readonly pieces: AssignmentPieces; readonly length: number },
    parsed: readonly (ParsedLocality | undefined)[],
    addresses: AddressSet,
  ): Steps<EndpointsRecord | undefined> {
    if (length < MIN_BYTES_RECORDED) return undefined;
    const slices = new Map<LocalityEndpoints, EndpointSlices>();
    const record = (locality: ParsedLocality | undefined, i: number): void => {
      if (locality === undefined) return;
      const { value, slots } = locality;
      const sliced = pieces.slicesOf(i);
      if (sliced?.offsets.length !== 2 * slots.length) return;
      const isComplete = slots.length === value.endpoints.length;
      slices.set(value, toEndpointSlices(sliced, isComplete ? value.endpoints : slots));
    };
    yield* inSteps(parsed, record, () => LOCALITY_SIZE);
    return new EndpointsRecord(slices, new AddressHashes(addresses.hashes));
  }
}

/** Not spread: V8 makes a hidden class for each object with a spread. */
function toEndpointSlices(
  { bytes, offsets, headLength }: SlicedMessage,
  slots: readonly Slot[],
): EndpointSlices {
  const { endpoints, omitted, draining, totalWeight } = summarize(slots);
  return { bytes, offsets, headLength, endpoints, omitted, draining, totalWeight };
}

/** A locality that gets calls. */
export interface ParsedLocality {
  readonly priority: number;
  readonly value: LocalityEndpoints;
  /** One for each element; `undefined` for one that is left out. */
  readonly slots: EndpointSlices['endpoints'];
}

/** Counts the endpoints of a locality and adds up their weights. */
export function summarize(endpoints: readonly Slot[]): Omit<EndpointSlices, keyof SlicedMessage> {
  let omitted = 0;
  let draining = 0;
  let totalWeight = 0;
  for (const endpoint of endpoints) {
    if (endpoint === undefined) omitted++;
    else if (endpoint.health === 'DRAINING') draining++;
    totalWeight += endpoint?.weight ?? 0;
  }
  return { endpoints, omitted, draining, totalWeight };
}
