import type { CompiledRegex } from '../resources/extension-points';
import type { StringMatcher } from '../resources/matching/string-matcher';
import {
  isObject,
  readBoolean,
  readList,
  readObject,
  readRequiredString,
  readString,
} from '../util/json-fields';
import type { JsonFields } from '../util/json-fields';
import { quoteText } from '../util/text';
import type { Violations } from '../util/violations';
import {
  AUDIT_CONDITIONS,
  noAudit,
  type AuditLoggerRegistry,
  type AuditRules,
  type ConfiguredAuditLogger,
} from './audit-logger';
import { CONNECTION_HEADERS } from './request';
import { sortPolicies, type AuthorizationRules, type Condition, type Policy } from './rules';

/** A rule of an authorization policy: it matches the requests of these clients to these methods with these headers. */
export interface AuthorizationRule {
  /** Unique among the rules of its list. */
  readonly name: string;
  /** Default: every client, even without TLS. */
  readonly source?: {
    /**
     * SPIFFE ids or other URIs of the client's certificate; its DNS names if it has none, its subject if it has neither. `*` at the
     * beginning or the end stands for any text, `*` alone for any client with a certificate that names it.
     */
    readonly principals?: readonly string[];
  };
  /** Default: every request. */
  readonly request?: {
    /** Such as `/pkg.Service/Method` or `/pkg.Service/*`. */
    readonly paths?: readonly string[];
    /** All must match: one value of each. */
    readonly headers?: readonly { readonly key: string; readonly values: readonly string[] }[];
  };
}

/** The decisions to audit, and their loggers (gRFC A59). */
export interface AuditLoggingOptions {
  /** Default: `NONE`. */
  readonly audit_condition?: 'NONE' | 'ON_DENY' | 'ON_ALLOW' | 'ON_DENY_AND_ALLOW';
  readonly audit_loggers?: readonly {
    /** Such as `stdout_logger`. */
    readonly name: string;
    /** Default: `{}`. */
    readonly config?: object;
    /** Whether a logger that is not registered is left out. Default: the policy is rejected. */
    readonly is_optional?: boolean;
  }[];
}

/** A policy in gRPC's authorization language (gRFC A43): a request is denied if a deny rule or no allow rule matches it. */
export interface AuthorizationPolicy {
  readonly name: string;
  readonly deny_rules?: readonly AuthorizationRule[];
  /** At least one. */
  readonly allow_rules: readonly AuthorizationRule[];
  readonly audit_logging_options?: AuditLoggingOptions;
}

/** A validated {@link AuthorizationPolicy}. */
export interface ParsedPolicy {
  readonly name: string;
  /** Each must allow a request, in this order. */
  readonly chain: readonly AuthorizationRules[];
}

/**
 * Parses an authorization policy (gRFC A43) of a file or of the application. Unknown fields are violations: a misspelt `deny_rules`
 * would allow what it denies.
 *
 * @returns `undefined` after adding a violation.
 */
export function parseAuthorizationPolicy(
  json: unknown,
  auditLoggers: AuditLoggerRegistry,
  violations: Violations,
): ParsedPolicy | undefined {
  const before = violations.count;
  const fields = readFields(
    json,
    ['name', 'deny_rules', 'allow_rules', 'audit_logging_options'],
    violations,
  );
  if (fields === undefined) return undefined;
  const name = readRequiredString(fields, 'name', violations) ?? '';
  const deny = readRules(fields, 'deny_rules', name, violations);
  const allow = readRules(fields, 'allow_rules', name, violations);
  const audit = readAudit(fields, auditLoggers, violations);
  if (allow.length === 0 && violations.count === before) {
    violations.at('allow_rules').add('must not be empty');
  }
  if (violations.count > before) return undefined;
  const allowing: AuthorizationRules = { action: 'allow', policies: allow, audit };
  if (deny.length === 0) return { name, chain: [allowing] };
  // What the deny rules let pass is not allowed yet: that decision is audited with the allow rules (gRFC A59).
  const denyAudit = { ...audit, onAllow: false };
  return { name, chain: [{ action: 'deny', policies: deny, audit: denyAudit }, allowing] };
}

/** Reads an object that has no other fields. */
function readFields(
  json: unknown,
  names: readonly string[],
  violations: Violations,
): JsonFields | undefined {
  const fields = readObject(json, violations);
  for (const name of fields?.keys() ?? []) {
    if (names.includes(name)) continue;
    violations.add(`unknown field ${quoteText(name)}; expected ${names.join(', ')}`);
  }
  return fields;
}

function readRules(
  fields: JsonFields,
  field: string,
  policyName: string,
  violations: Violations,
): readonly Policy[] {
  const names = new Set<string>();
  const policies: Policy[] = [];
  for (const [i, json] of readList(fields, field, violations).entries()) {
    const at = violations.at(field).index(i);
    const rule = readFields(json, ['name', 'source', 'request'], at);
    const name = rule && readRequiredString(rule, 'name', at);
    if (rule === undefined || name === undefined) continue;
    // Other implementations use the last of them.
    if (names.has(name)) at.at('name').add(`duplicate name ${quoteText(name)}`);
    names.add(name);
    policies.push({
      name: `${policyName}_${name}`,
      permissions: readRequest(rule.get('request'), at.at('request')),
      principals: readSource(rule.get('source'), at.at('source')),
    });
  }
  return sortPolicies(policies);
}

