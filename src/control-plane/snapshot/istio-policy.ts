import { isIP } from 'node:net';
import {
  listOf,
  objectOf,
  oneOf,
  optional,
  TEXTS,
  TEXT,
  type Rule,
} from '../../util/check-arguments';
import type { MembersOf } from '../../util/rule';
import type { envoy } from '../../wire/generated/resource-json';
import type { JsonProblem } from '../../wire/proto-json/json-problem';

type PermissionJson = envoy.config.rbac.v3.Permission;
type PrincipalJson = envoy.config.rbac.v3.Principal;
type StringMatcherJson = envoy.type.matcher.v3.StringMatcher;
type PolicyJson = envoy.config.rbac.v3.Policy;

/**
 * Clients, as in `source` of Istio's AuthorizationPolicy: each list that is given must match by one of its values, and no `not` list by
 * any. Values may have a `*` at the beginning or the end. Identities of JWTs are left out: gRPC servers know none.
 */
export interface IstioSource {
  /** SPIFFE ids without `spiffe://`, such as `cluster.local/ns/default/sa/web`; `*` is every client with an identity. */
  readonly principals?: readonly string[];
  readonly notPrincipals?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly notNamespaces?: readonly string[];
  /** As `namespace/name`, or a name in the namespace of the policy. */
  readonly serviceAccounts?: readonly string[];
  readonly notServiceAccounts?: readonly string[];
  /** IP addresses, or ranges such as `10.1.0.0/16`, of the other end of the connection. */
  readonly ipBlocks?: readonly string[];
  readonly notIpBlocks?: readonly string[];
  /** gRPC servers read no forwarded address: the same as `ipBlocks`. */
  readonly remoteIpBlocks?: readonly string[];
  readonly notRemoteIpBlocks?: readonly string[];
}

/** Requests, as in `operation` of Istio's AuthorizationPolicy. */
export interface IstioOperation {
  /** Values of `:authority`. */
  readonly hosts?: readonly string[];
  readonly notHosts?: readonly string[];
  /** Ports of the server. */
  readonly ports?: readonly string[];
  readonly notPorts?: readonly string[];
  /** Methods of HTTP: those of gRPC are `POST`. */
  readonly methods?: readonly string[];
  readonly notMethods?: readonly string[];
  /** Such as `/pkg.Service/Method` or `/pkg.Service/*`. */
  readonly paths?: readonly string[];
  readonly notPaths?: readonly string[];
}

/** A condition, as in `when` of Istio's AuthorizationPolicy. */
export interface IstioCondition {
  /**
   * Such as `request.headers[x-tier]`, `source.ip`, `source.namespace`, `source.principal`, `source.serviceAccount`, `remote.ip`,
   * `destination.ip`, `destination.port`, `connection.sni`.
   */
  readonly key: string;
  readonly values?: readonly string[];
  readonly notValues?: readonly string[];
}

/** A rule matches a request if one of `from`, one of `to` and every condition do; what is not given matches every request. */
export interface IstioRule {
  readonly from?: readonly { readonly source: IstioSource }[];
  readonly to?: readonly { readonly operation: IstioOperation }[];
  readonly when?: readonly IstioCondition[];
}

/** An AuthorizationPolicy of Istio, with its `spec` beside its name. */
export interface IstioAuthorizationPolicy {
  readonly name: string;
  /** Default: `default`. */
  readonly namespace?: string;
  /** Default: `ALLOW`. */
  readonly action?: 'ALLOW' | 'DENY';
  /** None has no effect on gRPC servers: istiod sends them no filter for a policy without rules. Default: none. */
  readonly rules?: readonly IstioRule[];
}

const LIST = optional(TEXTS);

const SOURCE: MembersOf<IstioSource> = {
  ...{ principals: LIST, notPrincipals: LIST, namespaces: LIST, notNamespaces: LIST },
  ...{ serviceAccounts: LIST, notServiceAccounts: LIST },
  ...{ ipBlocks: LIST, notIpBlocks: LIST, remoteIpBlocks: LIST, notRemoteIpBlocks: LIST },
};

