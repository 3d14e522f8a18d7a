import { inSteps, type Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import type { Metadata } from '../../wire/generated/envoy/config/core/v3/base';
import { HealthStatus as HealthStatusMessage } from '../../wire/generated/envoy/config/core/v3/health_check';
import type {
  LbEndpoint,
  LedsClusterLocalityConfig,
  Endpoint,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import { HOST_NAME_ADVICE, parseAddress } from '../shared/address-parser';
import { structToJson } from '../shared/extension-parser';
import { parseTypedMetadata, type MetadataTypes } from '../shared/metadata-parser';
import {
  MAX_PRIORITIES,
  MAX_ADDITIONAL_ADDRESSES,
  MAX_HASH_KEY_LENGTH,
  MAX_HOSTNAME_LENGTH,
} from './assignment-limits';
import type { LocalityPiece } from './assignment-pieces-parser';
import type { AddressSet } from './endpoint-addresses';
import {
  EndpointReuse,
  shareLocality,
  type PreviousEndpoints,
  shareMetadata,
} from './endpoint-reuse';
import {
  type XdsEndpoint,
  noMetadata,
  type HealthStatus,
  type SocketAddress,
  type EndpointMetadata,
} from './endpoints';
import { summarize, type ParsedLocality } from './endpoints-record';

/** Small operations that parsing an endpoint takes. */
export const ENDPOINT_SIZE = 4;

/** Endpoints of a locality whose list is copied, counted or compared in a step of its own. */
const MANY_ENDPOINTS = 10_000;

/** The context of the localities of an assignment. */
export interface LocalityContext {
  readonly previous: PreviousEndpoints;
  readonly addresses: AddressSet;
  readonly parser: LbEndpointParser;
  /** Whether localities may have their endpoints in collections (gRFC A95). */
  readonly endpointCollections: boolean;
}

/**
 * Parses a locality. The endpoints of one that gets no calls, because it has no weight (gRFC A27), are not parsed.
 * @returns `undefined` if the locality gets no calls, and after adding a violation.
 */
export function* parseLocalityEndpoints(
  { message, endpoints: lbEndpoints }: LocalityPiece,
  context: LocalityContext,
  violations: Violations,
): Steps<ParsedLocality | undefined> {
  const { locality, loadBalancingWeight: weight, priority, lbConfig } = message;
  if (weight === undefined || weight === 0) return undefined;
  if (locality === undefined) return violations.at('locality').add('field not present');
  if (priority >= MAX_PRIORITIES) {
    return violations.at('priority').add(`${priority} is not below the limit of ${MAX_PRIORITIES}`);
  }
  const previous = context.previous.find(priority, locality);
  const proxy = context.parser.parseProxy(message.metadata, violations.at('metadata'));
  const own = { locality, weight, ...(proxy && { proxy }) };
  if (context.endpointCollections && lbConfig?.$case === 'ledsClusterLocalityConfig') {
    const at = violations.at('leds_cluster_locality_config');
    const collection = parseCollectionName(lbConfig.value, at);
    const value = shareLocality(previous, { ...own, endpoints: [], collection });
    return { priority, value, slots: [] };
  }
  const reuse = new EndpointReuse(previous?.endpoints ?? []);
  const slots = yield* parseEndpoints(lbEndpoints, context, reuse, violations.at('lb_endpoints'));
  if (slots.length >= MANY_ENDPOINTS) yield;
  const endpoints = slots.filter((endpoint) => endpoint !== undefined);
  const { draining } = summarize(endpoints);
  if (slots.length >= MANY_ENDPOINTS) yield;
  const value = shareLocality(previous, { ...own, endpoints, draining });
  if (slots.length >= MANY_ENDPOINTS) yield;
  return { priority, value, slots };
}

/** Parses endpoints. Returns one for each message; `undefined` for one that gets no calls. */
export function* parseEndpoints(
  messages: Iterable<LbEndpoint>,
  context: Pick<LocalityContext, 'addresses' | 'parser'>,
  reuse: EndpointReuse,
  violations: Violations,
): Steps<readonly (XdsEndpoint | undefined)[]> {
  const list = new EndpointList(context, reuse, violations);
  yield* inSteps(
    messages,
    (message, i) => list.add(message, i),
    () => ENDPOINT_SIZE,
  );
  if (list.totalWeight > MAX_TOTAL_WEIGHT) {
    violations.add(
      `the sum of the endpoint weights must not exceed ${MAX_TOTAL_WEIGHT}, but is ${list.totalWeight}`,
    );
  }
  return list.endpoints;
}

/** The endpoints of a locality or a collection that have been parsed. */
class EndpointList {
  readonly endpoints: (XdsEndpoint | undefined)[] = [];
  totalWeight = 0;

  constructor(
    private readonly context: Pick<LocalityContext, 'addresses' | 'parser'>,
    private readonly reuse: EndpointReuse,
    private readonly violations: Violations,
  ) {}

  /** Parses and adds an endpoint. Nearly every one is added without steps of its own. */
  add(message: LbEndpoint, i: number): Steps<void> | void {
    const { context, reuse, violations } = this;
    const at = violations.index(i);
    at.budget.renew();
    const endpoint = context.parser.parse(message, at);
    if (endpoint === undefined) {
      this.endpoints.push(undefined);
      return;
    }
    const [first, second] = endpoint.addresses;
    const isPrepared = first === undefined || !context.addresses.mustPrepare(first);
    if (second !== undefined || !isPrepared || reuse.mustPrepare(endpoint)) {
      return this.addInSteps(endpoint, at);
    }
    this.place(endpoint);
    if (first !== undefined) this.addAddress(first, at);
  }

  private *addInSteps(endpoint: XdsEndpoint, violations: Violations): Steps<void> {
    const { context, reuse } = this;
    if (reuse.mustPrepare(endpoint)) yield* reuse.prepare();
    this.place(endpoint);
    for (const address of endpoint.addresses) {
      if (context.addresses.mustPrepare(address)) yield* context.addresses.prepare();
      this.addAddress(address, violations);
    }
  }

  private place(endpoint: XdsEndpoint): void {
    this.endpoints.push(this.reuse.share(endpoint));
    this.totalWeight += endpoint.weight;
  }

  private addAddress(address: SocketAddress, violations: Violations): void {
    if (this.context.addresses.add(address)) return;
    violations.add(`duplicate address ${address.host} with port ${address.port}`);
  }
}

function parseCollectionName(
  { ledsConfig, ledsCollectionName: name }: LedsClusterLocalityConfig,
  violations: Violations,
): string {
  if (ledsConfig?.configSourceSpecifier?.$case !== 'self') {
    violations.at('leds_config').add('must be self');
  }
  const at = violations.at('leds_collection_name');
  if (name === '') at.add('must not be empty');
  if (name.endsWith('/*')) at.add('must not be a glob collection, whose name ends in /*');
  return name;
}

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

/** Parses the endpoints of one resource (gRFCs A27, A61, A76, A81, A86). */
export class LbEndpointParser {
  private unusable = 0;
  private lastMetadata = noMetadata;
  /** How many endpoints were left out, by their health. */
  readonly omittedByHealth = new Map<string, number>();

  constructor(private readonly reading: EndpointReading) {}

  /** How many endpoints have an address of a kind that this client cannot use; `undefined` if none has. */
  get unusableEndpoints(): number | undefined {
    return this.unusable === 0 ? undefined : this.unusable;
  }

  /**
   * Parses an endpoint.
   *
   * @returns `undefined` for an endpoint that gets no calls because of its health, which is not validated, for one with
   * no address that this client can use, and after adding a violation.
   */
  parse(message: LbEndpoint, violations: Violations): XdsEndpoint | undefined {
    const { healthStatus, hostIdentifier, loadBalancingWeight: weight = 1 } = message;
    const health = parseHealthStatus(healthStatus);
    if (health === undefined || (health === 'DRAINING' && !this.reading.keepDraining)) {
      this.omit(String(Reflect.get(HealthStatusMessage, healthStatus) ?? healthStatus));
      return undefined;
    }
    if (weight === 0) violations.at('load_balancing_weight').add('must be at least 1, not 0');
    if (hostIdentifier?.$case !== 'endpoint')
      return violations.at('endpoint').add('field not present');
    const endpoint = hostIdentifier.value;
    const addresses = this.parseAddresses(endpoint, violations.at('endpoint'));
    const hashKey = message.metadata && readHashKey(message.metadata, violations);
    const metadata = this.readMetadata(message.metadata);
    const proxy = this.parseProxy(message.metadata, violations.at('metadata'));
    const { hostname } = endpoint;
    if (hostname.length > MAX_HOSTNAME_LENGTH) {
      const at = violations.at('endpoint').at('hostname');
      at.add(`${hostname.length} characters, more than ${MAX_HOSTNAME_LENGTH}`);
    }
    if (addresses === undefined) return undefined;
    const parsed = { addresses, weight, health, hostname, hashKey, metadata };
    return proxy === undefined ? parsed : { ...parsed, proxy };
  }

  private omit(health: string): void {
    this.omittedByHealth.set(health, (this.omittedByHealth.get(health) ?? 0) + 1);
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
    const first = parseAddress(address, violations.at('address'), HOST_NAME_ADVICE);
    const additionalAddresses = this.reading.additionalAddresses ? listed : [];
    if (additionalAddresses.length > MAX_ADDITIONAL_ADDRESSES) {
      const at = violations.at('additional_addresses');
      return at.add(`${listed.length} addresses, more than ${MAX_ADDITIONAL_ADDRESSES}`);
    }
    if (additionalAddresses.length === 0 && first !== 'unusable') return first && [first];
    const others = additionalAddresses.map(({ address: additional }, i) =>
      parseAddress(
        additional,
        violations.at('additional_addresses').index(i).at('address'),
        HOST_NAME_ADVICE,
      ),
    );
    const parsed = [first, ...others].filter((one) => one !== undefined);
    if (parsed.length < 1 + others.length) return undefined;
    const addresses = parsed.filter((one) => one !== 'unusable');
    if (addresses.length < parsed.length) this.unusable++;
    return addresses.length === 0 ? undefined : addresses;
  }

  /** Returns one object for the equal metadata of endpoints next to each other, often of the same workload. */
  private readMetadata(message: Metadata | undefined): EndpointMetadata {
    if (message === undefined) return noMetadata;
    const { filterMetadata, typedFilterMetadata } = message;
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
  if (kind?.$case === 'stringValue' && kind.value.length > MAX_HASH_KEY_LENGTH) {
    const at = violations.at('metadata').at('filter_metadata').key(HASH_KEY_METADATA);
    const { length } = kind.value;
    return at.at('hash_key').add(`${length} characters, more than ${MAX_HASH_KEY_LENGTH}`);
  }
  // An empty key would place all such endpoints at the same position of the ring.
  return kind?.$case === 'stringValue' && kind.value !== '' ? kind.value : undefined;
}

/** Returns the health of an endpoint; `undefined` for states in which it gets no calls (gRFCs A27, A55). */
export function parseHealthStatus(status: HealthStatusMessage): HealthStatus | undefined {
  switch (status) {
    case HealthStatusMessage.UNKNOWN:
      return 'UNKNOWN';
    case HealthStatusMessage.HEALTHY:
      return 'HEALTHY';
    case HealthStatusMessage.DRAINING:
      return 'DRAINING';
    default:
      return undefined;
  }
}
