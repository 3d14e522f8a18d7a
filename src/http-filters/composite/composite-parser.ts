import type { TypedExtensionConfig as EnvoyExtensionConfig } from '../../generated/envoy/config/core/v3/extension';
import type { RuntimeFractionalPercent } from '../../generated/envoy/config/core/v3/base';
import {
  ExtensionWithMatcher,
  ExtensionWithMatcherPerRoute,
} from '../../generated/envoy/extensions/common/matching/v3/extension_matcher';
import { SkipFilter } from '../../generated/envoy/extensions/filters/common/matcher/action/v3/skip_action';
import {
  Composite,
  ExecuteFilterAction,
} from '../../generated/envoy/extensions/filters/http/composite/v3/composite';
import type { TypedExtensionConfig } from '../../generated/xds/core/v3/extension';
import type { Matcher as MatcherMessage } from '../../generated/xds/type/matcher/v3/matcher';
import { decodeMessage, typeNameOf, unpackAny, type AnyType } from '../../resources/shared/any';
import { readExtension, type ExtensionConfig } from '../../resources/shared/extension-parser';
import { MILLION, parseFraction } from '../../resources/shared/fraction-parser';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../filter-message';
import type { HttpFilterRegistry } from '../registry';
import { CompositeConfig, type CompositeAction, type NestedFilter } from './composite-config';
import type { Matcher } from './matcher';
import { parseMatcher } from './matcher-parser';

/** How many filters may be inside one another, the outermost and the innermost included (gRFC A103). */
const MAX_DEPTH = 8;
const SKIP_FILTER = 'envoy.extensions.filters.common.matcher.action.v3.SkipFilter';
const EXECUTE_FILTER_ACTION = 'envoy.extensions.filters.http.composite.v3.ExecuteFilterAction';
const composite: AnyType<Composite> = {
  typeName: 'envoy.extensions.filters.http.composite.v3.Composite',
  decoder: Composite,
};

/** Where nested filters come from, and how deep this one is nested itself. */
export interface CompositeParserContext {
  readonly filters: Pick<HttpFilterRegistry, 'isTerminal' | 'parseConfig'>;
  readonly depth: number;
}

/** Validates the config of a listener. @returns `undefined` after adding a violation (gRFC A103). */
export function parseCompositeConfig(
  config: ExtensionConfig,
  context: CompositeParserContext,
  violations: Violations,
): CompositeConfig | undefined {
  const message = decodeFilterMessage(config, ExtensionWithMatcher, violations);
  if (message === undefined) return undefined;
  const extensionAt = violations.at('extension_config').at('typed_config');
  const extension = unpackAny(message.extensionConfig?.typedConfig, composite, extensionAt);
  const parsed = createConfig(config.typeName, message.xdsMatcher, context, violations);
  return extension && parsed;
}

/** Validates the override of a route. @returns `undefined` after adding a violation (gRFC A103). */
export function parseCompositeOverride(
  config: ExtensionConfig,
  context: CompositeParserContext,
  violations: Violations,
): CompositeConfig | undefined {
  const message = decodeFilterMessage(config, ExtensionWithMatcherPerRoute, violations);
  return message && createConfig(config.typeName, message.xdsMatcher, context, violations);
}

function createConfig(
  configType: string,
  message: MatcherMessage | undefined,
  context: CompositeParserContext,
  violations: Violations,
): CompositeConfig | undefined {
  if (message === undefined) return new CompositeConfig(configType, undefined);
  const parse = (action: TypedExtensionConfig, at: Violations) => parseAction(action, context, at);
  const matcher: Matcher<CompositeAction> | undefined = parseMatcher(
    message,
    parse,
    violations.at('xds_matcher'),
  );
  return matcher && new CompositeConfig(configType, matcher);
}

function parseAction(
  { typedConfig }: TypedExtensionConfig,
  context: CompositeParserContext,
  violations: Violations,
): CompositeAction | undefined {
  const at = violations.at('typed_config');
  if (typedConfig === undefined) {
    at.add('field not present');
    return undefined;
  }
  const typeName = typeNameOf(typedConfig.typeUrl);
  switch (typeName) {
    case SKIP_FILTER:
      return decodeMessage(SkipFilter, typedConfig.value, at) && { kind: 'skip' };
    case EXECUTE_FILTER_ACTION: {
      const message = decodeMessage(ExecuteFilterAction, typedConfig.value, at);
      return message && parseExecuteAction(message, context, at);
    }
    default:
      at.add(`must be ${EXECUTE_FILTER_ACTION} or ${SKIP_FILTER}, not ${typeName}`);
      return undefined;
  }
}

/** A filter config that is to be fetched is not looked at. */
function parseExecuteAction(
  { typedConfig, filterChain, samplePercent }: ExecuteFilterAction,
  context: CompositeParserContext,
  violations: Violations,
): CompositeAction {
  const filters: NestedFilter[] = [];
  const add = (extension: EnvoyExtensionConfig, at: Violations) => {
    const filter = parseNested(extension, context, at.at('typed_config'));
    if (filter !== undefined) filters.push(filter);
  };
  if (filterChain !== undefined) {
    const at = violations.at('filter_chain').at('typed_config');
    for (const [i, extension] of filterChain.typedConfig.entries()) add(extension, at.index(i));
  } else if (typedConfig !== undefined) add(typedConfig, violations.at('typed_config'));
  else violations.add('must have typed_config or filter_chain');
  const perMillion = parseSample(samplePercent, violations.at('sample_percent'));
  return { kind: 'execute', filters, perMillion };
}

function parseNested(
  { name, typedConfig }: EnvoyExtensionConfig,
  { filters, depth }: CompositeParserContext,
  violations: Violations,
): NestedFilter | undefined {
  if (depth + 1 >= MAX_DEPTH) {
    violations.add(`more than ${MAX_DEPTH} filters inside one another`);
    return undefined;
  }
  const extension = readExtension(typedConfig, violations);
  if (typedConfig === undefined || extension === undefined) return undefined;
  if (filters.isTerminal(extension.typeName)) {
    violations.add(`terminal filter ${extension.typeName} must not be nested`);
    return undefined;
  }
  const config = filters.parseConfig(typedConfig, violations, depth + 1);
  return config && { name, config };
}

/** Without a share the filters run for every call that matches. */
function parseSample(sample: RuntimeFractionalPercent | undefined, violations: Violations): number {
  if (sample === undefined) return MILLION;
  const at = violations.at('default_value');
  if (sample.defaultValue !== undefined) return parseFraction(sample.defaultValue, at) ?? 0;
  at.add('field not present');
  return 0;
}