const OPERATION: MembersOf<IstioOperation> = {
  ...{ hosts: LIST, notHosts: LIST, ports: LIST, notPorts: LIST },
  ...{ methods: LIST, notMethods: LIST, paths: LIST, notPaths: LIST },
};

const CONDITION: MembersOf<IstioCondition> = { key: TEXT, values: LIST, notValues: LIST };

const RULE: MembersOf<IstioRule> = {
  from: optional(listOf('a list of sources', objectOf({ source: objectOf(SOURCE) }))),
  to: optional(listOf('a list of operations', objectOf({ operation: objectOf(OPERATION) }))),
  when: optional(listOf('a list of conditions', objectOf(CONDITION))),
};

const POLICY: MembersOf<IstioAuthorizationPolicy> = {
  name: TEXT,
  namespace: optional(TEXT),
  action: optional(oneOf('ALLOW', 'DENY')),
  rules: optional(listOf('a list of rules', objectOf(RULE))),
};

export const ISTIO_POLICIES: Rule = listOf('a list of authorization policies', objectOf(POLICY));

/** Receives a problem of a policy. */
export type OnProblem = (problem: JsonProblem) => void;

/** Values of one attribute, and what they become. */
interface Attribute<Json> {
  readonly path: JsonProblem['path'];
  readonly create: (value: string) => Json | string;
  readonly values: readonly string[] | undefined;
  readonly notValues: readonly string[] | undefined;
}

/** Adds the policies of one action to those of a filter, by their names. @returns `undefined` if there are none. */
export function translatePolicies(
  all: readonly IstioAuthorizationPolicy[],
  wanted: 'ALLOW' | 'DENY',
  onProblem: OnProblem,
): Readonly<Record<string, PolicyJson>> | undefined {
  const policies: Record<string, PolicyJson> = {};
  for (const [p, { name, namespace = 'default', action = 'ALLOW', rules = [] }] of all.entries()) {
    if (action !== wanted) continue;
    for (const [r, rule] of rules.entries()) {
      const path = ['policies', p, 'rules', r];
      const key = `${namespace}-${name}-${r}`;
      if (key in policies)
        onProblem({ path, reason: `another rule has the name ${JSON.stringify(key)}` });
      policies[key] = translateRule(rule, { path, namespace, onProblem });
    }
  }
  return Object.keys(policies).length === 0 ? undefined : policies;
}

/** Where a rule is. */
interface RuleContext {
  readonly path: JsonProblem['path'];
  /** Of its policy. */
  readonly namespace: string;
  readonly onProblem: OnProblem;
}

/** Translates a rule in the order in which istiod does (istio: pkg/security/authz/model/model.go). */
function translateRule(rule: IstioRule, { path, namespace, onProblem }: RuleContext): PolicyJson {
  const { from = [], to = [], when = [] } = rule;
  const principals: Attribute<PrincipalJson>[] = [];
  const permissions: Attribute<PermissionJson>[] = [];
  for (const [i, condition] of when.entries()) {
    const at = [...path, 'when', i];
    const { key, values, notValues } = condition;
    if ((values ?? []).length === 0 && (notValues ?? []).length === 0) {
      onProblem({ path: at, reason: 'must have values or notValues' });
    }
    const shared = { path: at, values, notValues };
    const principal = principalOf(key, namespace);
    const permission = permissionOf(key);
    if (principal !== undefined) principals.push({ ...shared, create: principal });
    else if (permission !== undefined) permissions.push({ ...shared, create: permission });
    else onProblem({ path: [...at, 'key'], reason: describeKey(key) });
  }
  const sources = from.map(({ source }, i) =>
    attributesOfSource(source, namespace, [...path, 'from', i, 'source']),
  );
  const operations = to.map(({ operation }, i) =>
    attributesOfOperation(operation, [...path, 'to', i, 'operation']),
  );
  const orAny = <T>(lists: readonly (readonly T[])[]) => (lists.length === 0 ? [[]] : lists);
  return {
    permissions: orAny(operations).map((own) => ({
      and_rules: { rules: allOf([...own, ...permissions], PERMISSION, onProblem) },
    })),
    principals: orAny(sources).map((own) => ({
      and_ids: { ids: allOf([...own, ...principals], PRINCIPAL, onProblem) },
    })),
  };
}

