import {
  RBAC_Action as Action,
  type Permission,
  type Policy as PolicyMessage,
  type Principal,
  type RBAC as RulesMessage,
  RBAC_AuditLoggingOptions_AuditCondition as AuditCondition,
  type RBAC_AuditLoggingOptions as OptionsMessage,
  type RBAC_AuditLoggingOptions_AuditLoggerConfig as LoggerMessage,
} from '../../wire/generated/envoy/config/rbac/v3/rbac';
import type { CidrRange as CidrRangeMessage } from '../../wire/generated/envoy/config/core/v3/address';
import type { HeaderMatcher as HeaderMatcherMessage } from '../../wire/generated/envoy/config/route/v3/route_components';
import {
  RBAC,
  RBACPerRoute,
} from '../../wire/generated/envoy/extensions/filters/http/rbac/v3/rbac';
import type { PathMatcher } from '../../wire/generated/envoy/type/matcher/v3/path';
import type { StringMatcher as StringMatcherMessage } from '../../wire/generated/envoy/type/matcher/v3/string';
import type { Int32Range } from '../../wire/generated/envoy/type/v3/range';
import type { RegexCompiler } from '../../resources/extension-points';
import { matchesString } from '../../resources/matching/string-matcher';
import { parseStringMatcher } from '../../resources/matching/string-matcher-parser';
import { parseHeaderMatcher } from '../../resources/route-config/route-match-parser';
import { parseCidrRange } from '../../resources/shared/address-parser';
import { enumName } from '../../util/enum-name';
import { decodeMessage } from '../../resources/shared/any';
import { type ExtensionConfig, readExtension } from '../../resources/shared/extension-parser';
import { MAX_PORT } from '../../resources/shared/socket-address-parser';
import { assertNever } from '../../util/errors';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import { decodeFilterMessage } from '../http-filter';
import {
  AUDIT_CONDITIONS,
  type AuditLoggerRegistry,
  noAudit,
  type AuditRules,
  type ConfiguredAuditLogger,
  STDOUT_LOGGER,
} from '../../authorization/audit-logger';
import {
  RbacConfig,
  sortPolicies,
  type AuthorizationRules,
  type Condition,
  type ConnectionSide,
  type Policy,
} from '../../authorization/rules';
import { StdoutAuditLog } from '../../wire/generated/envoy/extensions/rbac/audit_loggers/stream/v3/stream';

/** The full name of the message that configures the filter. */
export const RBAC_FILTER = 'envoy.extensions.filters.http.rbac.v3.RBAC';

/** The full name of the message that overrides it. */
export const RBAC_PER_ROUTE = 'envoy.extensions.filters.http.rbac.v3.RBACPerRoute';

/** What the parsers of one resource need. */
export interface RbacParserContext {
  /** Counts the regular expressions of the config. */
  readonly regexes: RegexCompiler;
  readonly auditLoggers: AuditLoggerRegistry;
}

/** Validates the config of the filter (gRFC A41). @returns `undefined` after adding a violation. */
export function parseRbacConfig(
  config: ExtensionConfig,
  context: RbacParserContext,
  violations: Violations,
): RbacConfig | undefined {
  const message = decodeFilterMessage(config, RBAC, violations);
  return message && parseFilter(config.typeName, message, context, violations);
}

/** Validates the override of a route (gRFC A41). @returns `undefined` after adding a violation. */
export function parseRbacOverride(
  config: ExtensionConfig,
  context: RbacParserContext,
  violations: Violations,
): RbacConfig | undefined {
  const message = decodeFilterMessage(config, RBACPerRoute, violations);
  if (message === undefined) return undefined;
  const { rbac } = message;
  if (rbac === undefined) return new RbacConfig(config.typeName, undefined);
  return parseFilter(config.typeName, rbac, context, violations.at('rbac'));
}

