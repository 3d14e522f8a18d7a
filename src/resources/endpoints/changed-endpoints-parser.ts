import { asBuffer } from '../../util/bytes';
import { ReadBudget } from '../../util/read-budget';
import { inSteps, type Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import { ClusterLoadAssignment } from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import { ENDPOINTS_LIMIT } from '../resource-parser';
import { decodeMessage, decodePieces, elementsOf } from '../shared/any';
import {
  compareSlices,
  readHeadLength,
  elementStart,
  type SliceComparison,
  type SlicePart,
} from '../encoded/sliced-message';
import { LB_ENDPOINTS, LOCALITIES } from './assignment-pieces-parser';
import { shareLocality, EndpointReuse, type PreviousEndpoints } from './endpoint-reuse';
import {
  localityKey,
  type EndpointsChange,
  type Locality,
  type LocalityEndpoints,
  type XdsEndpoint,
} from './endpoints';
import { EndpointsDifference } from './endpoints-change';
import {
  EndpointsRecord,
  summarize,
  type EndpointSlices,
  type ParsedLocality,
  type Slot,
} from './endpoints-record';
import { ENDPOINT_SIZE, LbEndpointParser, type EndpointReading } from './locality-endpoints-parser';

type DecodedLocality = Pick<ParsedLocality, 'priority' | 'value'>;

/** An assignment whose endpoints are taken from the previous version where their bytes are the same. */
interface ChangedAssignment {
  /** Without localities. */
  readonly message: ClusterLoadAssignment;
  /** Those that get calls; in order. */
  readonly localities: readonly DecodedLocality[];
  /** How many localities with endpoints were left out because they have no weight; `undefined` if none. */
  readonly localitiesWithoutWeight: number | undefined;
  readonly record: EndpointsRecord;
  readonly change: EndpointsChange;
}

/** The previous version of an assignment. */
interface KnownAssignment {
  readonly previous: PreviousEndpoints;
  readonly record: EndpointsRecord;
}

/** How endpoints are read, with what the response leaves of its budget. */
export interface ChangeReading extends EndpointReading {
  readonly budget: ReadBudget | undefined;
}

/**
 * Decodes an assignment that differs little from the previous version, in steps: only the endpoints whose bytes changed.
 *
 * @returns `undefined` for one that differs too much, and for an invalid one, which is then decoded as a whole to report
 * its violations.
 */
export function decodeChangedAssignment(
  bytes: Uint8Array,
  known: KnownAssignment,
  reading: ChangeReading,
): Steps<ChangedAssignment | undefined> {
  return new ChangeDecoder(known, reading).decode(asBuffer(bytes));
}

/** A locality of the previous version. */
interface KnownLocality {
  readonly before: LocalityEndpoints;
  readonly known: EndpointSlices;
}

/**
 * Versions of a locality that are compared with the next one, of those that are left: a locality may be in every priority.
 * Most updates keep the order, in which the first is the right one.
 */
const MAX_CANDIDATES = 8;

/** Small operations that comparing a locality takes, besides its changes. */
const LOCALITY_SIZE = 16;

class ChangeDecoder {
  /** Any violation makes the result `undefined`: see `decodeChangedAssignment`. */
  private readonly violations: Violations;
  private readonly parser: LbEndpointParser;
  private readonly difference = new EndpointsDifference();
  private withoutWeight = 0;
  /** Whether a locality is not like one of the previous version. */
  private differsTooMuch = false;
  private readonly slices = new Map<LocalityEndpoints, EndpointSlices>();
  /** Previous localities whose endpoints have been taken over: each may serve once. */
  private readonly used = new Set<LocalityEndpoints>();
  /** The others, of the localities that occurred, by `localityKey`. */
  private readonly unused = new Map<string, Set<LocalityEndpoints>>();
  private readonly previous: PreviousEndpoints;
  private readonly record: EndpointsRecord;

  constructor({ previous, record }: KnownAssignment, reading: ChangeReading) {
    this.previous = previous;
    this.record = record;
    this.violations = Violations.root(new ReadBudget(ENDPOINTS_LIMIT, reading.budget));
    this.parser = new LbEndpointParser(reading);
  }

  *decode(bytes: Buffer): Steps<ChangedAssignment | undefined> {
    const pieces = yield* decodePieces(ClusterLoadAssignment, bytes, LOCALITIES, this.violations);
    if (pieces === undefined) return undefined;
    const { message, bounds } = pieces;
    const localities: DecodedLocality[] = [];
    const decode = (slice: Uint8Array) => this.addLocality(asBuffer(slice), localities);
    yield* inSteps(elementsOf(bytes, bounds), decode, () => LOCALITY_SIZE);
    if (
      this.differsTooMuch ||
      this.violations.count > 0 ||
      this.parser.unusableEndpoints !== undefined
    )
      return undefined;
    for (const removed of this.previous.localities()) {
      if (this.used.has(removed)) continue;
      this.difference.include(removed.locality, [], removed.endpoints);
    }
    const addressHashes = yield* this.record.addressHashes.next(this.difference.all());
    if (addressHashes === undefined) return undefined;
    const record = new EndpointsRecord(this.slices, addressHashes);
    const change = yield* this.difference.toChange();
    const localitiesWithoutWeight = this.withoutWeight || undefined;
    return { message, localities, localitiesWithoutWeight, record, change };
  }

  private *addLocality(slice: Buffer, localities: DecodedLocality[]): Steps<void> {
    if (this.differsTooMuch) return;
    const locality = yield* this.decodeLocality(slice);
    if (locality === undefined) this.differsTooMuch = true;
    else if (locality !== 'unused') localities.push(locality);
  }

  /** @returns `undefined` if it differs too much. */
  private *decodeLocality(slice: Buffer): Steps<DecodedLocality | 'unused' | undefined> {
    const found = this.findPrevious(slice);
    if (found === undefined) return (yield* this.isUnused(slice)) ? 'unused' : undefined;
    const change = yield* compareSlices(slice, LB_ENDPOINTS.number, found.known);
    const message = change && decodeMessage(LocalityLbEndpoints, change.rest, this.violations);
    if (change === undefined || message === undefined) return undefined;
    const { locality, loadBalancingWeight: weight, priority, lbConfig } = message;
    if (lbConfig?.$case === 'ledsClusterLocalityConfig') return undefined;
    if (weight === undefined) return (yield* this.isUnused(slice)) ? 'unused' : undefined;
    if (weight === 0) return 'unused';
    const { before } = found;
    // The guess may have been wrong: most encoders write the priority after the endpoints.
    if (locality === undefined || this.previous.find(priority, locality) !== before) {
      return undefined;
    }
    this.used.add(before);
    this.unusedOf(locality).delete(before);
    const proxy = this.parser.parseProxy(message.metadata, this.violations);
    const value = yield* this.takeOver(found, change, { weight, ...(proxy && { proxy }) });
    return value && { priority, value };
  }

  /** Guesses the previous version of a locality: one of its name, if possible one that ends in the same way. */
  private findPrevious(slice: Buffer): KnownLocality | undefined {
    const head = slice.subarray(0, readHeadLength(slice, LB_ENDPOINTS.number) ?? 0);
    const message = decodeMessage(LocalityLbEndpoints, head, this.violations);
    if (message?.locality === undefined) return undefined;
    const candidates: KnownLocality[] = [];
    for (const before of this.unusedOf(message.locality)) {
      if (candidates.length === MAX_CANDIDATES) break;
      const known = this.record.slices.get(before);
      if (known !== undefined) candidates.push({ before, known });
    }
    return candidates.find(({ known }) => endsAs(slice, known)) ?? candidates[0];
  }

  private unusedOf(locality: Locality): Set<LocalityEndpoints> {
    const key = localityKey(locality);
    const known = this.unused.get(key);
    if (known !== undefined) return known;
    const unused = new Set(this.previous.versionsOf(locality));
    this.unused.set(key, unused);
    return unused;
  }

  /** Whether a locality gets no calls. Counts it if it has endpoints and no weight. */
  private *isUnused(slice: Buffer): Steps<boolean> {
    const pieces = yield* decodePieces(LocalityLbEndpoints, slice, LB_ENDPOINTS, this.violations);
    if (pieces === undefined) return false;
    const { bounds, message } = pieces;
    const { loadBalancingWeight: weight } = message;
    if (weight === undefined && bounds.length > 0) this.withoutWeight++;
    return weight === undefined || weight === 0;
  }

  /** Creates the next version of a locality. */
  private *takeOver(
    { before, known }: KnownLocality,
    comparison: SliceComparison,
    own: Pick<LocalityEndpoints, 'weight' | 'proxy'>,
  ): Steps<LocalityEndpoints | undefined> {
    const decode = (bytes: Uint8Array) => this.decodeEndpoint(bytes);
    const { slices, added, removed } = yield* applyComparison(comparison, known, decode);
    if (this.violations.count > 0 || slices.totalWeight > MAX_TOTAL_WEIGHT) return undefined;
    const { locality } = before;
    const endpoints = isComplete(slices) ? slices.endpoints : slices.endpoints.filter(isPresent);
    const next = { locality, ...own, endpoints, draining: slices.draining };
    const isSame = added.length + removed.length === 0;
    const value = isSame ? shareLocality(before, next) : next;
    this.slices.set(value, isComplete(slices) ? { ...slices, endpoints: value.endpoints } : slices);
    if (isSame) return value;
    this.difference.include(locality, added, removed);
    return value;
  }

  private decodeEndpoint(bytes: Uint8Array): XdsEndpoint | undefined {
    const message = decodeMessage(LbEndpoint, bytes, this.violations);
    return message && this.parser.parse(message, this.violations);
  }
}

/** Whether the bytes after the endpoints are the same. */
function endsAs(slice: Buffer, known: EndpointSlices): boolean {
  const tail = known.bytes.subarray(elementStart(known, known.offsets.length / 2));
  return tail.length <= slice.length && slice.subarray(slice.length - tail.length).equals(tail);
}

function isComplete(
  slices: EndpointSlices,
): slices is EndpointSlices & { readonly endpoints: readonly XdsEndpoint[] } {
  return slices.omitted === 0;
}

/** The endpoints of a locality, and how they differ from those of its previous version. */
interface ChangedSlices {
  readonly slices: EndpointSlices;
  readonly added: readonly XdsEndpoint[];
  readonly removed: readonly XdsEndpoint[];
}

/** With more parts than this, they are not joined by `concat`, whose arguments have to fit on the stack. */
const MAX_ARGUMENTS = 1000;

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
  const decodeNew = (part: SlicePart): void => {
    if (part.kind === 'kept') return;
    const endpoint = decode(slices.bytes.subarray(part.start, part.end));
    decoded.push(endpoint && reuse.share(endpoint));
  };
  yield* inSteps(parts, decodeNew, () => ENDPOINT_SIZE);
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
