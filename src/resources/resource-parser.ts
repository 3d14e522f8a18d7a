import type * as UnusedFields from './encoded/unused-fields';
import { lazy } from '../util/lazy';
import { MESSAGE_LIMIT } from '../util/limits';
import { ReadBudget, type ReadLimit } from '../util/read-budget';
import { Violations } from '../util/violations';
import type { ConfigSource } from '../wire/generated/envoy/config/core/v3/config_source';
import {
  RESOURCE_TYPE_DEFAULTS,
  type DecodeContext,
  type Decoded,
  type DecodedValue,
  type Decoding,
  type PreviousVersion,
  type ResourceType,
} from '../xds-client/resource-type';
import type { ClusterSpecifierParser } from './extension-points';
import { startDecoding, type PartReader } from './encoded/part-reader';
import { peekText } from './shared/any';

/** With its tables of fields, loaded for the first description. */
const loadUnusedFields = lazy<typeof UnusedFields>(() => require('./encoded/unused-fields'));

type DescribedMember =
  'discoveryService' | 'elementLimit' | 'countElements' | 'describeSkipped' | 'describeChange';

/** What a parser receives besides the bytes. */
interface ParserContext<T> extends Omit<DecodeContext<T>, 'previous' | 'budget'> {
  /** The last accepted version of the resource. */
  readonly previous: PreviousVersion<T> | undefined;
}

/** A parsed resource; `undefined` only after adding a violation. */
export type ParsedResource<T> = DecodedValue<T> | undefined;

/** Parses the resources of one type whose messages have their name in field 1. */
interface ResourceParser<T>
  extends
    Pick<ResourceType<T>, 'allResourcesRequiredInSotw'>,
    Partial<Pick<ResourceType<T>, DescribedMember>> {
  /** Full name of the message, such as `envoy.config.cluster.v3.Cluster`. */
  readonly typeName: string;
  /** Whether the features of Envoy are enabled. Default: they are not. */
  readonly envoyFeatures?: boolean | undefined;
  /** How many fields a resource may have. Default: as many as one message that is decoded in one turn. */
  readonly limit?: ReadLimit;
  /** For the routes that are left out because of them. Default: that is not known. */
  readonly clusterSpecifiers?: ClusterSpecifierParser | undefined;
  /** Decodes and validates a resource. @returns a reader of one that may be large. */
  parse(
    bytes: Uint8Array,
    context: ParserContext<T>,
    violations: Violations,
  ): ParsedResource<T> | PartReader<ParsedResource<T>>;
}

const NAME_FIELD = 1;

/** Creates a resource type from a parser. */
export function createResourceType<T>(parser: ResourceParser<T>): ResourceType<T> {
  const { typeName } = parser;
  const typeUrl = `type.googleapis.com/${typeName}`;
  return {
    ...RESOURCE_TYPE_DEFAULTS,
    ...parser,
    typeUrl,
    typeName: typeName.slice(typeName.lastIndexOf('.') + 1),
    peekName: (bytes) => peekText(bytes, NAME_FIELD),
    describeUnusedFields(bytes) {
      const { findUnusedFields, formatUnusedField } = loadUnusedFields();
      const { envoyFeatures, clusterSpecifiers } = parser;
      return findUnusedFields(typeUrl, bytes, envoyFeatures, clusterSpecifiers).map(
        formatUnusedField,
      );
    },
    decode: (bytes, context) => decode(parser, bytes, context),
  };
}

function decode<T>(
  parser: ResourceParser<T>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): Decoding<T> {
  const name = peekText(bytes, NAME_FIELD);
  const { maxFields, scope } = parser.limit ?? { ...MESSAGE_LIMIT, scope: 'resource' };
  const resource = new ReadBudget({ maxFields, scope }, context.budget);
  const violations = Violations.root(new ReadBudget(MESSAGE_LIMIT, resource));
  const previous = name === undefined ? undefined : context.previous(name);
  // Not spread: V8 makes a hidden class for each object with a spread.
  const toDecoded = (parsed: ParsedResource<T>): Decoded<T> => {
    if (parsed === undefined || violations.count > 0) {
      return { name, result: { ok: false, error: violations.all } };
    }
    const { value, record, isPartial = false } = parsed;
    return { name, result: { ok: true, value, record, fields: resource.used, isPartial } };
  };
  const parsed = parser.parse(bytes, { ...context, previous }, violations);
  return parsed !== undefined && 'read' in parsed
    ? startDecoding(parsed, toDecoded)
    : toDecoded(parsed);
}

type Specifier = NonNullable<ConfigSource['configSourceSpecifier']>['$case'];

/** Adds a violation unless the source is one of those allowed (gRFCs A27, A47). */
export function checkConfigSource(
  source: ConfigSource | undefined,
  allowed: readonly Specifier[],
  violations: Violations,
): void {
  if (source === undefined) {
    violations.add('field not present');
    return;
  }
  const specifier = source.configSourceSpecifier?.$case;
  if (specifier === undefined || !allowed.includes(specifier)) {
    violations.add(`must be ${allowed.join(' or ')}`);
  }
}

// How many fields a resource may have whose elements are decoded part by part. Any other resource is decoded in one turn of the
// event loop, within the limit of one message.
