import type {
  HttpFilterConfig,
  RegexCompiler,
  RegexCompilers,
} from '../../resources/extension-points';
import { parseStringMatcher } from '../../resources/matching/string-matcher-parser';
import type { HeaderMutation, HeaderMutations } from '../../resources/shared/header-mutation';
import {
  checkHeaderName,
  checkLength,
  parseConfiguredHeader,
} from '../../resources/shared/header-mutation-parser';
import { assertNever } from '../../util/errors';
import type { Violations } from '../../util/violations';
import type { HeaderMutation as MutationMessage } from '../../wire/generated/envoy/config/common/mutation_rules/v3/mutation_rules';
import {
  HeaderMutation as ConfigMessage,
  HeaderMutationPerRoute,
  type Mutations,
} from '../../wire/generated/envoy/extensions/filters/http/header_mutation/v3/header_mutation';
import type { CallFilterFactory, ClientFilter } from '../client-filter';
import { asConfig, decodeFilterMessage } from '../http-filter';
import { applyMutations } from './apply-mutations';

const TYPE = 'envoy.extensions.filters.http.header_mutation.v3.HeaderMutation';
const PER_ROUTE_TYPE = `${TYPE}PerRoute`;

/** A validated HeaderMutation or HeaderMutationPerRoute. */
class HeaderMutationConfig implements HttpFilterConfig {
  /** @param mostSpecificWins Whether the most specific override is applied last. */
  constructor(
    readonly configType: string,
    readonly mutations: HeaderMutations,
    readonly mostSpecificWins: boolean,
  ) {}
}

/** Creates the filter that changes the headers of calls as the control plane configures; only Envoy has it besides. */
export function createHeaderMutationFilter(
  regexes: RegexCompilers,
): ClientFilter & Required<Pick<ClientFilter, 'combineOverrides'>> {
  return {
    configTypes: [TYPE],
    overrideTypes: [PER_ROUTE_TYPE],
    isTerminal: false,
    parseConfig(config, violations) {
      const message = decodeFilterMessage(config, ConfigMessage, violations);
      if (message === undefined) return undefined;
      const mutations = parseMutations(message.mutations, regexes.forResource(), violations);
      return new HeaderMutationConfig(TYPE, mutations, message.mostSpecificHeaderMutationsWins);
    },
    parseOverride(config, violations) {
      const message = decodeFilterMessage(config, HeaderMutationPerRoute, violations);
      if (message === undefined) return undefined;
      const mutations = parseMutations(message.mutations, regexes.forResource(), violations);
      return new HeaderMutationConfig(PER_ROUTE_TYPE, mutations, false);
    },
    combineOverrides(config, overrides) {
      const all = overrides.map((each) => asConfig(HeaderMutationConfig, each).mutations);
      if (asConfig(HeaderMutationConfig, config).mostSpecificWins) all.reverse();
      return new HeaderMutationConfig(PER_ROUTE_TYPE, combine(all), false);
    },
    prepare(config, override) {
      const { mutations } = asConfig(HeaderMutationConfig, config);
      if (override === undefined) return createFactory(mutations);
      return createFactory(
        combine([mutations, asConfig(HeaderMutationConfig, override).mutations]),
      );
    },
  };
}

/** Prepares the changes of headers of a route and of what is around it, the most specific first, as a filter after all others. */
export function prepareRouteHeaders(
  places: readonly HeaderMutations[],
): CallFilterFactory | undefined {
  return createFactory(combine(places));
}

function combine(all: readonly HeaderMutations[]): HeaderMutations {
  return {
    request: all.flatMap(({ request }) => request),
    response: all.flatMap(({ response }) => response),
  };
}

function createFactory(mutations: HeaderMutations): CallFilterFactory | undefined {
  const { request, response } = mutations;
  if (request.length + response.length === 0) return undefined;
  return {
    create: (call) => ({
      ...(request.length > 0 && {
        onRequestHeaders(headers) {
          applyMutations(headers, request, call);
          return headers;
        },
      }),
      ...(response.length > 0 && {
        onResponseHeaders(headers) {
          applyMutations(headers, response, call);
          return headers;
        },
      }),
    }),
    describe: () => mutations,
  };
}

function parseMutations(
  message: Mutations | undefined,
  regexes: RegexCompiler,
  violations: Violations,
): HeaderMutations {
  const { requestMutations = [], responseMutations = [] } = message ?? {};
  const parse = (mutations: readonly MutationMessage[], at: Violations) =>
    checkLength(mutations.length, at)
      ? mutations.flatMap((mutation, i) => parseMutation(mutation, regexes, at.index(i)) ?? [])
      : [];
  const at = violations.at('mutations');
  return {
    request: parse(requestMutations, at.at('request_mutations')),
    response: parse(responseMutations, at.at('response_mutations')),
  };
}

/** @returns `undefined` after adding a violation, and for a mutation that is left out. */
function parseMutation(
  { action }: MutationMessage,
  regexes: RegexCompiler,
  violations: Violations,
): HeaderMutation | undefined {
  switch (action?.$case) {
    case 'remove': {
      const name = action.value.toLowerCase();
      return checkHeaderName(name, violations.at('remove')) ? { kind: 'remove', name } : undefined;
    }
    case 'append':
      return parseConfiguredHeader(action.value, violations.at('append'));
    case 'removeOnMatch': {
      const at = violations.at('remove_on_match').at('key_matcher');
      const { keyMatcher } = action.value;
      if (keyMatcher === undefined) return at.add('field not present');
      const names = parseStringMatcher(keyMatcher, regexes, at);
      return names && { kind: 'remove-matching', names };
    }
    case undefined:
      return violations.add('must have remove, append or remove_on_match');
    default:
      return assertNever(action);
  }
}
