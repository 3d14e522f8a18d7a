import type {
  LbEndpoint,
  LedsClusterLocalityConfig,
} from '../generated/envoy/config/endpoint/v3/endpoint_components';
import { HashBag } from '../util/hash-bag';
import type { Steps } from '../util/steps';
import type { Violations } from '../util/violations';
import type { LocalityPiece } from './assignment-pieces-parser';
import type { EndpointMetadataReader } from './endpoint-metadata-parser';
import { LocalityReuse, type PreviousEndpoints } from './endpoint-reuse';
import type { LocalityEndpoints, SocketAddress, XdsEndpoint } from './endpoints';
import { parseLbEndpoint, type EndpointReading } from './lb-endpoint-parser';
import { hashAddress } from './address-hashes';
import { parseHealthStatus } from './shared/health-status-parser';
import { MAX_TOTAL_WEIGHT } from './shared/total-weight';
import type { UnusableAddresses } from './unusable-addresses';

/** The addresses of an assignment, each of which may occur once. */
export class AddressSet {
  /** All of them. */
  readonly hashes = new HashBag();
  private readonly addresses: SocketAddress[] = [];
  private searches = 0;
  /** Made after `MAX_SEARCHES`: a text for each of 100,000 addresses takes tens of milliseconds. */
  private texts: Set<string> | undefined;

  /** @returns `false` if the address is in the set already. */
  add(address: SocketAddress): boolean {
    const hash = hashAddress(address);
    if (this.hashes.countOf(hash) > 0 && this.has(address)) return false;
    this.hashes.add(hash);
    this.addresses.push(address);
    this.texts?.add(addressText(address));
    return true;
  }

  private has({ host, port }: SocketAddress): boolean {
    if (this.searches < MAX_SEARCHES) {
      this.searches++;
      return this.addresses.some((other) => other.port === port && other.host === host);
    }
    this.texts ??= new Set(this.addresses.map(addressText));
    return this.texts.has(addressText({ host, port }));
  }
}

/** How often all addresses are searched because two have equal hashes: of 200,000 different ones, some five do. */
const MAX_SEARCHES = 16;

/** How many endpoints are parsed in one step. */
export const ENDPOINTS_PER_STEP = 64;

/** What the localities of an assignment share. */
export interface LocalityContext {
  readonly previous: PreviousEndpoints;
  readonly addresses: AddressSet;
  readonly metadataReader: EndpointMetadataReader;
  readonly unusable: UnusableAddresses;
  readonly reading: EndpointReading;
  /** Whether localities may have their endpoints in collections (gRFC A95). */
  readonly readCollections: boolean;
  /** Told what each endpoint of a locality came to. */
  readonly onParsed: (
    value: LocalityEndpoints,
    endpoints: readonly (XdsEndpoint | undefined)[],
  ) => void;
}

/**
 * `undefined` if the locality is to get no calls, as one without weight (gRFC A27), and after adding a
 * violation. A locality that gets no calls is not looked at further.
 */
export function* parseLocalityEndpoints(
  { message, endpoints: lbEndpoints }: LocalityPiece,
  context: LocalityContext,
  violations: Violations,
): Steps<LocalityEndpoints | undefined> {
  const { locality, loadBalancingWeight: weight, priority, lbConfig } = message;
  if (weight === undefined || weight === 0) return undefined;
  if (locality === undefined) {
    violations.at('locality').add('field not present');
    return undefined;
  }
  const previous = context.previous.find(priority, locality);
  const reuse = new LocalityReuse(previous);
  if (context.readCollections && lbConfig?.$case === 'ledsClusterLocalityConfig') {
    const at = violations.at('leds_cluster_locality_config');
    const collection = parseCollectionName(lbConfig.value, at);
    return reuse.share({ locality, weight, endpoints: [], collection });
  }
  const parsed = yield* parseEndpoints(lbEndpoints, context, reuse, violations.at('lb_endpoints'));
  const endpoints = parsed.filter((endpoint) => endpoint !== undefined);
  const value = reuse.share({ locality, weight, endpoints });
  context.onParsed(value, parsed);
  return value;
}

/** In its own place, what each endpoint comes to; `undefined` for one that gets no calls. */
export function* parseEndpoints(
  messages: Iterable<LbEndpoint>,
  {
    addresses,
    metadataReader,
    unusable,
    reading,
  }: Pick<LocalityContext, 'addresses' | 'metadataReader' | 'unusable' | 'reading'>,
  reuse: LocalityReuse,
  violations: Violations,
): Steps<readonly (XdsEndpoint | undefined)[]> {
  const { additionalAddresses } = reading;
  const endpoints: (XdsEndpoint | undefined)[] = [];
  let totalWeight = 0;
  for (const message of messages) {
    const i = endpoints.length;
    if (i % ENDPOINTS_PER_STEP === ENDPOINTS_PER_STEP - 1) yield;
    endpoints.push(undefined);
    const health = parseHealthStatus(message.healthStatus);
    if (health === undefined || (health === 'DRAINING' && !reading.keepDraining)) continue;
    const at = violations.index(i);
    const context = { ...{ health, metadataReader, unusable }, additionalAddresses };
    const endpoint = parseLbEndpoint(message, context, at);
    if (endpoint === undefined) continue;
    for (const address of endpoint.addresses) {
      if (!addresses.add(address)) {
        at.add(`duplicate address ${address.host} with port ${address.port}`);
      }
    }
    totalWeight += endpoint.weight;
    endpoints[i] = reuse.shareEndpoint(endpoint);
  }
  if (totalWeight > MAX_TOTAL_WEIGHT) {
    violations.add(
      `the sum of the endpoint weights must not exceed ${MAX_TOTAL_WEIGHT}, but is ${totalWeight}`,
    );
  }
  return endpoints;
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

function addressText({ host, port }: SocketAddress): string {
  return `${host} ${port}`;
}
