import { ClusterLoadAssignment } from '../generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../generated/envoy/config/endpoint/v3/endpoint_components';
import { asBuffer } from '../util/as-buffer';
import { Violations } from '../util/violations';
import { LB_ENDPOINTS_FIELD, LOCALITIES_FIELD } from './assignment-pieces-parser';
import type { EndpointsDifference } from './address-hashes';
import { EndpointMetadataReader } from './endpoint-metadata-parser';
import { LocalityReuse, type PreviousEndpoints } from './endpoint-reuse';
import { applyComparison, countDraining, sumWeights } from './changed-slices';
import { recallSlices, rememberSlices, type EndpointSlices } from './endpoint-slices';
import type { LocalityEndpoints, XdsEndpoint } from './endpoints';
import { parseLbEndpoint, type EndpointReading } from './lb-endpoint-parser';
import { decodeMessage } from './shared/any';
import { parseHealthStatus } from './shared/health-status-parser';
import { compareSlices, readHeadLength, type SliceComparison } from './shared/slice-comparison';
import { elementStart, sliceMessage } from './shared/sliced-message';
import { splitMessage } from './shared/split-message';
import { MAX_TOTAL_WEIGHT } from './shared/total-weight';
import { UnusableAddresses } from './unusable-addresses';

/** A locality that gets calls. */
export interface ChangedLocality {
  readonly priority: number;
  readonly value: LocalityEndpoints;
}

/** An assignment whose endpoints are taken from the previous one where their bytes are the same. */
export interface ChangedAssignment extends EndpointsDifference {
  /** Without localities. */
  readonly message: ClusterLoadAssignment;
  /** Those that get calls; in order. */
  readonly localities: readonly ChangedLocality[];
}

/**
 * Decodes an assignment that differs little from the previous one: only the endpoints whose bytes changed.
 *
 * @returns `undefined` if there is anything unusual about it, invalid or not: then it is to be decoded as a whole,
 * which knows how to say what is wrong. Whether an address is there twice remains to be checked.
 */
export function decodeChangedAssignment(
  bytes: Uint8Array,
  previous: PreviousEndpoints,
  reading: EndpointReading,
): ChangedAssignment | undefined {
  return new ChangeDecoder(previous, reading).decode(asBuffer(bytes));
}

/** Bytes of an assignment below which it is decoded again as a whole, in less time than a comparison takes: 50 endpoints. */
const MIN_BYTES_REMEMBERED = 2048;

/** Whether nothing about an assignment is kept beside its value, as it is small. A process may have 20,000 of them. */
export function isDecodedFast(bytes: Uint8Array): boolean {
  return bytes.length < MIN_BYTES_REMEMBERED;
}

/**
 * Keeps what the localities of a decoded assignment were decoded from.
 * @param parsed For each locality of the message, what its endpoints came to; `undefined` where it gets no calls.
 */
export function rememberAssignment(
  bytes: Uint8Array,
  parsed: readonly (
    | { readonly value: LocalityEndpoints; readonly endpoints: EndpointSlices['endpoints'] }
    | undefined
  )[],
): void {
  if (isDecodedFast(bytes)) return;
  const split = splitMessage(bytes, LOCALITIES_FIELD);
  if (split === undefined) return;
  const buffer = asBuffer(bytes);
  for (const [i, locality] of parsed.entries()) {
    if (locality === undefined) continue;
    const slices = sliceMessage(
      buffer.subarray(split.offsets[2 * i], split.offsets[2 * i + 1]),
      LB_ENDPOINTS_FIELD,
    );
    if (slices?.offsets.length !== 2 * locality.endpoints.length) continue;
    const { value } = locality;
    const omitted = locality.endpoints.length - value.endpoints.length;
    const endpoints = omitted === 0 ? value.endpoints : locality.endpoints;
    const totalWeight = sumWeights(value.endpoints);
    const draining = countDraining(value.endpoints);
    rememberSlices(value, { ...slices, endpoints, omitted, draining, totalWeight });
  }
}

/** A locality and what it was decoded from. */
interface KnownLocality {
  readonly before: LocalityEndpoints;
  readonly known: EndpointSlices;
}

class ChangeDecoder {
  /** Nothing may be found wrong here: see `decodeChangedAssignment`. */
  private readonly violations = Violations.root();
  private readonly metadataReader = new EndpointMetadataReader();
  private readonly unusable = new UnusableAddresses();
  private readonly added: XdsEndpoint[] = [];
  private readonly removed: XdsEndpoint[] = [];
  /** Previous localities whose endpoints have been taken over: each may serve once. */
  private readonly used = new Set<LocalityEndpoints>();

  constructor(
    private readonly previous: PreviousEndpoints,
    private readonly reading: EndpointReading,
  ) {}