/** Ignores `shadow_rules` and `shadow_matcher`, which deny nothing. */
function parseFilter(
  configType: string,
  { rules: message, matcher }: RBAC,
  context: RbacParserContext,
  violations: Violations,
): RbacConfig | undefined {
  const before = violations.count;
  // Envoy then ignores the rules: to enforce them instead, or nothing, is not what was meant.
  if (matcher !== undefined) violations.at('matcher').add('unsupported: use rules');
  const rules = message && parseRules(message, context, violations.at('rules'));
  return violations.count === before ? new RbacConfig(configType, rules) : undefined;
}

/** @returns `undefined` if nothing is enforced, and after adding a violation. */
function parseRules(
  message: RulesMessage,
  context: RbacParserContext,
  violations: Violations,
): AuthorizationRules | undefined {
  const { action, policies, auditLoggingOptions } = message;
  // As if the filter were not configured (gRFC A41), with whatever is in it.
  if (action === Action.LOG) return undefined;
  if (action !== Action.ALLOW && action !== Action.DENY) {
    return violations
      .at('action')
      .add(`must be ALLOW, DENY or LOG, but is ${enumName(Action, action)}`);
  }
  const parsed: Policy[] = [];
  for (const [name, policy] of policies) {
    const at = violations.at('policies').key(name);
    const value = parsePolicy(name, policy, context.regexes, at);
    if (value !== undefined) parsed.push(value);
  }
  const auditAt = violations.at('audit_logging_options');
  const audit = parseAuditRules(auditLoggingOptions, context.auditLoggers, auditAt);
  return {
    action: action === Action.ALLOW ? 'allow' : 'deny',
    policies: sortPolicies(parsed),
    audit,
  };
}

function parsePolicy(
  name: string,
  { permissions, principals, condition, checkedCondition }: PolicyMessage,
  regexes: RegexCompiler,
  violations: Violations,
): Policy | undefined {
  const expressions = { condition, checked_condition: checkedCondition };
  for (const [field, value] of Object.entries(expressions)) {
    if (value !== undefined) violations.at(field).add('unsupported: gRPC does not evaluate CEL');
  }
  const parser = new ConditionParser(regexes);
  const permission = parser.all('or', permissions, parser.permission, violations.at('permissions'));
  const principal = parser.all('or', principals, parser.principal, violations.at('principals'));
  return permission && principal && { name, permissions: permission, principals: principal };
}

/** Parses one element. @returns `undefined` after adding a violation. */
type ParseElement<T> = (message: T, violations: Violations) => Condition | undefined;

const PERMISSIONS =
  'and_rules, or_rules, any, header, url_path, destination_ip, destination_port, destination_port_range, metadata, ' +
  'not_rule or requested_server_name';
const PRINCIPALS =
  'and_ids, or_ids, any, authenticated, source_ip, direct_remote_ip, remote_ip, header, url_path, metadata or not_id';

/** A request in gRPC has no such metadata: no value matches, and the negation always does. */
const ofMetadata = (invert: boolean): Condition => ({ kind: 'constant', value: invert });

/**
 * Parses permissions and principals. What is not supported is a violation at every depth: as "no match" it would allow requests
 * below `not_rule`, and in policies that deny (GHSA-hrxh-6v49-42gf).
 */
class ConditionParser {
  constructor(private readonly regexes: RegexCompiler) {}

