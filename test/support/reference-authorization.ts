import { isIPv4 } from 'node:net';
import type { PeerNames } from '../../src/authorization/request';

/** A request in plain words. */
export interface ReferenceRequest {
  readonly path: string;
  /** By lower-case name, without pseudo headers other than `:authority`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly local: { readonly address: string; readonly port: number };
  readonly remote: { readonly address: string; readonly port: number };
  readonly tls: { readonly peer: PeerNames | undefined } | undefined;
}

/** Returns a header of a request: one may have the name of what every object of JavaScript has. */
export function headerOf(
  { headers }: Pick<ReferenceRequest, 'headers'>,
  name: string,
): string | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}

/** JSON of a message, with the names of its fields as in the schema. */
export type RuleJson = Readonly<Record<string, unknown>>;

/** Where grpc-go judges otherwise; docs/decisions/resource-validation.md has what decides. */
export const GO_DIFFERENCES = [
  'destination_port_range is rejected',
  'a destination_port above 65535 is accepted and never matches',
  'an empty list is accepted: and matches, or does not',
  'any: false matches',
  'a prefix_len beyond the address is rejected',
  'an address with a scope is in no range',
  'a range of IPv4-mapped addresses contains nothing',
  'a header without a name is accepted',
  'an empty prefix, suffix or contains of a header is accepted',
  'an empty regular expression is accepted',
  'a range that ends before it starts is accepted and contains nothing',
  'treat_missing_header_as_empty is not read',
  'present_match: an empty value is absent',
  'CEL and reserved headers are rejected in rules that only log',
] as const;

export type Difference = (typeof GO_DIFFERENCES)[number];

/** A request, and where the judge departs from the rules of this package. */
type Judged = ReferenceRequest & { readonly differences: ReadonlySet<Difference> };

const NO_DIFFERENCES: ReadonlySet<Difference> = new Set();

/** Thrown for rules that must be rejected. */
class Rejected extends Error {}

/**
 * Judges a request by the JSON of an `envoy.config.rbac.v3.RBAC` (gRFC A41). Written from the gRFC, arm by arm, and to be read rather
 * than run fast: it shares no code with src/http-filters/rbac.
 *
 * @param differences Where to judge as another implementation does.
 * @returns `'rejected'` if no control plane may send such rules.
 */
export function judge(
  rules: RuleJson,
  request: ReferenceRequest,
  differences = NO_DIFFERENCES,
): 'allow' | 'deny' | 'rejected' {
  try {
    return judgeValid(rules, { ...request, differences });
  } catch (error) {
    if (error instanceof Rejected) return 'rejected';
    throw error;
  }
}

function judgeValid(rules: RuleJson, request: Judged): 'allow' | 'deny' {
  const action = rules['action'] ?? 'ALLOW';
  if (action === 'LOG') {
    const isRead = differs(request, 'CEL and reserved headers are rejected in rules that only log');
    if (isRead && hasForbidden(rules)) throw new Rejected();
    return 'allow';
  }
  if (action !== 'ALLOW' && action !== 'DENY') throw new Rejected();
  let isMatched = false;
  for (const policy of Object.values((rules['policies'] ?? {}) as Record<string, RuleJson>)) {
    // Everything is evaluated, so that whatever must be rejected is found.
    for (const field of ['condition', 'checked_condition']) {
      if (policy[field] !== undefined) throw new Rejected();
    }
    const permissions = list(policy['permissions'], request).map((p) => permission(p, request));
    const principals = list(policy['principals'], request).map((p) => principal(p, request));
    if (permissions.includes(true) && principals.includes(true)) isMatched = true;
  }
  return isMatched === (action === 'ALLOW') ? 'allow' : 'deny';
}

function differs({ differences }: Judged, difference: Difference): boolean {
  return differences.has(difference);
}

/** Whether there is CEL or a reserved header at any depth. */
function hasForbidden(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => {
    if (key === 'condition' || key === 'checked_condition') return true;
    const name = key === 'header' ? field(inner, 'name') : undefined;
    return (typeof name === 'string' && isReserved(name.toLowerCase())) || hasForbidden(inner);
  });
}

const isReserved = (name: string) => name === ':scheme' || name.startsWith('grpc-');

/** Lists are never empty. */
function list(value: unknown, request: Judged): readonly RuleJson[] {
  if (Array.isArray(value) && value.length > 0) return value as readonly RuleJson[];
  if (differs(request, 'an empty list is accepted: and matches, or does not')) return [];
  throw new Rejected();
}

