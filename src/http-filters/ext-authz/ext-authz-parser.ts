import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { HttpFilterConfig, RegexCompiler } from '../../resources/extension-points';
import { MILLION, parseRuntimeFraction } from '../../resources/matching/fraction-parser';
import type { StringMatcher } from '../../resources/matching/string-matcher';
import { parseRegex, parseStringMatcher } from '../../resources/matching/string-matcher-parser';
import type { ExtensionConfig } from '../../resources/shared/extension-parser';
import { statusOfHttp } from '../../util/status-code';
import type { Violations } from '../../util/violations';
import type { HeaderMutationRules as RulesMessage } from '../../wire/generated/envoy/config/common/mutation_rules/v3/mutation_rules';
import type { RuntimeFeatureFlag } from '../../wire/generated/envoy/config/core/v3/base';
import {
  ExtAuthz,
  ExtAuthzPerRoute,
} from '../../wire/generated/envoy/extensions/filters/http/ext_authz/v3/ext_authz';
import type { ListStringMatcher } from '../../wire/generated/envoy/type/matcher/v3/string';
import { parseGrpcService, type GrpcService } from '../grpc-service/grpc-service-parser';
import { NO_RULES, type HeaderMutationRules } from '../header-mutation/apply-mutations';
import { decodeFilterMessage } from '../http-filter';

/** The full name of the message that configures the filter. */
export const EXT_AUTHZ = 'envoy.extensions.filters.http.ext_authz.v3.ExtAuthz';
/** The full name of the message that overrides it. */
export const EXT_AUTHZ_PER_ROUTE = `${EXT_AUTHZ}PerRoute`;

const FORBIDDEN = 403;

/** What an ExtAuthz says (gRFC A92). */
export interface ExtAuthzSettings {
  readonly service: GrpcService;
  /** Share of the calls for which the service is asked, 0 to 1,000,000. */
  readonly perMillion: number;
  /** Whether the other calls are refused. */
  readonly denyAtDisable: boolean;
  /** Whether calls are allowed for which the service cannot be asked. */
  readonly failureModeAllow: boolean;
  /** Whether a header says so to the backend. */
  readonly failureModeAllowHeaderAdd: boolean;
  /** The gRPC status of calls that are refused without an answer of the service. */
  readonly codeOnError: number;
  /** The headers that the service is told of; empty for all. */
  readonly allowedHeaders: readonly StringMatcher[];
  /** Wins over `allowedHeaders`. */
  readonly disallowedHeaders: readonly StringMatcher[];
  /** Whether the service gets the certificates of the clients of a server. */
  readonly includePeerCertificate: boolean;
  /** Which headers the service may change. */
  readonly rules: HeaderMutationRules;
}

/** A validated ExtAuthz (gRFC A92). */
export class ExtAuthzConfig implements HttpFilterConfig {
  readonly configType = EXT_AUTHZ;

  constructor(readonly settings: ExtAuthzSettings) {}
}

/** A validated ExtAuthzPerRoute: only the wrapper around it has an effect, which can disable the filter (gRFC A92). */
class ExtAuthzOverride implements HttpFilterConfig {
  readonly configType = EXT_AUTHZ_PER_ROUTE;
}

/** Validates the override of a route. @returns `undefined` after adding a violation. */
export function parseExtAuthzOverride(
  config: ExtensionConfig,
  violations: Violations,
): ExtAuthzOverride | undefined {
  return decodeFilterMessage(config, ExtAuthzPerRoute, violations) && new ExtAuthzOverride();
}

/** Validates the config of a listener. @returns `undefined` after adding a violation (gRFC A92). */
export function parseExtAuthzConfig(
  config: ExtensionConfig,
  regexes: RegexCompiler,
  server: ServerConfig | undefined,
  violations: Violations,
): ExtAuthzConfig | undefined {
  const message = decodeFilterMessage(config, ExtAuthz, violations);
  if (message === undefined) return undefined;
  const serviceAt = violations.at('grpc_service');
  const service =
    message.services === undefined
      ? serviceAt.add('field not present')
      : parseGrpcService(message.services.value, server, serviceAt);
  const headers = (list: ListStringMatcher | undefined, at: Violations) =>
    (list?.patterns ?? []).flatMap(
      (pattern, i) => parseStringMatcher(pattern, regexes, at.at('patterns').index(i)) ?? [],
    );
  const rules = parseRules(
    message.decoderHeaderMutationRules,
    regexes,
    violations.at('decoder_header_mutation_rules'),
  );
  const settings = {
    perMillion:
      parseRuntimeFraction(message.filterEnabled, violations.at('filter_enabled')) ?? MILLION,
    denyAtDisable: parseSwitch(message.denyAtDisable, violations.at('deny_at_disable')),
    includePeerCertificate: message.includePeerCertificate,
    failureModeAllow: message.failureModeAllow,
    failureModeAllowHeaderAdd: message.failureModeAllowHeaderAdd,
    codeOnError: statusOfHttp(message.statusOnError?.code || FORBIDDEN),
    allowedHeaders: headers(message.allowedHeaders, violations.at('allowed_headers')),
    disallowedHeaders: headers(message.disallowedHeaders, violations.at('disallowed_headers')),
    rules,
  };
  return service && new ExtAuthzConfig({ ...settings, service });
}

function parseSwitch(flag: RuntimeFeatureFlag | undefined, violations: Violations): boolean {
  if (flag === undefined) return false;
  return flag.defaultValue ?? violations.at('default_value').add('field not present') ?? false;
}

function parseRules(
  message: RulesMessage | undefined,
  regexes: RegexCompiler,
  violations: Violations,
): HeaderMutationRules {
  if (message === undefined) return NO_RULES;
  const { allowExpression, disallowExpression, disallowAll, disallowIsError } = message;
  return {
    allow:
      allowExpression && parseRegex(allowExpression, regexes, violations.at('allow_expression')),
    disallow:
      disallowExpression &&
      parseRegex(disallowExpression, regexes, violations.at('disallow_expression')),
    disallowAll: disallowAll ?? false,
    disallowIsError: disallowIsError ?? false,
  };
}
