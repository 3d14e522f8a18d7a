import {
  LbEndpoint,
  LbEndpointCollection,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { CollectionEntry } from '../../wire/generated/xds/core/v3/collection_entry';
import { MESSAGE_LIMIT, ReadBudget } from '../../util/read-budget';
import { err, ok } from '../../util/result';
import { inSteps, type Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import {
  RESOURCE_TYPE_DEFAULTS,
  type Decoded,
  type ElementLimit,
  type ResourceType,
} from '../../xds-client/resource-type';
import type { ExtensionPoints } from '../extension-points';
import { decodeEach, decodePieces, unpackAny, type AnyType, type PieceField } from '../shared/any';
import { ENDPOINTS_LIMIT } from '../resource-parser';
import { metadataTypesOf } from '../shared/metadata-parser';
import { AddressSet } from './endpoint-addresses';
import { checkEndpointCount } from './assignment-limits';
import { EndpointReuse } from './endpoint-reuse';
import { describeUnusable, type EndpointCollection } from './endpoints';
import {
  LbEndpointParser,
  type EndpointReading,
  ENDPOINT_SIZE,
  parseEndpoints,
} from './locality-endpoints-parser';

const LB_ENDPOINT: AnyType<LbEndpoint> = {
  typeName: 'envoy.config.endpoint.v3.LbEndpoint',
  decoder: LbEndpoint,
};

const ENTRIES: PieceField = { number: 1, name: 'entries' };

/** LEDS list collections (gRFC A95). Their name is not in the message, only beside it. */
export function createEndpointCollectionResourceType(
  {
    keepDraining = false,
    additionalAddresses = true,
    maxEndpointsPerAssignment: max,
    ...features
  }: Omit<ExtensionPoints, 'lbConfigs' | 'httpFilters' | 'regexes'>,
  elementLimit?: ElementLimit,
): ResourceType<EndpointCollection> {
  const metadataTypes = metadataTypesOf(features);
  const reading = { keepDraining, additionalAddresses, metadataTypes };
  return {
    ...RESOURCE_TYPE_DEFAULTS,
    typeUrl: 'type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection',
    typeName: 'LbEndpointCollection',
    allResourcesRequiredInSotw: false,
    peekName: () => undefined,
    describeSkipped: ({ unusableEndpoints }) => describeUnusable(unusableEndpoints),
    elementLimit,
    countElements: ({ endpoints }) => endpoints.length,
    decode: (bytes, { budget }) => decodeCollection(bytes, { max, reading, budget }),
  };
}

interface CollectionReading {
  readonly max: number | undefined;
  readonly reading: EndpointReading;
  readonly budget: ReadBudget | undefined;
}

/** Decodes the entries one by one. If one is malformed, that is the only violation. */
function* decodeCollection(
  bytes: Uint8Array,
  { max, reading, budget }: CollectionReading,
): Steps<Decoded<EndpointCollection>> {
  const rejected = ({ all }: Violations) => ({ name: undefined, result: err(all) });
  const violations = Violations.root(
    new ReadBudget(MESSAGE_LIMIT, new ReadBudget(ENDPOINTS_LIMIT, budget)),
  );
  yield* checkEndpointCount(bytes, { paths: [[ENTRIES.number]], max }, violations.at('entries'));
  if (violations.count > 0) return rejected(violations);
  const pieces = yield* decodePieces(LbEndpointCollection, bytes, ENTRIES, violations);
  if (pieces === undefined) return rejected(violations);
  const malformed = Violations.root(violations.budget);
  const entries = decodeEach(CollectionEntry, bytes, pieces.bounds, malformed);
  const value = yield* parseCollection(entries, reading, violations);
  if (malformed.count > 0) return rejected(malformed);
  if (violations.count > 0) return rejected(violations);
  return { name: undefined, result: ok(value) };
}

function* parseCollection(
  entries: Iterable<CollectionEntry>,
  reading: EndpointReading,
  violations: Violations,
): Steps<EndpointCollection> {
  const at = violations.at('entries');
  const messages: LbEndpoint[] = [];
  let count = 0;
  const unpack = ({ resourceSpecifier }: CollectionEntry, i: number): void => {
    count++;
    const place = at.index(i).at('inline_entry');
    if (resourceSpecifier === undefined) {
      place.add('field not present');
      return;
    }
    const { resource } = resourceSpecifier.value;
    const message = unpackAny(resource, LB_ENDPOINT, place.at('resource'));
    if (message !== undefined) messages.push(message);
  };
  yield* inSteps(entries, unpack, () => ENDPOINT_SIZE);
  // Otherwise violations would name endpoints by wrong positions.
  if (messages.length < count) return { endpoints: [] };
  const parser = new LbEndpointParser(reading);
  const context = { addresses: new AddressSet(), parser };
  const parsed = yield* parseEndpoints(messages, context, new EndpointReuse([]), at);
  const endpoints = parsed.filter((endpoint) => endpoint !== undefined);
  return { endpoints, unusableEndpoints: parser.unusableEndpoints };
}