function permission(rule: RuleJson, request: Judged): boolean {
  const [arm, value] = only(rule);
  if (arm === 'and_rules')
    return all(list(field(value, 'rules'), request).map((r) => permission(r, request)));
  if (arm === 'or_rules')
    return any(list(field(value, 'rules'), request).map((r) => permission(r, request)));
  if (arm === 'not_rule') return !permission(value as RuleJson, request);
  if (arm === 'destination_ip') return inRange(request.local.address, value, request);
  if (arm === 'destination_port') {
    const isAccepted = differs(
      request,
      'a destination_port above 65535 is accepted and never matches',
    );
    if (Number(value) > 65_535 && !isAccepted) throw new Rejected();
    return request.local.port === value;
  }
  if (arm === 'destination_port_range') {
    if (differs(request, 'destination_port_range is rejected')) throw new Rejected();
    const [start, end] = [Number(field(value, 'start') ?? 0), Number(field(value, 'end') ?? 0)];
    if (start < 0 || end > 65_536 || start >= end) throw new Rejected();
    return start <= request.local.port && request.local.port <= end - 1;
  }
  if (arm === 'requested_server_name') return text(value, '', request);
  return common(arm, value, request);
}

function principal(id: RuleJson, request: Judged): boolean {
  const [arm, value] = only(id);
  if (arm === 'and_ids')
    return all(list(field(value, 'ids'), request).map((r) => principal(r, request)));
  if (arm === 'or_ids')
    return any(list(field(value, 'ids'), request).map((r) => principal(r, request)));
  if (arm === 'not_id') return !principal(value as RuleJson, request);
  if (arm === 'source_ip' || arm === 'direct_remote_ip' || arm === 'remote_ip') {
    return inRange(request.remote.address, value, request);
  }
  if (arm === 'authenticated') return authenticated(field(value, 'principal_name'), request);
  return common(arm, value, request);
}

function common(arm: string, value: unknown, request: Judged): boolean {
  if (arm === 'any') {
    if (value !== true && !differs(request, 'any: false matches')) throw new Rejected();
    return true;
  }
  if (arm === 'header') return header(value as RuleJson, request);
  if (arm === 'url_path') return text(field(value, 'path'), request.path, request);
  if (arm === 'metadata') return field(value, 'invert') === true;
  throw new Rejected();
}

function authenticated(name: unknown, request: Judged): boolean {
  const { tls } = request;
  if (name === undefined) return tls !== undefined;
  // Whether the matcher is valid does not depend on the connection.
  const matchesNothing = text(name, '', request);
  if (tls === undefined) return false;
  if (tls.peer === undefined) return matchesNothing;
  const { uriSans, dnsSans, subject } = tls.peer;
  if (uriSans.length > 0) return uriSans.some((uri) => text(name, uri, request));
  if (dnsSans.length > 0) return dnsSans.some((dns) => text(name, dns, request));
  return text(name, subject, request);
}

const HOP_BY_HOP = /^(te|connection|keep-alive|proxy-auth.*|trailer|transfer-encoding|upgrade)$/;

function header(matcher: RuleJson, request: Judged): boolean {
  const given = matcher['name'];
  const name = typeof given === 'string' ? given.toLowerCase() : '';
  const isNamed = name !== '' || differs(request, 'a header without a name is accepted');
  if (!isNamed || isReserved(name)) throw new Rejected();
  const value = headerValue(name, request);
  const isInverted = matcher['invert_match'] === true;
  if (matcher['present_match'] !== undefined) {
    const isPresent =
      value === ''
        ? !differs(request, 'present_match: an empty value is absent')
        : value !== undefined;
    return (isPresent === matcher['present_match']) !== isInverted;
  }
  const isEmptyIfMissing =
    matcher['treat_missing_header_as_empty'] === true &&
    !differs(request, 'treat_missing_header_as_empty is not read');
  const matched = headerText(matcher, value ?? '', request);
  if (value === undefined && !isEmptyIfMissing) return false;
  return matched !== isInverted;
}

function headerValue(name: string, { path, headers }: ReferenceRequest): string | undefined {
  if (name === ':path') return path;
  if (name === ':method') return 'POST';
  if (name === 'host' || name === ':authority') return headers[':authority'] ?? headers['host'];
  return HOP_BY_HOP.test(name) ? undefined : headerOf({ headers }, name);
}