  decode(bytes: Buffer): ChangedAssignment | undefined {
    const split = splitMessage(bytes, LOCALITIES_FIELD);
    if (split === undefined) return undefined;
    const message = decodeMessage(ClusterLoadAssignment, split.rest, this.violations);
    if (message === undefined) return undefined;
    const localities: ChangedLocality[] = [];
    for (let i = 0; i < split.offsets.length; i += 2) {
      const slice = bytes.subarray(split.offsets[i], split.offsets[i + 1]);
      const locality = this.decodeLocality(slice);
      if (locality === undefined) return undefined;
      if (locality !== 'unused') localities.push(locality);
    }
    if (this.violations.count > 0 || this.unusable.count !== undefined) return undefined;
    for (const gone of this.previous.localities()) {
      if (!this.used.has(gone)) for (const endpoint of gone.endpoints) this.removed.push(endpoint);
    }
    return { message, localities, added: this.added, removed: this.removed };
  }

  private decodeLocality(slice: Buffer): ChangedLocality | 'unused' | undefined {
    const found = this.findPrevious(slice);
    if (found === undefined) return this.isUnused(slice) ? 'unused' : undefined;
    const change = compareSlices(slice, LB_ENDPOINTS_FIELD, found.known);
    const message = change && decodeMessage(LocalityLbEndpoints, change.rest, this.violations);
    if (change === undefined || message === undefined) return undefined;
    const { locality, loadBalancingWeight: weight, priority, lbConfig } = message;
    if (lbConfig?.$case === 'ledsClusterLocalityConfig') return undefined;
    if (weight === undefined || weight === 0) return 'unused';
    const { before } = found;
    // The guess may have been wrong: most encoders write the priority after the endpoints.
    if (locality === undefined || this.previous.find(priority, locality) !== before) {
      return undefined;
    }
    this.used.add(before);
    const value = this.takeOver(found, change, weight);
    return value && { priority, value };
  }

  /** The previous version of a locality, or rather a guess: one of the name, if possible one that ends in the same way. */
  private findPrevious(slice: Buffer): KnownLocality | undefined {
    const head = slice.subarray(0, readHeadLength(slice, LB_ENDPOINTS_FIELD) ?? 0);
    const message = decodeMessage(LocalityLbEndpoints, head, this.violations);
    if (message?.locality === undefined) return undefined;
    const candidates: KnownLocality[] = [];
    for (const before of this.previous.named(message.locality)) {
      const known = recallSlices(before);
      if (known !== undefined && !this.used.has(before)) candidates.push({ before, known });
    }
    return candidates.find(({ known }) => endsAs(slice, known)) ?? candidates[0];
  }

  /** Whether a locality that was not there before, or got no calls, gets none. */
  private isUnused(slice: Buffer): boolean {
    const split = splitMessage(slice, LB_ENDPOINTS_FIELD);
    const message = split && decodeMessage(LocalityLbEndpoints, split.rest, this.violations);
    return message !== undefined && (message.loadBalancingWeight ?? 0) === 0;
  }

  /** Makes a locality of what was kept and what is new. */
  private takeOver(
    { before, known }: KnownLocality,
    comparison: SliceComparison,
    weight: number,
  ): LocalityEndpoints | undefined {
    const decode = (bytes: Uint8Array) => this.decodeEndpoint(bytes);
    const { slices, added, removed } = applyComparison(comparison, known, decode);
    if (this.violations.count > 0 || slices.totalWeight > MAX_TOTAL_WEIGHT) return undefined;
    const { locality } = before;
    const endpoints = isComplete(slices)
      ? slices.endpoints
      : slices.endpoints.filter((endpoint) => endpoint !== undefined);
    const next = { locality, weight, endpoints };
    const isOther = added.length + removed.length > 0;
    const value = isOther ? next : new LocalityReuse(before).share(next);
    rememberSlices(
      value,
      slices.omitted === 0 ? { ...slices, endpoints: value.endpoints } : slices,
    );
    for (const endpoint of added) this.added.push(endpoint);
    for (const endpoint of removed) this.removed.push(endpoint);
    return value;
  }

  private decodeEndpoint(bytes: Uint8Array): XdsEndpoint | undefined {
    const message = decodeMessage(LbEndpoint, bytes, this.violations);
    if (message === undefined) return undefined;
    const { metadataReader, unusable, reading } = this;
    const health = parseHealthStatus(message.healthStatus);
    if (health === undefined || (health === 'DRAINING' && !reading.keepDraining)) return undefined;
    const { additionalAddresses } = reading;
    const context = { health, metadataReader, unusable, additionalAddresses };
    return parseLbEndpoint(message, context, this.violations);
  }
}

/** Whether what comes after the endpoints is the same. */
function endsAs(slice: Buffer, known: EndpointSlices): boolean {
  const tail = known.bytes.subarray(elementStart(known, known.offsets.length / 2));
  return tail.length <= slice.length && slice.subarray(slice.length - tail.length).equals(tail);
}

function isComplete(
  slices: EndpointSlices,
): slices is EndpointSlices & { readonly endpoints: readonly XdsEndpoint[] } {
  return slices.omitted === 0;
}