  readonly permission: ParseElement<Permission> = ({ rule }, violations) => {
    switch (rule?.$case) {
      case 'andRules':
        return this.all('and', rule.value.rules, this.permission, violations.at('and_rules.rules'));
      case 'orRules':
        return this.all('or', rule.value.rules, this.permission, violations.at('or_rules.rules'));
      case 'notRule':
        return negate(this.permission(rule.value, violations.at('not_rule')));
      case 'any':
        return parseAny(rule.value, violations.at('any'));
      case 'header':
        return this.header(rule.value, violations.at('header'));
      case 'urlPath':
        return this.path(rule.value, violations.at('url_path'));
      case 'destinationIp':
        return parseAddress('local', rule.value, violations.at('destination_ip'));
      case 'destinationPort':
        return parsePort(rule.value, violations.at('destination_port'));
      case 'destinationPortRange':
        return parsePortRange(rule.value, violations.at('destination_port_range'));
      case 'metadata':
        return ofMetadata(rule.value.invert);
      case 'requestedServerName':
        return this.serverName(rule.value, violations.at('requested_server_name'));
      case 'matcher':
        return unsupported('matcher', PERMISSIONS, violations);
      case 'uriTemplate':
        return unsupported('uri_template', PERMISSIONS, violations);
      case 'sourcedMetadata':
        return unsupported('sourced_metadata', PERMISSIONS, violations);
      case undefined:
        return violations.add(`must have ${PERMISSIONS}`);
      default:
        return assertNever(rule);
    }
  };

  readonly principal: ParseElement<Principal> = ({ identifier: id }, violations) => {
    switch (id?.$case) {
      case 'andIds':
        return this.all('and', id.value.ids, this.principal, violations.at('and_ids.ids'));
      case 'orIds':
        return this.all('or', id.value.ids, this.principal, violations.at('or_ids.ids'));
      case 'notId':
        return negate(this.principal(id.value, violations.at('not_id')));
      case 'any':
        return parseAny(id.value, violations.at('any'));
      case 'authenticated':
        return this.authenticated(id.value.principalName, violations.at('authenticated'));
      case 'sourceIp':
        return parseAddress('remote', id.value, violations.at('source_ip'));
      case 'directRemoteIp':
        return parseAddress('remote', id.value, violations.at('direct_remote_ip'));
      case 'remoteIp':
        return parseAddress('remote', id.value, violations.at('remote_ip'));
      case 'header':
        return this.header(id.value, violations.at('header'));
      case 'urlPath':
        return this.path(id.value, violations.at('url_path'));
      case 'metadata':
        return ofMetadata(id.value.invert);
      case 'filterState':
        return unsupported('filter_state', PRINCIPALS, violations);
      case 'sourcedMetadata':
        return unsupported('sourced_metadata', PRINCIPALS, violations);
      case 'custom':
        return unsupported('custom', PRINCIPALS, violations);
      case undefined:
        return violations.add(`must have ${PRINCIPALS}`);
      default:
        return assertNever(id);
    }
  };

  /** Parses a list, which must not be empty: what it means then differs between implementations. */
  all<T>(
    kind: 'and' | 'or',
    messages: readonly T[],
    parse: ParseElement<T>,
    violations: Violations,
  ): Condition | undefined {
    if (messages.length === 0) return violations.add('must not be empty');
    const of: Condition[] = [];
    for (const [i, message] of messages.entries()) {
      const condition = parse(message, violations.index(i));
      if (condition !== undefined) of.push(condition);
    }
    if (of.length < messages.length) return undefined;
    const [only] = of;
    return of.length === 1 && only !== undefined ? only : { kind, of };
  }

  private header(message: HeaderMatcherMessage, violations: Violations): Condition | undefined {
    const matcher = parseHeaderMatcher(message, this.regexes, violations);
    if (matcher === undefined) return undefined;
    const { name } = matcher;
    if (name === ':scheme' || name.startsWith('grpc-')) {
      return violations.at('name').add(`${quoteText(name)} cannot be matched`);
    }
    // Both are the same to Envoy.
    if (name === 'host') return { kind: 'header', matcher: { ...matcher, name: ':authority' } };
    return { kind: 'header', matcher };
  }

  private path({ rule }: PathMatcher, violations: Violations): Condition | undefined {
    if (rule === undefined) return violations.at('path').add('field not present');
    const matcher = parseStringMatcher(rule.value, this.regexes, violations.at('path'));
    return matcher && { kind: 'path', matcher };
  }