const ANYTHING: Condition = { kind: 'constant', value: true };

function anyOf(of: readonly Condition[]): Condition {
  return of.length === 0 ? ANYTHING : { kind: 'or', of };
}

function readSource(json: unknown, violations: Violations): Condition {
  const fields = json === undefined ? undefined : readFields(json, ['principals'], violations);
  if (fields === undefined) return ANYTHING;
  const names = readPatterns(fields, 'principals', violations);
  return anyOf(names.map((name): Condition => ({ kind: 'authenticated', name })));
}

function readRequest(json: unknown, violations: Violations): Condition {
  const fields =
    json === undefined ? undefined : readFields(json, ['paths', 'headers'], violations);
  if (fields === undefined) return ANYTHING;
  const paths = readPatterns(fields, 'paths', violations);
  const conditions = [anyOf(paths.map((matcher): Condition => ({ kind: 'path', matcher })))];
  for (const [i, header] of readList(fields, 'headers', violations).entries()) {
    const condition = readHeader(header, violations.at('headers').index(i));
    if (condition !== undefined) conditions.push(condition);
  }
  return { kind: 'and', of: conditions };
}

/** Headers of the connection and of the protocol, which are not those of an application (gRFC A43). */
const UNSUPPORTED: ReadonlySet<string> = new Set(['host', ...CONNECTION_HEADERS]);

function readHeader(json: unknown, violations: Violations): Condition | undefined {
  const fields = readFields(json, ['key', 'values'], violations);
  const key = fields && readRequiredString(fields, 'key', violations);
  if (fields === undefined || key === undefined) return undefined;
  const name = key.toLowerCase();
  if (name.startsWith(':') || name.startsWith('grpc-') || UNSUPPORTED.has(name)) {
    return violations.at('key').add(`${quoteText(key)} cannot be matched`);
  }
  const before = violations.count;
  const matchers = readPatterns(fields, 'values', violations);
  if (violations.count > before) return undefined;
  if (matchers.length === 0) return violations.at('values').add('must not be empty');
  return anyOf(
    matchers.map((matcher): Condition => {
      const condition = { kind: 'string', matcher } as const;
      return { kind: 'header', matcher: { name, condition, invert: false, missingAsEmpty: false } };
    }),
  );
}

function readPatterns(
  fields: JsonFields,
  field: string,
  violations: Violations,
): readonly StringMatcher[] {
  const matchers: StringMatcher[] = [];
  for (const [i, pattern] of readList(fields, field, violations).entries()) {
    if (typeof pattern === 'string') matchers.push(toMatcher(pattern));
    else violations.at(field).index(i).add('must be a string');
  }
  return matchers;
}

/** What `.+` is, without the engine of regular expressions. */
const notEmpty: CompiledRegex = {
  pattern: '.+',
  size: 1,
  matches: (text) => text !== '',
  replaceAll: () => undefined,
};

/** Converts a pattern as other implementations do: `*` is special at the end, and else at the beginning (gRFC A43). */
function toMatcher(pattern: string): StringMatcher {
  if (pattern === '*') return { kind: 'regex', regex: notEmpty };
  if (pattern.endsWith('*')) {
    return { kind: 'prefix', text: pattern.slice(0, -1), ignoreCase: false };
  }
  if (pattern.startsWith('*')) return { kind: 'suffix', text: pattern.slice(1), ignoreCase: false };
  return { kind: 'exact', text: pattern, ignoreCase: false };
}

function readAudit(
  policy: JsonFields,
  registry: AuditLoggerRegistry,
  violations: Violations,
): AuditRules {
  const json = policy.get('audit_logging_options');
  const at = violations.at('audit_logging_options');
  const fields = json === undefined ? undefined : readFields(json, AUDIT_FIELDS, at);
  if (fields === undefined) return noAudit;
  const condition = readString(fields, 'audit_condition', at) ?? 'NONE';
  const selected = AUDIT_CONDITIONS.get(condition);
  if (selected === undefined) {
    const legal = [...AUDIT_CONDITIONS.keys()].join(', ');
    at.at('audit_condition').add(`must be one of ${legal}, not ${quoteText(condition)}`);
  }
  const loggers: ConfiguredAuditLogger[] = [];
  for (const [i, logger] of readList(fields, 'audit_loggers', at).entries()) {
    const configured = readLogger(logger, registry, at.at('audit_loggers').index(i));
    if (configured !== undefined) loggers.push(configured);
  }
  return { ...noAudit, ...selected, loggers };
}

const AUDIT_FIELDS = ['audit_condition', 'audit_loggers'];

/** @returns `undefined` for an optional one that is not registered, and after adding a violation. */
function readLogger(
  json: unknown,
  registry: AuditLoggerRegistry,
  violations: Violations,
): ConfiguredAuditLogger | undefined {
  const fields = readFields(json, ['name', 'config', 'is_optional'], violations);
  const name = fields && readRequiredString(fields, 'name', violations);
  if (fields === undefined || name === undefined) return undefined;
  const isOptional = readBoolean(fields, 'is_optional', false, violations);
  const parse = registry.find(name);
  if (parse === undefined) {
    return isOptional ? undefined : violations.at('name').add(`unsupported audit logger ${name}`);
  }
  const config = fields.get('config') ?? {};
  if (!isObject(config)) return violations.at('config').add('must be an object');
  return parse({ ...config }, violations.at('config'));
}
