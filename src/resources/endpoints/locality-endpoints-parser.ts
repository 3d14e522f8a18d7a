import type {
  LbEndpoint,
  LedsClusterLocalityConfig,
} from '../../generated/envoy/config/endpoint/v3/endpoint_components';
import type { Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import type { LocalityPiece } from './assignment-pieces-parser';
import type { ParsedLocality } from './changed-endpoints-parser';
import type { AddressSet } from './endpoint-addresses';
import type { EndpointMetadataReader } from './lb-endpoint-parser';
import { LocalityReuse, type PreviousEndpoints } from './endpoint-reuse';
import { summarize } from './endpoint-slices';
import type { XdsEndpoint } from './endpoints';
import { parseLbEndpoint, type EndpointReading } from './lb-endpoint-parser';
import { parseHealthStatus } from './lb-endpoint-parser';
import { MAX_TOTAL_WEIGHT } from '../shared/fraction-parser';
import type { UnusableAddresses } from './lb-endpoint-parser';

/** How many endpoints are parsed in one step. */
export const ENDPOINTS_PER_STEP = 64;

/** What the localities of an assignment share. */
export interface LocalityContext {
  readonly previous: PreviousEndpoints;
  readonly addresses: AddressSet;
  readonly metadataReader: EndpointMetadataReader;
  readonly unusable: UnusableAddresses;
  readonly reading: EndpointReading;
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
  if (locality === undefined) {
    violations.at('locality').add('field not present');
    return undefined;
  }
  const previous = context.previous.find(priority, locality);
  const reuse = new LocalityReuse(previous);
  if (context.reading.endpointCollections && lbConfig?.$case === 'ledsClusterLocalityConfig') {
    const at = violations.at('leds_cluster_locality_config');
    const collection = parseCollectionName(lbConfig.value, at);
    const value = reuse.share({ locality, weight, endpoints: [], collection });
    return { priority, value, slots: [] };
  }
  const slots = yield* parseEndpoints(lbEndpoints, context, reuse, violations.at('lb_endpoints'));
  const endpoints = slots.filter((endpoint) => endpoint !== undefined);
  const { draining } = summarize(endpoints);
  return { priority, value: reuse.share({ locality, weight, endpoints, draining }), slots };
}

/** Parses endpoints. Returns one for each message; `undefined` for one that gets no calls. */
export function* parseEndpoints(
  messages: Iterable<LbEndpoint>,
  { addresses, metadataReader, unusable, reading }: Omit<LocalityContext, 'previous'>,
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
