import type {
  LbEndpoint,
  LedsClusterLocalityConfig,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import type { Steps } from '../../util/steps';
import type { Violations } from '../../util/violations';
import { MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import { MAX_PRIORITIES } from './assignment-limits';
import type { LocalityPiece } from './assignment-pieces-parser';
import type { AddressSet } from './endpoint-addresses';
import { EndpointReuse, shareLocality, type PreviousEndpoints } from './endpoint-reuse';
import { summarize, type ParsedLocality } from './endpoints-record';
import type { XdsEndpoint } from './endpoints';
import type { LbEndpointParser } from './lb-endpoint-parser';

/** How many endpoints are parsed in one step. */
export const ENDPOINTS_PER_STEP = 64;

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
  { addresses, parser }: Pick<LocalityContext, 'addresses' | 'parser'>,
  reuse: EndpointReuse,
  violations: Violations,
): Steps<readonly (XdsEndpoint | undefined)[]> {
  const endpoints: (XdsEndpoint | undefined)[] = [];
  let totalWeight = 0;
  for (const message of messages) {
    const i = endpoints.length;
    if (i % ENDPOINTS_PER_STEP === ENDPOINTS_PER_STEP - 1) yield;
    const at = violations.index(i);
    at.budget.renew();
    const endpoint = parser.parse(message, at);
    if (endpoint !== undefined && reuse.mustPrepare(endpoint)) yield* reuse.prepare();
    endpoints.push(endpoint && reuse.share(endpoint));
    if (endpoint === undefined) continue;
    for (const address of endpoint.addresses) {
      if (addresses.mustPrepare(address)) yield* addresses.prepare();
      if (!addresses.add(address)) {
        at.add(`duplicate address ${address.host} with port ${address.port}`);
      }
    }
    totalWeight += endpoint.weight;
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
