import { MESSAGE_LIMIT, ReadBudget, type ReadLimit } from '../../util/read-budget';
import { runSteps, type Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import type {
  DecodeContext,
  Decoded,
  DecodedValue,
  DecodeResult,
  PreviousVersion,
  ResourceType,
} from '../../xds-client/resource-type';
import type * as UnusedFields from '../wire/unused-fields';
import { decodeMessage, peekText, type AnyType } from './any';
import { late } from '../../util/late';

/** With its tables of fields, loaded for the first description. */
const loadUnusedFields = late<typeof UnusedFields>(() => require('../wire/unused-fields'));

/** What the parsers of all types of resources have. */
interface ResourceParser<M, T, C>
  extends
    AnyType<M>,
    Pick<
      ResourceType<T, C>,
      | 'allResourcesRequiredInSotw'
      | 'discoveryService'
      | 'elementLimit'
      | 'countElements'
      | 'describeSkipped'
      | 'describeChange'
    > {
  /** Adds a violation for a resource that is too large to be decoded, in steps. */
  checkSize?(bytes: Uint8Array, violations: Violations): Steps<void>;
  /** How many fields a resource may have. Default: as many as one message that is decoded in one turn. */
  readonly limit?: ReadLimit;
  /**
   * Decodes what has changed since the previous version, in steps.
   * @returns `undefined` to decode the resource as a whole, which also reports what is wrong with it.
   */
  parseChange?(
    bytes: Uint8Array,
    previous: PreviousVersion<T>,
    context: DecodeContext<T>,
  ): Steps<DecodedValue<T, C> | undefined>;
}

/** Parses resources that are decoded in one turn. */
export interface MessageParser<M, T, C> extends ResourceParser<M, T, C> {
  /** Validates a message. @returns `undefined` only after adding a violation. */
  parse(
    message: M,
    context: DecodeContext<T>,
    violations: Violations,
  ): DecodedValue<T, C> | undefined;
}

/** Parses resources that may be large, in steps. */
export interface SteppedParser<M, T, C> extends ResourceParser<M, T, C> {
  /** Decodes and validates a resource. @returns `undefined` only after adding a violation. */
  parseInSteps(
    bytes: Uint8Array,
    context: DecodeContext<T>,
    violations: Violations,
  ): Steps<DecodedValue<T, C> | undefined>;
}

// In all four resource messages the name is field 1.
const NAME_FIELD = 1;

/** Creates a resource type from a parser. */
export function createResourceType<M, T, C>(
  parser: MessageParser<M, T, C> | SteppedParser<M, T, C>,
): ResourceType<T, C> {
  const { typeName: messageName, allResourcesRequiredInSotw, discoveryService } = parser;
  const peekName = (bytes: Uint8Array) => peekText(bytes, NAME_FIELD);
  const typeUrl = `type.googleapis.com/${messageName}`;
  return {
    typeUrl,
    typeName: messageName.slice(messageName.lastIndexOf('.') + 1),
    allResourcesRequiredInSotw,
    discoveryService,
    peekName,
    describeSkipped: (value) => parser.describeSkipped?.(value),
    describeUnusedFields: (bytes) => {
      const { findUnusedFields, formatUnusedField } = loadUnusedFields();
      return findUnusedFields(typeUrl, bytes).map(formatUnusedField);
    },
    ...(parser.describeChange !== undefined && {
      describeChange: (change: C) => parser.describeChange?.(change) ?? '',
    }),
    elementLimit: parser.elementLimit,
    countElements: (value, fields) => parser.countElements?.(value, fields) ?? 0,
    decode: (bytes, context) => runSteps(decode(parser, bytes, context)),
    decodeInSteps: (bytes, context) => decode(parser, bytes, context),
  };
}

function* decode<M, T, C>(
  parser: MessageParser<M, T, C> | SteppedParser<M, T, C>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): Steps<Decoded<T, C>> {
  const name = peekText(bytes, NAME_FIELD);
  const { maxFields, scope } = parser.limit ?? { ...MESSAGE_LIMIT, scope: 'resource' };
  const resource = new ReadBudget({ maxFields, scope }, context.budget);
  const violations = Violations.root(new ReadBudget(MESSAGE_LIMIT, resource));
  if (parser.checkSize !== undefined) yield* parser.checkSize(bytes, violations);
  if (violations.count > 0) return { name, result: { ok: false, error: violations.all } };
  const previous = name === undefined ? undefined : context.previous(name);
  const changed =
    previous && parser.parseChange && (yield* parser.parseChange(bytes, previous, context));
  if (changed !== undefined) return { name, result: success(changed, resource.used, true) };
  const value = yield* parseWhole(parser, bytes, context, violations);
  const isValid = value !== undefined && violations.count === 0;
  return {
    name,
    result: isValid ? success(value, resource.used) : { ok: false, error: violations.all },
  };
}

function* parseWhole<M, T, C>(
  parser: MessageParser<M, T, C> | SteppedParser<M, T, C>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
  violations: Violations,
): Steps<DecodedValue<T, C> | undefined> {
  if ('parseInSteps' in parser) return yield* parser.parseInSteps(bytes, context, violations);
  const message = decodeMessage(parser.decoder, bytes, violations);
  return message && parser.parse(message, context, violations);
}

/** Not spread: V8 makes a hidden class for each object with a spread. */
function success<T, C>(
  { value, record, change }: DecodedValue<T, C>,
  fields: number,
  isPartial = false,
): DecodeResult<T, C> {
  return { ok: true, value, record, change, fields, isPartial };
}
