import {
  LbEndpoint,
  LbEndpointCollection,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { CollectionEntry } from '../../wire/generated/xds/core/v3/collection_entry';
import { DEFAULT_LIMITS } from '../../bootstrap/limits';
import { asBuffer } from '../../util/bytes';
import { ENDPOINTS_LIMIT, MESSAGE_LIMIT } from '../../util/limits';
import { ReadBudget } from '../../util/read-budget';
import { err, ok } from '../../util/result';
import { Violations } from '../../util/violations';
import {
  RESOURCE_TYPE_DEFAULTS,
  type Decoding,
  type ElementLimit,
  type ResourceType,
} from '../../xds-client/resource-type';
import type { ExtensionPoints } from '../extension-points';
import { startDecoding } from '../encoded/part-reader';
import { allNew } from '../encoded/sliced-message';
import {
  decodeMessage,
  decodePieces,
  unpackAny,
  type AnyType,
  type PieceField,
} from '../shared/any';
import { metadataTypesOf } from '../shared/metadata-parser';
import { checkAddresses } from './endpoint-addresses';
import { describeUnusable, tooManyEndpoints, type EndpointCollection } from './endpoints';
import { EndpointListReader, LbEndpointParser, type EndpointReading } from './endpoint-list-parser';

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
    maxEndpointsPerAssignment: max = DEFAULT_LIMITS.maxEndpointsPerAssignment,
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
    decode: (bytes, { budget }) => decodeCollection(asBuffer(bytes), { max, reading, budget }),
  };
}

interface CollectionReading {
  readonly max: number;
  readonly reading: EndpointReading;
  readonly budget: ReadBudget | undefined;
}

/** Decodes the entries one by one. If one is malformed, that is the only violation. */
function decodeCollection(
  bytes: Buffer,
  { max, reading, budget }: CollectionReading,
): Decoding<EndpointCollection> {
  const rejected = ({ all }: Violations) => ({ name: undefined, result: err(all) });
  const violations = Violations.root(
    new ReadBudget(MESSAGE_LIMIT, new ReadBudget(ENDPOINTS_LIMIT, budget)),
  );
  const pieces = decodePieces(LbEndpointCollection, bytes, ENTRIES, violations);
  if (pieces === undefined) return rejected(violations);
  const at = violations.at(ENTRIES.name);
  if (pieces.bounds.length / 2 > max) {
    at.add(tooManyEndpoints(max));
    return rejected(violations);
  }
  const malformed = Violations.root(violations.budget);
  const parser = new LbEndpointParser(reading);
  const options = {
    bytes,
    parts: allNew(pieces.bounds),
    decode(element: Buffer, i: number): LbEndpoint | undefined {
      const entry = decodeMessage(CollectionEntry, element, malformed);
      return entry && readEntry(entry, at.index(i).at('inline_entry'));
    },
    malformed,
    parser,
  };
  return startDecoding(new EndpointListReader(options, [], at), (parsed) => {
    if (malformed.count > 0) return rejected(malformed);
    checkAddresses([parsed], () => at);
    if (violations.count > 0) return rejected(violations);
    const { endpoints } = parsed;
    const { unusableEndpoints } = parser;
    return { name: undefined, result: ok({ endpoints, unusableEndpoints }) };
  });
}

/** Returns the endpoint of an entry; `undefined` after adding a violation. */
function readEntry(
  { resourceSpecifier }: CollectionEntry,
  violations: Violations,
): LbEndpoint | undefined {
  if (resourceSpecifier === undefined) return violations.add('field not present');
  return unpackAny(resourceSpecifier.value.resource, LB_ENDPOINT, violations.at('resource'));
}
