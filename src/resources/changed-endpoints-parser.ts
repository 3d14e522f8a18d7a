import { ClusterLoadAssignment } from '../generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../generated/envoy/config/endpoint/v3/endpoint_components';
import { Violations } from '../util/violations';
import { EndpointMetadataReader } from './endpoint-metadata-parser';
import { LocalityReuse, sameEndpoint, type PreviousEndpoints } from './endpoint-reuse';
import { recallSlices, rememberSlices, SliceMatcher, type EndpointSlices } from './endpoint-slices';
import type { LocalityEndpoints, XdsEndpoint } from './endpoints';
import { parseLbEndpoint } from './lb-endpoint-parser';
import { decodeMessage } from './shared/any';
import { parseHealthStatus } from './shared/health-status-parser';
import { splitMessage } from './shared/split-message';
import { MAX_TOTAL_WEIGHT } from './shared/total-weight';

const LOCALITIES_FIELD = 2;
const LB_ENDPOINTS_FIELD = 2;
/** With more changes than this, decoding everything anew is as cheap, and finds duplicates faster. */
const MAX_CHANGES = 64;

/** An assignment whose endpoints are taken from the previous one where their bytes are the same. */
export interface ChangedAssignment {
  /** Without localities. */
  readonly message: ClusterLoadAssignment;
  /** Those that get calls, with their priorities; in order. */
  readonly localities: readonly { readonly priority: number; readonly value: LocalityEndpoints }[];
}

/**
 * Decodes an assignment that differs little from the previous one: only the endpoints whose bytes changed.
 *
 * @returns `undefined` if there is anything unusual about it, invalid or not: then it is to be decoded as a whole,
 * which knows how to say what is wrong.
 */
export function decodeChangedAssignment(
  bytes: Uint8Array,
  previous: PreviousEndpoints,
  keepDraining: boolean,
): ChangedAssignment | undefined {
  return new ChangeDecoder(previous, keepDraining).decode(bytes);
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
  const split = splitMessage(bytes, LOCALITIES_FIELD);
  if (split === undefined) return;
  for (const [i, locality] of parsed.entries()) {
    if (locality === undefined) continue;
    const slice = bytes.subarray(split.offsets[2 * i], split.offsets[2 * i + 1]);
    const offsets = splitMessage(slice, LB_ENDPOINTS_FIELD)?.offsets;
    if (offsets?.length !== 2 * locality.endpoints.length) continue;
    rememberSlices(locality.value, { bytes: slice, offsets, endpoints: locality.endpoints });
  }
}

class ChangeDecoder {
  /** Nothing may be found wrong here: see `decodeChangedAssignment`. */
  private readonly violations = Violations.root();
  private readonly metadataReader = new EndpointMetadataReader();
  private readonly changed: XdsEndpoint[] = [];
  /** Previous localities whose endpoints have been taken over: each may serve once. */
  private readonly used = new Set<LocalityEndpoints>();

  constructor(
    private readonly previous: PreviousEndpoints,
    private readonly keepDraining: boolean,
  ) {}

  decode(bytes: Uint8Array): ChangedAssignment | undefined {
    const split = splitMessage(bytes, LOCALITIES_FIELD);
    if (split === undefined) return undefined;
    const message = decodeMessage(ClusterLoadAssignment, split.rest, this.violations);
    if (message === undefined) return undefined;
    const localities: { priority: number; value: LocalityEndpoints }[] = [];
    for (let i = 0; i < split.offsets.length; i += 2) {
      const slice = bytes.subarray(split.offsets[i], split.offsets[i + 1]);
      const locality = this.decodeLocality(slice);
      if (locality === undefined) return undefined;
      if (locality !== 'unused') localities.push(locality);
    }
    const isGood = this.violations.count === 0 && !this.hasDuplicates(localities);
    return isGood ? { message, localities } : undefined;
  }

  private decodeLocality(
    slice: Uint8Array,
  ): { priority: number; value: LocalityEndpoints } | 'unused' | undefined {
    const split = splitMessage(slice, LB_ENDPOINTS_FIELD);
    if (split === undefined) return undefined;
    const message = decodeMessage(LocalityLbEndpoints, split.rest, this.violations);
    if (message === undefined) return undefined;
    const { locality, loadBalancingWeight: weight, priority } = message;
    if (weight === undefined || weight === 0) return 'unused';
    const before = locality && this.previous.find(priority, locality);
    const known = before && recallSlices(before);
    if (before === undefined || known === undefined || this.used.has(before)) return undefined;
    this.used.add(before);
    const parsed = this.decodeEndpoints(slice, split.offsets, { known, before });
    if (parsed === undefined) return undefined;
    const endpoints = parsed.filter((endpoint) => endpoint !== undefined);
    const value = new LocalityReuse(before).share({ locality: before.locality, weight, endpoints });
    rememberSlices(value, { bytes: slice, offsets: split.offsets, endpoints: parsed });
    return { priority, value };
  }

  private decodeEndpoints(
    bytes: Uint8Array,
    offsets: Uint32Array,
    { known, before }: { readonly known: EndpointSlices; readonly before: LocalityEndpoints },
  ): readonly (XdsEndpoint | undefined)[] | undefined {
    const matcher = new SliceMatcher(known);
    const endpoints: (XdsEndpoint | undefined)[] = [];
    let totalWeight = 0;
    for (let i = 0; i < offsets.length; i += 2) {
      const [start = 0, end = 0] = [offsets[i], offsets[i + 1]];
      const same = matcher.find(bytes, start, end);
      const endpoint =
        same === undefined
          ? this.decodeEndpoint(bytes.subarray(start, end), before)
          : known.endpoints[same];
      if (this.changed.length > MAX_CHANGES || this.violations.count > 0) return undefined;
      totalWeight += endpoint?.weight ?? 0;
      endpoints.push(endpoint);
    }
    return totalWeight > MAX_TOTAL_WEIGHT ? undefined : endpoints;
  }

  private decodeEndpoint(bytes: Uint8Array, before: LocalityEndpoints): XdsEndpoint | undefined {
    const message = decodeMessage(LbEndpoint, bytes, this.violations);
    if (message === undefined) return undefined;
    const health = parseHealthStatus(message.healthStatus);
    if (health === undefined || (health === 'DRAINING' && !this.keepDraining)) return undefined;
    const { metadataReader } = this;
    const endpoint = parseLbEndpoint(message, { health, metadataReader }, this.violations);
    if (endpoint === undefined) return undefined;
    // It may only have moved.
    const same =
      before.endpoints.find((candidate) => sameEndpoint(candidate, endpoint)) ?? endpoint;
    this.changed.push(same);
    return same;
  }

  /** The endpoints taken over have no duplicates among themselves, so only the changed ones need looking at. */
  private hasDuplicates(localities: readonly { value: LocalityEndpoints }[]): boolean {
    return this.changed.some((changed) =>
      changed.addresses.some(({ host, port }) => {
        let found = 0;
        for (const { value } of localities) {
          for (const { addresses } of value.endpoints) {
            for (const address of addresses) {
              if (address.port === port && address.host === host) found++;
            }
          }
        }
        return found > 1;
      }),
    );
  }
}
