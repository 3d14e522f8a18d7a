import type { EndpointReading } from './lb-endpoint-parser';
import {
  LbEndpoint,
  LbEndpointCollection,
} from '../generated/envoy/config/endpoint/v3/endpoint_components';
import { err, ok } from '../util/result';
import { runSteps } from '../util/steps';
import { Violations } from '../util/violations';
import type { Decoded, ElementLimit, ResourceType } from '../xds-client/resource-type';
import type { EndpointCollection } from './endpoint-collection';
import { checkEndpointCount } from './endpoint-count';
import { EndpointMetadataReader } from './endpoint-metadata-parser';
import { LocalityReuse } from './endpoint-reuse';
import type { ExtensionPoints } from './extension-points';
import { AddressSet, parseEndpoints } from './locality-endpoints-parser';
import { decodeMessage, unpackAny, type AnyType } from './shared/any';
import { describeUnusable, UnusableAddresses } from './unusable-addresses';

const LB_ENDPOINT: AnyType<LbEndpoint> = {
  typeName: 'envoy.config.endpoint.v3.LbEndpoint',
  decoder: LbEndpoint,
};

// `entries` of the collection.
const ENTRY_PATHS = [[1]];

/** List collections of endpoints (gRFC A95). They have no name in them, only beside them. */
export function createEndpointCollectionResourceType(
  {
    keepDraining = false,
    additionalAddresses = true,
    maxEndpointsPerAssignment: max,
  }: Pick<ExtensionPoints, 'keepDraining' | 'additionalAddresses' | 'maxEndpointsPerAssignment'>,
  elementLimit?: ElementLimit,
): ResourceType<EndpointCollection> {
  const reading = { keepDraining, additionalAddresses };
  return {
    typeUrl: 'type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection',
    typeName: 'LbEndpointCollection',
    allResourcesRequiredInSotw: false,
    peekName: () => undefined,
    describeSkipped: ({ unusableEndpoints }) => describeUnusable(unusableEndpoints),
    elementLimit,
    countElements: ({ endpoints }) => endpoints.length,
    decode(bytes): Decoded<EndpointCollection> {
      const violations = Violations.root();
      checkEndpointCount(bytes, { paths: ENTRY_PATHS, max }, violations.at('entries'));
      if (violations.count > 0) return { name: undefined, result: err(violations.all) };
      const message = decodeMessage(LbEndpointCollection, bytes, violations);
      const value = message && parseCollection(message, reading, violations);
      const isValid = value !== undefined && violations.count === 0;
      return { name: undefined, result: isValid ? ok(value) : err(violations.all) };
    },
  };
}

function parseCollection(
  { entries }: LbEndpointCollection,
  reading: EndpointReading,
  violations: Violations,
): EndpointCollection {
  const at = violations.at('entries');
  const messages: LbEndpoint[] = [];
  for (const [i, { resourceSpecifier }] of entries.entries()) {
    const place = at.index(i).at('inline_entry');
    if (resourceSpecifier === undefined) {
      place.add('field not present');
      continue;
    }
    const { resource } = resourceSpecifier.value;
    const message = unpackAny(resource, LB_ENDPOINT, place.at('resource'));
    if (message !== undefined) messages.push(message);
  }
  // Otherwise the places of the endpoints are not those of the entries.
  if (messages.length < entries.length) return { endpoints: [] };
  const metadataReader = new EndpointMetadataReader();
  const unusable = new UnusableAddresses();
  const context = { addresses: new AddressSet(), metadataReader, unusable, reading };
  const parsed = runSteps(parseEndpoints(messages, context, new LocalityReuse(undefined), at));
  const endpoints = parsed.filter((endpoint) => endpoint !== undefined);
  return { endpoints, unusableEndpoints: unusable.count };
}
