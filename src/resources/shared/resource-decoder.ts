import { err, ok } from '../../util/result';
import { Violations } from '../../util/violations';
import type {
  DecodeContext,
  Decoded,
  DiscoveryService,
  ElementLimit,
  ResourceType,
} from '../../xds-client/resource-type';
import { decodeMessage, peekText, type AnyType } from './any';

/** What makes a message type a resource type. */
export interface ResourceParser<M, T> extends AnyType<M> {
  /** See {@link ResourceType.allResourcesRequiredInSotw}. */
  readonly allResourcesRequiredInSotw: boolean;
  /** See {@link ResourceType.discoveryService}. */
  readonly discoveryService?: DiscoveryService | undefined;
  /** See {@link ResourceType.elementLimit}. */
  readonly elementLimit?: ElementLimit | undefined;
  /** See {@link ResourceType.countElements}. */
  countElements?(value: T): number;
  /** See {@link ResourceType.describeSkipped}. */
  describeSkipped?(value: T): string | undefined;
  /** Adds a violation for bytes that are too much to be decoded. */
  checkSize?(bytes: Uint8Array, violations: Violations): void;
  /** Validates a message. @returns `undefined` only after adding a violation. */
  parse(
    message: M,
    context: DecodeContext<T>,
    violations: Violations,
    bytes: Uint8Array,
  ): T | undefined;
  /**
   * A faster way for a resource that differs little from the previous one.
   * @returns `undefined` to have it decoded as a whole, which is also what finds the words for what is wrong.
   */
  parseChange?(bytes: Uint8Array, name: string, context: DecodeContext<T>): T | undefined;
}

// In all four resource messages the name is field 1.
const NAME_FIELD = 1;

/** Makes a resource type of a parser. A value counts only if nothing was found wrong. */
export function createResourceType<M, T>(parser: ResourceParser<M, T>): ResourceType<T> {
  const { typeName: messageName, allResourcesRequiredInSotw, discoveryService } = parser;
  const peekName = (bytes: Uint8Array) => peekText(bytes, NAME_FIELD);
  return {
    typeUrl: `type.googleapis.com/${messageName}`,
    typeName: messageName.slice(messageName.lastIndexOf('.') + 1),
    allResourcesRequiredInSotw,
    discoveryService,
    peekName,
    describeSkipped: (value) => parser.describeSkipped?.(value),
    elementLimit: parser.elementLimit,
    countElements: (value) => parser.countElements?.(value) ?? 0,
    decode(bytes, context): Decoded<T> {
      const name = peekName(bytes);
      const violations = Violations.root();
      parser.checkSize?.(bytes, violations);
      if (violations.count > 0) return { name, result: err(violations.all) };
      const change = name === undefined ? undefined : parser.parseChange?.(bytes, name, context);
      if (change !== undefined) return { name, result: ok(change) };
      const message = decodeMessage(parser.decoder, bytes, violations);
      const value = message && parser.parse(message, context, violations, bytes);
      return {
        name,
        result: value !== undefined && violations.count === 0 ? ok(value) : err(violations.all),
      };
    },
  };
}
