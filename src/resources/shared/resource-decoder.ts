import type { Steps } from '../../util/steps';
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

/** Parses the resources of a message type. */
export interface ResourceParser<M, T, C>
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
  /** Adds a violation for a resource that is too large to be decoded. */
  checkSize?(bytes: Uint8Array, violations: Violations): void;
  /** Validates a message. @returns `undefined` only after adding a violation. */
  parse(
    message: M,
    context: DecodeContext<T>,
    violations: Violations,
    bytes: Uint8Array,
  ): DecodedValue<T, C> | undefined;
  /**
   * Decodes and validates a large resource in steps.
   * @returns `undefined` for a small one. The steps return `undefined` only after adding a violation.
   */
  parseInSteps?(
    bytes: Uint8Array,
    context: DecodeContext<T>,
    violations: Violations,
  ): Steps<DecodedValue<T, C> | undefined> | undefined;
  /**
   * Decodes the parts of a resource that differ from the previous version.
   * @returns `undefined` to decode it as a whole, which also reports what is wrong with it.
   */
  parseChange?(
    bytes: Uint8Array,
    previous: PreviousVersion<T>,
    context: DecodeContext<T>,
  ): DecodedValue<T, C> | undefined;
}

// In all four resource messages the name is field 1.
const NAME_FIELD = 1;

/** Creates a resource type from a parser. */
export function createResourceType<M, T, C>(parser: ResourceParser<M, T, C>): ResourceType<T, C> {
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
    countElements: (value) => parser.countElements?.(value) ?? 0,
    decode: (bytes, context) =>
      decodeQuickly(parser, bytes, context) ?? decodeWhole(parser, bytes, context),
    ...(parser.parseInSteps !== undefined && {
      decodeInSteps: (bytes: Uint8Array, context: DecodeContext<T>) =>
        decodeInSteps(parser, bytes, context),
    }),
  };
}

/** Rejects a resource that is too large, and decodes one that has hardly changed; `undefined` if it is neither. */
function decodeQuickly<M, T, C>(
  parser: ResourceParser<M, T, C>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): Decoded<T, C> | undefined {
  const name = peekText(bytes, NAME_FIELD);
  const violations = Violations.root();
  parser.checkSize?.(bytes, violations);
  if (violations.count > 0) return { name, result: { ok: false, error: violations.all } };
  const previous = name === undefined ? undefined : context.previous(name);
  const changed = previous && parser.parseChange?.(bytes, previous, context);
  return changed && { name, result: success(changed) };
}

function decodeWhole<M, T, C>(
  parser: ResourceParser<M, T, C>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): Decoded<T, C> {
  const violations = Violations.root();
  const message = decodeMessage(parser.decoder, bytes, violations);
  const value = message && parser.parse(message, context, violations, bytes);
  return decoded(bytes, value, violations);
}

function* decodeInSteps<M, T, C>(
  parser: ResourceParser<M, T, C>,
  bytes: Uint8Array,
  context: DecodeContext<T>,
): Steps<Decoded<T, C>> {
  const quickly = decodeQuickly(parser, bytes, context);
  if (quickly !== undefined) return quickly;
  const violations = Violations.root();
  const steps = parser.parseInSteps?.(bytes, context, violations);
  if (steps === undefined) return decodeWhole(parser, bytes, context);
  yield;
  return decoded(bytes, yield* steps, violations);
}

/** Returns the value if there is no violation. */
function decoded<T, C>(
  bytes: Uint8Array,
  value: DecodedValue<T, C> | undefined,
  violations: Violations,
): Decoded<T, C> {
  const name = peekText(bytes, NAME_FIELD);
  const isValid = value !== undefined && violations.count === 0;
  return { name, result: isValid ? success(value) : { ok: false, error: violations.all } };
}

/** Not spread: V8 makes a hidden class for each object with a spread. */
function success<T, C>({ value, record, change }: DecodedValue<T, C>): DecodeResult<T, C> {
  return { ok: true, value, record, change };
}

/** With its tables of fields, loaded for the first description. */
function loadUnusedFields(): typeof UnusedFields {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- loads a module on first use, without waiting; the type is that of the module
  return require('../wire/unused-fields');
}