  /** The name is empty in gRPC (gRFC A41). */
  private serverName(message: StringMatcherMessage, violations: Violations): Condition | undefined {
    const matcher = parseStringMatcher(message, this.regexes, violations);
    return matcher && { kind: 'constant', value: matchesString(matcher, '') };
  }

  private authenticated(
    message: StringMatcherMessage | undefined,
    violations: Violations,
  ): Condition | undefined {
    if (message === undefined) return { kind: 'authenticated', name: undefined };
    const name = parseStringMatcher(message, this.regexes, violations.at('principal_name'));
    return name && { kind: 'authenticated', name };
  }
}

function unsupported(field: string, supported: string, violations: Violations): undefined {
  return violations.at(field).add(`unsupported: use ${supported}`);
}

function negate(of: Condition | undefined): Condition | undefined {
  return of && { kind: 'not', of };
}

function parseAny(value: boolean, violations: Violations): Condition | undefined {
  return value ? { kind: 'constant', value } : violations.add('must be true');
}

function parseAddress(
  side: ConnectionSide,
  message: CidrRangeMessage,
  violations: Violations,
): Condition | undefined {
  const range = parseCidrRange(message, violations);
  return range && { kind: 'address', side, range };
}

function parsePort(port: number, violations: Violations): Condition | undefined {
  if (port <= MAX_PORT) return { kind: 'port', start: port, end: port + 1 };
  return violations.add(`must not exceed ${MAX_PORT}, but is ${port}`);
}

function parsePortRange({ start, end }: Int32Range, violations: Violations): Condition | undefined {
  if (start >= 0 && start < end && end <= MAX_PORT + 1) return { kind: 'port', start, end };
  return violations.add(
    `must be a range within 0 to ${MAX_PORT + 1} with an end above its start, not from ${start} to ${end}`,
  );
}

const STDOUT_AUDIT_LOG = 'envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog';

/** Parses which decisions are audited (gRFC A59). What has a violation is left out. */
function parseAuditRules(
  options: OptionsMessage | undefined,
  registry: AuditLoggerRegistry,
  violations: Violations,
): AuditRules {
  if (options === undefined) return noAudit;
  const { auditCondition, loggerConfigs } = options;
  const found = enumName(AuditCondition, auditCondition);
  const selected = AUDIT_CONDITIONS.get(found);
  if (selected === undefined) {
    violations
      .at('audit_condition')
      .add(`must be NONE, ON_DENY, ON_ALLOW or ON_DENY_AND_ALLOW, but is ${found}`);
  }
  const loggers: ConfiguredAuditLogger[] = [];
  for (const [i, config] of loggerConfigs.entries()) {
    const logger = parseLogger(config, registry, violations.at('logger_configs').index(i));
    if (logger !== undefined) loggers.push(logger);
  }
  return { ...noAudit, ...selected, loggers };
}

/** @returns `undefined` for an optional one of an unknown type, and after adding a violation. */
function parseLogger(
  { auditLogger, isOptional }: LoggerMessage,
  registry: AuditLoggerRegistry,
  violations: Violations,
): ConfiguredAuditLogger | undefined {
  const at = violations.at('audit_logger').at('typed_config');
  const extension = readExtension(auditLogger?.typedConfig, at);
  if (extension === undefined) return undefined;
  const { kind, typeName } = extension;
  if (kind === 'message' && typeName === STDOUT_AUDIT_LOG) {
    if (decodeMessage(StdoutAuditLog, extension.bytes, at) === undefined) return undefined;
    const parse = registry.find(STDOUT_LOGGER);
    if (parse !== undefined) return parse({}, at);
  }
  if (kind === 'json') {
    const parse = registry.find(typeName);
    if (parse !== undefined) return parse(extension.json, at);
  }
  return isOptional ? undefined : at.add(`unsupported audit logger ${typeName}`);
}