/** How lists and negations of one kind of matcher are written. */
interface Form<Json> {
  readonly any: Json;
  readonly or: (of: readonly Json[]) => Json;
  readonly not: (of: Json) => Json;
}

const PERMISSION: Form<PermissionJson> = {
  any: { any: true },
  or: (rules) => ({ or_rules: { rules } }),
  not: (not_rule) => ({ not_rule }),
};

const PRINCIPAL: Form<PrincipalJson> = {
  any: { any: true },
  or: (ids) => ({ or_ids: { ids } }),
  not: (not_id) => ({ not_id }),
};

function allOf<Json extends object>(
  attributes: readonly Attribute<Json>[],
  form: Form<Json>,
  onProblem: OnProblem,
): readonly Json[] {
  const all: Json[] = [];
  for (const { path, create, values = [], notValues = [] } of attributes) {
    const translate = (texts: readonly string[]) =>
      texts.flatMap((text) => {
        const json = create(text);
        if (typeof json !== 'string') return json;
        onProblem({ path, reason: json });
        return [];
      });
    if (values.length > 0) all.push(form.or(translate(values)));
    if (notValues.length > 0) all.push(form.not(form.or(translate(notValues))));
  }
  return all.length === 0 ? [form.any] : all;
}

function attributesOfSource(
  source: IstioSource,
  namespace: string,
  path: JsonProblem['path'],
): readonly Attribute<PrincipalJson>[] {
  return [
    attribute(path, fromPrincipal, source.principals, source.notPrincipals),
    attribute(
      path,
      fromServiceAccount(namespace),
      source.serviceAccounts,
      source.notServiceAccounts,
    ),
    attribute(path, fromNamespace, source.namespaces, source.notNamespaces),
    attribute(path, fromRemoteIp, source.remoteIpBlocks, source.notRemoteIpBlocks),
    attribute(path, fromIp, source.ipBlocks, source.notIpBlocks),
  ];
}

function attributesOfOperation(
  operation: IstioOperation,
  path: JsonProblem['path'],
): readonly Attribute<PermissionJson>[] {
  return [
    attribute(path, toHost, operation.hosts, operation.notHosts),
    attribute(path, toMethod, operation.methods, operation.notMethods),
    attribute(path, toPath, operation.paths, operation.notPaths),
    attribute(path, toPort, operation.ports, operation.notPorts),
  ];
}

function attribute<Json>(
  path: JsonProblem['path'],
  create: Attribute<Json>['create'],
  values: readonly string[] | undefined,
  notValues: readonly string[] | undefined,
): Attribute<Json> {
  return { path, create, values, notValues };
}

const HEADER_KEY = /^request\.headers\[([^\]]+)\]$/;

function principalOf(
  key: string,
  namespace: string,
): Attribute<PrincipalJson>['create'] | undefined {
  const header = HEADER_KEY.exec(key)?.[1];
  if (header !== undefined) {
    return (value) => ({ header: headerMatcher(header, value, false) });
  }
  switch (key) {
    case 'source.ip':
      return fromIp;
    case 'remote.ip':
      return fromRemoteIp;
    case 'source.namespace':
      return fromNamespace;
    case 'source.principal':
      return fromPrincipal;
    case 'source.serviceAccount':
      return fromServiceAccount(namespace);
    default:
      return undefined;
  }
}

