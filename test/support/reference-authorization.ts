import { isIPv4 } from 'node:net';
import type { PeerNames } from '../../src/http-filters/rbac/request';

/** A request in plain words. */
export interface ReferenceRequest {
  readonly path: string;
  /** By lower-case name, without pseudo headers other than `:authority`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly local: { readonly address: string; readonly port: number };
  readonly remote: { readonly address: string; readonly port: number };
  readonly tls: { readonly peer: PeerNames | undefined } | undefined;
}

/** JSON of a message, with the names of its fields as in the schema. */
export type RuleJson = Readonly<Record<string, unknown>>;

/** Thrown for rules that must be rejected. */
class Rejected extends Error {}

/**
 * Judges a request by the JSON of an `envoy.config.rbac.v3.RBAC` (gRFC A41). Written from the gRFC, arm by arm, and to be read rather
 * than run fast: it shares no code with src/http-filters/rbac.
 *
 * @returns `'rejected'` if no control plane may send such rules.
 */
export function judge(rules: RuleJson, request: ReferenceRequest): 'allow' | 'deny' | 'rejected' {
  try {
    return judgeValid(rules, request);
  } catch (error) {
    if (error instanceof Rejected) return 'rejected';
    throw error;
  }
}

function judgeValid(rules: RuleJson, request: ReferenceRequest): 'allow' | 'deny' {
  const action = rules['action'] ?? 'ALLOW';
  if (action === 'LOG') return 'allow';
  if (action !== 'ALLOW' && action !== 'DENY') throw new Rejected();
  let isMatched = false;
  for (const policy of Object.values((rules['policies'] ?? {}) as Record<string, RuleJson>)) {
    // Everything is evaluated, so that whatever must be rejected is found.
    for (const field of ['condition', 'checked_condition']) {
      if (policy[field] !== undefined) throw new Rejected();
    }
    const permissions = list(policy['permissions']).map((each) => permission(each, request));
    const principals = list(policy['principals']).map((each) => principal(each, request));
    if (permissions.includes(true) && principals.includes(true)) isMatched = true;
  }
  return isMatched === (action === 'ALLOW') ? 'allow' : 'deny';
}

/** Lists are never empty. */
function list(value: unknown): readonly RuleJson[] {
  if (!Array.isArray(value) || value.length === 0) throw new Rejected();
  return value as readonly RuleJson[];
}

function permission(rule: RuleJson, request: ReferenceRequest): boolean {
  const [arm, value] = only(rule);
  if (arm === 'and_rules')
    return all(list(field(value, 'rules')).map((r) => permission(r, request)));
  if (arm === 'or_rules')
    return any(list(field(value, 'rules')).map((r) => permission(r, request)));
  if (arm === 'not_rule') return !permission(value as RuleJson, request);
  if (arm === 'destination_ip') return inRange(request.local.address, value);
  if (arm === 'destination_port') {
    if (Number(value) > 65_535) throw new Rejected();
    return request.local.port === value;
  }
  if (arm === 'destination_port_range') {
    const [start, end] = [Number(field(value, 'start') ?? 0), Number(field(value, 'end') ?? 0)];
    if (start < 0 || end > 65_536 || start >= end) throw new Rejected();
    return start <= request.local.port && request.local.port <= end - 1;
  }
  if (arm === 'requested_server_name') return text(value, '');
  return common(arm, value, request);
}

function principal(id: RuleJson, request: ReferenceRequest): boolean {
  const [arm, value] = only(id);
  if (arm === 'and_ids') return all(list(field(value, 'ids')).map((r) => principal(r, request)));
  if (arm === 'or_ids') return any(list(field(value, 'ids')).map((r) => principal(r, request)));
  if (arm === 'not_id') return !principal(value as RuleJson, request);
  if (arm === 'source_ip' || arm === 'direct_remote_ip' || arm === 'remote_ip') {
    return inRange(request.remote.address, value);
  }
  if (arm === 'authenticated') return authenticated(field(value, 'principal_name'), request);
  return common(arm, value, request);
}

function common(arm: string, value: unknown, request: ReferenceRequest): boolean {
  if (arm === 'any') {
    if (value !== true) throw new Rejected();
    return true;
  }
  if (arm === 'header') return header(value as RuleJson, request);
  if (arm === 'url_path') return text(field(value, 'path'), request.path);
  if (arm === 'metadata') return field(value, 'invert') === true;
  throw new Rejected();
}

function authenticated(name: unknown, { tls }: ReferenceRequest): boolean {
  if (name === undefined) return tls !== undefined;
  // Whether the matcher is valid does not depend on the connection.
  const matchesNothing = text(name, '');
  if (tls === undefined) return false;
  if (tls.peer === undefined) return matchesNothing;
  const { uriSans, dnsSans, subject } = tls.peer;
  if (uriSans.length > 0) return uriSans.some((uri) => text(name, uri));
  if (dnsSans.length > 0) return dnsSans.some((dns) => text(name, dns));
  return text(name, subject);
}

const HOP_BY_HOP = /^(te|connection|keep-alive|proxy-auth.*|trailer|transfer-encoding|upgrade)$/;

function header(matcher: RuleJson, request: ReferenceRequest): boolean {
  const given = matcher['name'];
  const name = typeof given === 'string' ? given.toLowerCase() : '';
  if (name === '' || name === ':scheme' || /^grpc-/.test(name)) throw new Rejected();
  const value = headerValue(name, request);
  const isInverted = matcher['invert_match'] === true;
  if (matcher['present_match'] !== undefined) {
    return ((value !== undefined) === matcher['present_match']) !== isInverted;
  }
  const isEmptyIfMissing = matcher['treat_missing_header_as_empty'] === true;
  const matched = headerText(matcher, value ?? '');
  if (value === undefined && !isEmptyIfMissing) return false;
  return matched !== isInverted;
}

function headerValue(name: string, { path, headers }: ReferenceRequest): string | undefined {
  if (name === ':path') return path;
  if (name === ':method') return 'POST';
  if (name === 'host' || name === ':authority') return headers[':authority'] ?? headers['host'];
  return HOP_BY_HOP.test(name) ? undefined : headers[name];
}

function headerText(matcher: RuleJson, value: string): boolean {
  const arms = ['exact', 'prefix', 'suffix', 'contains'];
  const arm = arms.find((each) => matcher[`${each}_match`] !== undefined);
  if (arm !== undefined) return text({ [arm]: matcher[`${arm}_match`] }, value);
  if (matcher['safe_regex_match'] !== undefined) {
    return text({ safe_regex: matcher['safe_regex_match'] }, value);
  }
  if (matcher['string_match'] !== undefined) return text(matcher['string_match'], value);
  if (matcher['range_match'] === undefined) throw new Rejected();
  const [start, end] = ['start', 'end'].map((each) =>
    Number(field(matcher['range_match'], each) ?? 0),
  );
  if (start === undefined || end === undefined || end < start) throw new Rejected();
  return /^[+-]?[0-9]{1,10}$/.test(value) && Number(value) >= start && Number(value) < end;
}

/** Matches by a StringMatcher. */
function text(matcher: unknown, value: string): boolean {
  const ignoreCase = field(matcher, 'ignore_case') === true;
  const fold = (each: string) => (ignoreCase ? each.toLowerCase() : each);
  const regex = field(matcher, 'safe_regex');
  if (regex !== undefined) {
    const pattern = field(regex, 'regex');
    if (typeof pattern !== 'string' || pattern === '' || pattern === '(') throw new Rejected();
    return new RegExp(`^(?:${pattern})$`, 's').test(value);
  }
  for (const kind of ['exact', 'prefix', 'suffix', 'contains']) {
    const pattern = field(matcher, kind);
    if (typeof pattern !== 'string') continue;
    if (pattern === '' && kind !== 'exact') throw new Rejected();
    const [whole, part] = [fold(value), fold(pattern)];
    if (kind === 'exact') return whole === part;
    if (kind === 'prefix') return whole.slice(0, part.length) === part;
    if (kind === 'suffix') return whole.length >= part.length && whole.slice(-part.length) === part;
    return whole.split(part).length > 1;
  }
  throw new Rejected();
}

function inRange(address: string, range: unknown): boolean {
  const prefix = field(range, 'address_prefix');
  const parsed = typeof prefix === 'string' ? bits(prefix) : undefined;
  if (parsed === undefined) throw new Rejected();
  const own = bits(address.replace(/%.*$/, ''));
  const length = Math.min(Number(field(range, 'prefix_len') ?? 0), parsed.length);
  return own?.length === parsed.length && own.slice(0, length) === parsed.slice(0, length);
}

/** The bits of an address as a text; those of IPv4 if it is mapped. */
function bits(address: string): string | undefined {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1] ?? address;
  if (isIPv4(mapped))
    return mapped
      .split('.')
      .map((byte) => binary(Number(byte), 8))
      .join('');
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes(':')) return undefined;
  const [head = '', tail] = address.split('::');
  const groups = (part: string | undefined) =>
    part === undefined || part === '' ? [] : part.split(':');
  const missing = 8 - groups(head).length - groups(tail).length;
  const zeros: readonly string[] = new Array(tail === undefined ? 0 : missing).fill('0');
  const whole = [...groups(head), ...zeros, ...groups(tail)];
  return whole.map((group) => binary(parseInt(group, 16), 16)).join('');
}

const binary = (value: number, length: number) => value.toString(2).padStart(length, '0');
const all = (values: readonly boolean[]) => !values.includes(false);
const any = (values: readonly boolean[]) => values.includes(true);

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function only(message: RuleJson): readonly [string, unknown] {
  const [entry, ...others] = Object.entries(message);
  if (entry === undefined || others.length > 0) throw new Rejected();
  return entry;
}
