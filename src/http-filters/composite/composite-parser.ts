import type { TypedExtensionConfig as EnvoyExtensionConfig } from '../../wire/generated/envoy/config/core/v3/extension';
import {
  ExtensionWithMatcher,
  ExtensionWithMatcherPerRoute,
} from '../../wire/generated/envoy/extensions/common/matching/v3/extension_matcher';
import { SkipFilter } from '../../wire/generated/envoy/extensions/filters/common/matcher/action/v3/skip_action';
import {
  Composite,
  ExecuteFilterAction,
} from '../../wire/generated/envoy/extensions/filters/http/composite/v3/composite';
import type { TypedExtensionConfig } from '../../wire/generated/xds/core/v3/extension';
import type { Matcher as MatcherMessage } from '../../wire/generated/xds/type/matcher/v3/matcher';
import type { HttpFilterConfig } from '../../resources/extension-points';
import { decodeMessage, typeNameOf, unpackAny, type AnyType } from '../../resources/shared/any';
import { readExtension, type ExtensionConfig } from '../../resources/shared/extension-parser';
import { MILLION, parseRuntimeFraction } from '../../resources/matching/fraction-parser';
import { quoteName } from '../../util/text';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage, type NestedFilterParser } from '../http-filter';
import type { Matcher } from '../../routing/matcher';
import { parseMatcher } from '../../routing/matcher-parser';

/** The full name of the message that configures the filter. */
export const EXTENSION_WITH_MATCHER = 'envoy.extensions.common.matching.v3.ExtensionWithMatcher';

/** The full name of the message that overrides it. */
export const EXTENSION_WITH_MATCHER_PER_ROUTE =
  'envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute';

/** A filter inside the composite one. */
interface NestedFilter {
  /** For descriptions; may be empty, and need not be unique. */
  readonly name: string;
  readonly config: HttpFilterConfig;
}

/** Runs filters for a call. */
export interface ExecuteAction {
  readonly kind: 'execute';
  /** In the order in which requests pass them. */
  readonly filters: readonly NestedFilter[];
  /** Share of the matching calls, 0 to 1,000,000. */
  readonly perMillion: number;
}

/** The action of the composite filter for a call. */
export type CompositeAction = ExecuteAction | { readonly kind: 'skip' };

/** A validated ExtensionWithMatcher or ExtensionWithMatcherPerRoute (gRFC A103). */
export class CompositeConfig implements HttpFilterConfig {
  /** @param matcher `undefined` if the filter does nothing. */
  constructor(
    readonly configType: string,
    readonly matcher: Matcher<CompositeAction> | undefined,
  ) {}
}

/** Maximum nesting of filters, the outermost and the innermost included (gRFC A103). */
const MAX_DEPTH = 8;
const SKIP_FILTER = 'envoy.extensions.filters.common.matcher.action.v3.SkipFilter';
const EXECUTE_FILTER_ACTION = 'envoy.extensions.filters.http.composite.v3.ExecuteFilterAction';
const composite: AnyType<Composite> = {
  typeName: 'envoy.extensions.filters.http.composite.v3.Composite',
  decoder: Composite,
};

/** Validates the config of a listener. @returns `undefined` after adding a violation (gRFC A103). */
export function parseCompositeConfig(
  config: ExtensionConfig,
  filters: NestedFilterParser,
  violations: Violations,
): CompositeConfig | undefined {
  const message = decodeFilterMessage(config, ExtensionWithMatcher, violations);
  if (message === undefined) return undefined;
  const extensionAt = violations.at('extension_config').at('typed_config');
  const extension = unpackAny(message.extensionConfig?.typedConfig, composite, extensionAt);
  const parsed = createConfig(config.typeName, message.xdsMatcher, filters, violations);
  return extension && parsed;
}

/** Validates the override of a route. @returns `undefined` after adding a violation (gRFC A103). */
export function parseCompositeOverride(
  config: ExtensionConfig,
  filters: NestedFilterParser,
  violations: Violations,
): CompositeConfig | undefined {
  const message = decodeFilterMessage(config, ExtensionWithMatcherPerRoute, violations);
  return message && createConfig(config.typeName, message.xdsMatcher, filters, violations);
}

function createConfig(
  configType: string,
  message: MatcherMessage | undefined,
  filters: NestedFilterParser,
  violations: Violations,
): CompositeConfig | undefined {
  if (message === undefined) return new CompositeConfig(configType, undefined);
  const parse = (action: TypedExtensionConfig, at: Violations) => parseAction(action, filters, at);
  const matcher: Matcher<CompositeAction> | undefined = parseMatcher(
    message,
    parse,
    violations.at('xds_matcher'),
  );
  return matcher && new CompositeConfig(configType, matcher);
}

function parseAction(
  { typedConfig }: TypedExtensionConfig,
  filters: NestedFilterParser,
  violations: Violations,
): CompositeAction | undefined {
  const at = violations.at('typed_config');
  if (typedConfig === undefined) return at.add('field not present');
  const typeName = typeNameOf(typedConfig.typeUrl);
  switch (typeName) {
    case SKIP_FILTER:
      return decodeMessage(SkipFilter, typedConfig.value, at) && { kind: 'skip' };
    case EXECUTE_FILTER_ACTION: {
      const message = decodeMessage(ExecuteFilterAction, typedConfig.value, at);
      return message && parseExecuteAction(message, filters, at);
    }
    default:
      return at.add(`must be ${EXECUTE_FILTER_ACTION} or ${SKIP_FILTER}, not ${typeName}`);
  }
}

/** Ignores `dynamic_config`. */
function parseExecuteAction(
  { typedConfig, filterChain, samplePercent }: ExecuteFilterAction,
  parser: NestedFilterParser,
  violations: Violations,
): CompositeAction {
  const filters: NestedFilter[] = [];
  const add = (extension: EnvoyExtensionConfig, at: Violations) => {
    const filter = parseNested(extension, parser, at.at('typed_config'));
    if (filter !== undefined) filters.push(filter);
  };
  if (filterChain !== undefined) {
    const at = violations.at('filter_chain').at('typed_config');
    for (const [i, extension] of filterChain.typedConfig.entries()) add(extension, at.index(i));
  } else if (typedConfig !== undefined) add(typedConfig, violations.at('typed_config'));
  else violations.add('must have typed_config or filter_chain');
  // Without a share the filters run for every matching call.
  const perMillion =
    parseRuntimeFraction(samplePercent, violations.at('sample_percent')) ?? MILLION;
  return { kind: 'execute', filters, perMillion };
}

function parseNested(
  { name, typedConfig }: EnvoyExtensionConfig,
  filters: NestedFilterParser,
  violations: Violations,
): NestedFilter | undefined {
  if (filters.depth >= MAX_DEPTH)
    return violations.add(`more than ${MAX_DEPTH} filters inside one another`);
  const extension = readExtension(typedConfig, violations);
  if (typedConfig === undefined || extension === undefined) return undefined;
  const { typeName } = extension;
  if (!filters.isSupported(typeName)) return violations.add(`unsupported HTTP filter ${typeName}`);
  if (filters.isTerminal(typeName))
    return violations.add(`terminal filter ${typeName} must not be nested`);
  const config = filters.parseConfig(typedConfig, violations);
  return config && { name, config };
}

/** Describes that no action is for a call. @param instance The name of the filter in its chain. */
export function describeNoMatch(instance: string): string {
  return `No match of the composite HTTP filter ${quoteName(instance)} fits the headers of the call: add one, or on_no_match`;
}