function permissionOf(key: string): Attribute<PermissionJson>['create'] | undefined {
  switch (key) {
    case 'destination.ip':
      return toIp;
    case 'destination.port':
      return toPort;
    case 'connection.sni':
      return (value) => ({ requested_server_name: stringMatcher(value) });
    default:
      return undefined;
  }
}

function describeKey(key: string): string {
  const text = JSON.stringify(key);
  return key.startsWith('request.auth.')
    ? `${text} is of a JWT, of which gRPC servers know none: it would match no request`
    : `unsupported key ${text}`;
}

function fromPrincipal(value: string): PrincipalJson {
  return { authenticated: { principal_name: stringMatcher(value, 'spiffe://') } };
}

function fromNamespace(value: string): PrincipalJson {
  const namespace = escapeRegex(value).replaceAll('\\*', '.*');
  return {
    authenticated: { principal_name: { safe_regex: { regex: `.*/ns/${namespace}/.*` } } },
  };
}

/** @param own The namespace of the policy. */
function fromServiceAccount(own: string): (value: string) => PrincipalJson {
  return (value) => {
    const [first = '', second] = value.split('/', 2);
    const [namespace, account] = second === undefined ? [own, first] : [first, second];
    const regex = `spiffe://.+/ns/${escapeRegex(namespace)}/(.+/|)sa/${escapeRegex(account)}(/.+)?`;
    return { authenticated: { principal_name: { safe_regex: { regex } } } };
  };
}

function fromIp(value: string): PrincipalJson | string {
  const range = cidrRange(value);
  return typeof range === 'string' ? range : { direct_remote_ip: range };
}

function fromRemoteIp(value: string): PrincipalJson | string {
  const range = cidrRange(value);
  return typeof range === 'string' ? range : { remote_ip: range };
}

function toHost(value: string): PermissionJson {
  return { header: headerMatcher(':authority', value, true) };
}

function toMethod(value: string): PermissionJson {
  return { header: headerMatcher(':method', value, false) };
}

function toPath(value: string): PermissionJson | string {
  if (/[{}]/.test(value)) {
    return `${JSON.stringify(value)} is a template, for which gRPC servers reject the listener: use a prefix such as "/pkg.Service/*"`;
  }
  return { url_path: { path: stringMatcher(value) } };
}

function toIp(value: string): PermissionJson | string {
  const range = cidrRange(value);
  return typeof range === 'string' ? range : { destination_ip: range };
}

function toPort(value: string): PermissionJson | string {
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port >= 1 && port <= 65_535) return { destination_port: port };
  return `${JSON.stringify(value)} is not a port`;
}

/** A `*` alone is any text, at the beginning a suffix, at the end a prefix. */
function stringMatcher(value: string, scheme = ''): StringMatcherJson {
  if (value === '*') return { safe_regex: { regex: '.+' } };
  if (value.startsWith('*')) return { suffix: value.slice(1) };
  if (value.endsWith('*')) return { prefix: `${scheme}${value.slice(0, -1)}` };
  return { exact: `${scheme}${value}` };
}

function headerMatcher(
  name: string,
  value: string,
  ignoreCase: boolean,
): envoy.config.route.v3.HeaderMatcher {
  if (value === '*') return { name, present_match: true };
  const matcher = stringMatcher(value);
  return { name, string_match: ignoreCase ? { ...matcher, ignore_case: true } : matcher };
}

function cidrRange(text: string): envoy.config.core.v3.CidrRange | string {
  const [address = '', length, ...rest] = text.split('/');
  const version = isIP(address);
  const longest = version === 4 ? 32 : 128;
  const bits = length === undefined ? longest : Number(length);
  const isLength = length === undefined || /^\d{1,3}$/.test(length);
  if (version !== 0 && rest.length === 0 && isLength && bits <= longest) {
    return { address_prefix: address, prefix_len: bits };
  }
  return `${JSON.stringify(text)} is neither an IP address nor a range such as 10.1.0.0/16`;
}

function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
