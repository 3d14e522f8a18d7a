import { MAX_ADDITIONAL_ADDRESSES, MAX_ENDPOINT_TEXT_LENGTH } from '../../util/limits';
import type { Violations } from '../../util/violations';
import type { Metadata } from '../../wire/generated/envoy/config/core/v3/base';
import { HealthStatus as HealthStatusMessage } from '../../wire/generated/envoy/config/core/v3/health_check';
import type {
  Endpoint,
  LbEndpoint,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { enumName } from '../../util/enum-name';
import { ELEMENT_BYTES, type Part, type PartReader } from '../encoded/part-reader';
import type { SlicedMessage, SlicePart } from '../encoded/sliced-message';
import { MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import { HOST_NAME_ADVICE, literalAddress, parseAddress } from '../shared/socket-address-parser';
import { structToJson } from '../shared/extension-parser';
import { parseTypedMetadata, type MetadataTypes } from '../shared/metadata-parser';
import { EndpointReuse, shareMetadata } from './endpoint-reuse';
import {
  type XdsEndpoint,
  noMetadata,
  type HealthStatus,
  type SocketAddress,
  type EndpointMetadata,
} from './endpoints';

/** An endpoint, the health of one that gets no calls because of it, or '' for one that is invalid or has no usable address. */
export type Slot = XdsEndpoint | string;

/** What is kept of the endpoints of a locality, to compare the next version with. */
export interface EndpointSlices extends SlicedMessage {
  /** One for each element. */
  readonly slots: readonly Slot[];
}

/** The endpoints of a locality or a collection. */
export interface ParsedEndpoints {
  /** One for each element. */
  readonly slots: readonly Slot[];
  /** Those that get calls. */
  readonly endpoints: readonly XdsEndpoint[];
  /** Those whose bytes the previous version does not have. */
  readonly decoded: readonly XdsEndpoint[];
  /** How many are DRAINING. */
  readonly draining: number;
}

/** Encoded endpoints. */
export interface EncodedEndpoints {
  readonly bytes: Buffer;
  /** In order. Those kept are elements of the previous version. */
  readonly parts: readonly SlicePart[];
  /** The previous version. */
  readonly known?: EndpointSlices | undefined;
}

/** How endpoints are read. */
export interface EndpointListOptions extends EncodedEndpoints {
  /** @returns `undefined` after adding a violation. */
  decode(element: Buffer, index: number): LbEndpoint | undefined;
  /** Gets the violation of the first malformed endpoint, with which reading ends. */
  readonly malformed: Violations;
  readonly parser: LbEndpointParser;
}

/** Endpoints that are kept in a row and are not copied one by one. */
const LONG_RUN = 1024;

/** Reads endpoints: only those whose bytes are not in the previous version are decoded. */
export class EndpointListReader implements PartReader<ParsedEndpoints> {
  private slots: Slot[] = [];
  private readonly decoded: XdsEndpoint[] = [];
  private nextPart = 0;
  /** Created for the first endpoint that is not kept. */
  private reuse: EndpointReuse | undefined;

  /** @param previous Endpoints of the previous version, of which those that are equal are used again. */
  constructor(
    private readonly options: EndpointListOptions,
    private readonly previous: readonly XdsEndpoint[],
    private readonly violations: Violations,
  ) {}

  read(target: Part): boolean {
    const { parts, known, malformed } = this.options;
    for (; this.nextPart < parts.length; this.nextPart++) {
      const part = parts[this.nextPart];
      if (part?.kind === 'kept') {
        this.keep(known?.slots.slice(part.from, part.to) ?? []);
        continue;
      }
      if (part === undefined || malformed.count > 0) return true;
      if (target.left <= 0) return false;
      target.left -= part.end - part.start + ELEMENT_BYTES;
      this.slots.push(this.readEndpoint(part.start, part.end));
    }
    return true;
  }

  finish(): ParsedEndpoints {
    const { decoded, slots, violations } = this;
    let draining = 0;
    let totalWeight = 0;
    for (const slot of slots) {
      if (!isEndpoint(slot)) continue;
      totalWeight += slot.weight;
      if (slot.health === 'DRAINING') draining++;
    }
    if (totalWeight > MAX_TOTAL_WEIGHT) {
      violations.add(
        `the sum of the endpoint weights must not exceed ${MAX_TOTAL_WEIGHT}, but is ${totalWeight}`,
      );
    }
    const endpoints = slots.every(isEndpoint) ? slots : slots.filter(isEndpoint);
    return { slots, endpoints, decoded, draining };
  }

  /** A long run is copied natively. With many short ones, a copy of the list for each would take long. */
  private keep(run: readonly Slot[]): void {
    if (run.length >= LONG_RUN) this.slots = this.slots.concat(run);
    else for (const slot of run) this.slots.push(slot);
  }

  private readEndpoint(start: number, end: number): Slot {
    const { options, violations } = this;
    const index = this.slots.length;
    violations.budget.renew();
    const message = options.decode(options.bytes.subarray(start, end), index);
    const slot = message && options.parser.parse(message, violations.index(index));
    if (slot === undefined || !isEndpoint(slot)) return slot ?? '';
    this.reuse ??= new EndpointReuse(this.notKept());
    const endpoint = this.reuse.share(slot);
    this.decoded.push(endpoint);
    return endpoint;
  }

  /** The endpoints of the previous version that are not kept: some may only look different. */
  private notKept(): readonly XdsEndpoint[] {
    const { known, parts } = this.options;
    if (known === undefined) return this.previous;
    const others: Slot[] = [];
    let next = 0;
    for (const part of parts) {
      if (part.kind === 'new') continue;
      for (const slot of known.slots.slice(next, part.from)) others.push(slot);
      next = part.to;
    }
    return others.concat(known.slots.slice(next)).filter(isEndpoint);
  }
}

function isEndpoint(slot: Slot): slot is XdsEndpoint {
  return typeof slot === 'object';
}

/** The states in which an endpoint gets calls (gRFCs A27, A55). */
export const healthStates: ReadonlyMap<HealthStatusMessage, HealthStatus> = new Map([
  [HealthStatusMessage.UNKNOWN, 'UNKNOWN'],
  [HealthStatusMessage.HEALTHY, 'HEALTHY'],
  [HealthStatusMessage.DRAINING, 'DRAINING'],
]);

const HASH_KEY_METADATA = 'envoy.lb';
const PROXY_METADATA = 'envoy.http11_proxy_transport_socket.proxy_address';

/** The options for endpoints. */
export interface EndpointReading {
  /** Whether DRAINING endpoints are kept (gRFC A55). */
  readonly keepDraining: boolean;
  /** Whether `additional_addresses` are read (gRFC A61). */
  readonly additionalAddresses: boolean;
  /** The types of metadata values that are validated (gRFC A86). Default: metadata is not validated. */
  readonly metadataTypes?: MetadataTypes | undefined;
}

/** What the metadata of an endpoint say. */
interface OwnMetadata extends Pick<XdsEndpoint, 'hashKey' | 'metadata'> {
  readonly proxy: SocketAddress | undefined;
}

const withoutMetadata: OwnMetadata = { hashKey: undefined, metadata: noMetadata, proxy: undefined };

/** Parses the endpoints of one resource (gRFCs A27, A61, A76, A81, A86). */
export class LbEndpointParser {
  /** How many endpoints have an address of a kind that this client cannot use; `undefined` if none has. */
  unusableEndpoints: number | undefined;
  private lastMetadata = noMetadata;

  constructor(private readonly reading: EndpointReading) {}

  /**
   * Parses an endpoint.
   *
   * @returns the health of an endpoint that gets no calls because of it, which is not validated; an empty text for one with no
   * address that this client can use, and after adding a violation.
   */
  parse(message: LbEndpoint, violations: Violations): Slot {
    const { healthStatus, hostIdentifier, loadBalancingWeight: weight = 1, metadata } = message;
    const health = healthStates.get(healthStatus);
    if (health === undefined || (health === 'DRAINING' && !this.reading.keepDraining)) {
      return enumName(HealthStatusMessage, healthStatus);
    }
    if (weight === 0) violations.at('load_balancing_weight').add('must be at least 1, not 0');
    if (hostIdentifier?.$case !== 'endpoint') {
      violations.at('endpoint').add('field not present');
      return '';
    }
    const endpoint = hostIdentifier.value;
    const addresses = this.parseAddresses(endpoint, violations);
    const own = metadata === undefined ? withoutMetadata : this.parseMetadata(metadata, violations);
    const { hostname } = endpoint;
    if (hostname.length > MAX_ENDPOINT_TEXT_LENGTH) {
      const at = violations.at('endpoint').at('hostname');
      at.add(`${hostname.length} characters, more than ${MAX_ENDPOINT_TEXT_LENGTH}`);
    }
    if (addresses === undefined) return '';
    const { hashKey, proxy } = own;
    const parsed = { addresses, weight, health, hostname, hashKey, metadata: own.metadata };
    return proxy === undefined ? parsed : { ...parsed, proxy };
  }

  /** Parses the HTTP proxy in metadata (gRFC A86); `undefined` if it names none, or a value of another type. */
  parseProxy(metadata: Metadata | undefined, violations: Violations): SocketAddress | undefined {
    const { metadataTypes } = this.reading;
    if (metadataTypes === undefined || metadata === undefined) return undefined;
    if (metadata.typedFilterMetadata.size === 0) return undefined;
    const values = parseTypedMetadata(metadata.typedFilterMetadata, metadataTypes, violations);
    const proxy = values.get(PROXY_METADATA);
    return proxy?.kind === 'address' ? proxy.address : undefined;
  }

  private parseAddresses(
    { address, additionalAddresses: listed }: Endpoint,
    violations: Violations,
  ): readonly SocketAddress[] | undefined {
    const additionalAddresses = this.reading.additionalAddresses ? listed : [];
    const literal = literalAddress(address);
    if (literal !== undefined && additionalAddresses.length === 0) return [literal];
    const at = violations.at('endpoint');
    const first = parseAddress(address, at.at('address'), HOST_NAME_ADVICE);
    const othersAt = at.at('additional_addresses');
    if (additionalAddresses.length > MAX_ADDITIONAL_ADDRESSES) {
      return othersAt.add(`${listed.length} addresses, more than ${MAX_ADDITIONAL_ADDRESSES}`);
    }
    const others = additionalAddresses.map(({ address: additional }, i) =>
      parseAddress(additional, othersAt.index(i).at('address'), HOST_NAME_ADVICE),
    );
    const parsed = [first, ...others].filter((one) => one !== undefined);
    if (parsed.length < 1 + others.length) return undefined;
    const addresses = parsed.filter((one) => one !== 'unusable');
    if (addresses.length < parsed.length) {
      this.unusableEndpoints = (this.unusableEndpoints ?? 0) + 1;
    }
    return addresses.length === 0 ? undefined : addresses;
  }

  private parseMetadata(metadata: Metadata, violations: Violations): OwnMetadata {
    return {
      hashKey: readHashKey(metadata, violations),
      metadata: this.readMetadata(metadata),
      proxy: this.parseProxy(metadata, violations.at('metadata')),
    };
  }

  /** Returns one object for the equal metadata of endpoints next to each other, often of the same workload. */
  private readMetadata({ filterMetadata, typedFilterMetadata }: Metadata): EndpointMetadata {
    if (filterMetadata.size + typedFilterMetadata.size === 0) return noMetadata;
    const metadata: EndpointMetadata = {
      filterMetadata: new Map(
        [...filterMetadata].map(([name, struct]) => [name, structToJson(struct)]),
      ),
      typedFilterMetadata: new Map(
        // Copied, so as not to keep the whole response.
        [...typedFilterMetadata].map(([name, { typeUrl, value }]) => [
          name,
          { typeUrl, value: Uint8Array.from(value) },
        ]),
      ),
    };
    this.lastMetadata = shareMetadata(this.lastMetadata, metadata);
    return this.lastMetadata;
  }
}

function readHashKey({ filterMetadata }: Metadata, violations: Violations): string | undefined {
  const kind = filterMetadata.get(HASH_KEY_METADATA)?.fields.get('hash_key')?.kind;
  if (kind?.$case === 'stringValue' && kind.value.length > MAX_ENDPOINT_TEXT_LENGTH) {
    const at = violations.at('metadata').at('filter_metadata').key(HASH_KEY_METADATA);
    const { length } = kind.value;
    return at.at('hash_key').add(`${length} characters, more than ${MAX_ENDPOINT_TEXT_LENGTH}`);
  }
  // An empty key would place all such endpoints at the same position of the ring.
  return kind?.$case === 'stringValue' && kind.value !== '' ? kind.value : undefined;
}