function headerText(matcher: RuleJson, value: string, request: Judged): boolean {
  const arms = ['exact', 'prefix', 'suffix', 'contains'];
  const arm = arms.find((each) => matcher[`${each}_match`] !== undefined);
  if (arm !== undefined) {
    const isEmpty = matcher[`${arm}_match`] === '' && arm !== 'exact';
    const difference = 'an empty prefix, suffix or contains of a header is accepted';
    if (isEmpty && differs(request, difference)) return true;
    return text({ [arm]: matcher[`${arm}_match`] }, value, request);
  }
  if (matcher['safe_regex_match'] !== undefined) {
    return text({ safe_regex: matcher['safe_regex_match'] }, value, request);
  }
  if (matcher['string_match'] !== undefined) return text(matcher['string_match'], value, request);
  if (matcher['range_match'] === undefined) throw new Rejected();
  const [start, end] = ['start', 'end'].map((each) =>
    Number(field(matcher['range_match'], each) ?? 0),
  );
  if (start === undefined || end === undefined) throw new Rejected();
  const isAccepted = differs(
    request,
    'a range that ends before it starts is accepted and contains nothing',
  );
  if (end < start && !isAccepted) throw new Rejected();
  return /^[+-]?[0-9]{1,10}$/.test(value) && Number(value) >= start && Number(value) < end;
}

/** Matches by a StringMatcher. */
function text(matcher: unknown, value: string, request: Judged): boolean {
  const ignoreCase = field(matcher, 'ignore_case') === true;
  const fold = (each: string) => (ignoreCase ? each.toLowerCase() : each);
  const regex = field(matcher, 'safe_regex');
  if (regex !== undefined) {
    const given = field(regex, 'regex');
    const pattern = typeof given === 'string' ? given : '';
    const isAccepted =
      pattern !== '' || differs(request, 'an empty regular expression is accepted');
    if (pattern === '(' || !isAccepted) throw new Rejected();
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

function inRange(address: string, range: unknown, request: Judged): boolean {
  const prefix = field(range, 'address_prefix');
  const given = Number(field(range, 'prefix_len') ?? 0);
  const parsed = typeof prefix === 'string' ? bits(prefix) : undefined;
  if (parsed === undefined) throw new Rejected();
  if (given > parsed.length && differs(request, 'a prefix_len beyond the address is rejected')) {
    throw new Rejected();
  }
  if (address.includes('%') && differs(request, 'an address with a scope is in no range')) {
    return false;
  }
  // All of the addresses of a range that is within the mapped ones are IPv4.
  const isMapped = given >= MAPPED.length && parsed.startsWith(MAPPED);
  if (isMapped && differs(request, 'a range of IPv4-mapped addresses contains nothing'))
    return false;
  const [start, length] = isMapped
    ? [unmap(parsed), given - MAPPED.length]
    : [parsed, Math.min(given, parsed.length)];
  const own = unmap(bits(address.replace(/%.*$/, '')) ?? '');
  return own.length === start.length && own.slice(0, length) === start.slice(0, length);
}

/** The bits of an address as a text. */
function bits(address: string): string | undefined {
  if (isIPv4(address)) {
    const bytes = address.split('.').map(Number);
    return bytes.map((byte) => binary(byte, 8)).join('');
  }
  const dotted = /^(.*:)([0-9.]+)$/.exec(address);
  const [, before = '', last = ''] = dotted ?? [];
  if (isIPv4(last)) {
    const [a = 0, b = 0, c = 0, d = 0] = last.split('.').map(Number);
    const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16));
    return bits(before + groups.join(':'));
  }
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes(':')) return undefined;
  const [head = '', tail] = address.split('::');
  const groups = (part: string | undefined) =>
    part === undefined || part === '' ? [] : part.split(':');
  const missing = 8 - groups(head).length - groups(tail).length;
  const zeros: readonly string[] = new Array(tail === undefined ? 0 : missing).fill('0');
  const whole = [...groups(head), ...zeros, ...groups(tail)];
  return whole.map((group) => binary(parseInt(group, 16), 16)).join('');
}

/** The bits before an IPv4 address that is mapped to IPv6. */
const MAPPED = '0'.repeat(80) + '1'.repeat(16);

function unmap(address: string): string {
  return address.length === 128 && address.startsWith(MAPPED)
    ? address.slice(MAPPED.length)
    : address;
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
