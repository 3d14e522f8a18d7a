import {
  readObject,
  readRequiredString,
  readString,
  type NamedFields,
} from '../../../../src/util/json-fields';
import { quoteText } from '../../../../src/util/text';
import type { Violations } from '../../../../src/util/violations';
import { isWellFormed, type RouteExpressions } from './expressions';
import type { ResourceJson } from 'grpc-xds/control-plane';
import { readItems } from '../read-values';
import type { RouteFindings } from './route-findings';

/** The condition of a route as proto3 JSON. */
export type RouteMatchJson = ResourceJson;

/** The condition on a header as proto3 JSON. */
interface HeaderMatcherJson {
  readonly name: string;
  readonly exact_match?: string;
  readonly safe_regex_match?: { readonly regex: string };
}

/** One of the matches of a rule. */
export interface RuleMatch {
  readonly json: RouteMatchJson;
  /**
   * What its precedence is decided by, the most important number first: how the service is matched (2: exactly, 1: by an
   * expression, whose length says little, 0: any), its characters, the same of the method, and the number of headers.
   */
  readonly precedence: readonly number[];
}

/** The condition on the path of a match without `method`. */
const MATCH_METHODS: RuleMatch = { json: { prefix: '' }, precedence: [0, 0, 0, 0] };

/** The condition of a rule without matches. */
export const MATCH_ALL: RuleMatch = { ...MATCH_METHODS, precedence: [0, 0, 0, 0, 0] };

const TYPES = ['Exact', 'RegularExpression'] as const;

const USED = new Set(['method', 'headers']);
const USED_OF_METHOD = new Set(['type', 'service', 'method']);
const USED_OF_HEADER = new Set(['type', 'name', 'value']);

const MAX_HEADERS = 16;
/** What the API allows in `Exact` matches; see `GRPCMethodMatch`. */
const SERVICE = /^\.?[a-z_][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)*$/i;
const METHOD = /^[a-z_][a-z_0-9]*$/i;
const HEADER = /^[a-z0-9!#$%&'*+\-.^_`|~]+$/i;

/** The headers that clients add after the route is chosen (gRFC A28); none of them sees binary headers either. */
const ADDED_LATER: ReadonlySet<string> = new Set([
  'grpc-accept-encoding',
  'grpc-encoding',
  'grpc-message-type',
  'grpc-timeout',
  'host',
  'te',
  'user-agent',
]);

/** Compares the precedence of two matches; negative if the first one comes first. */
export function comparePrecedence(a: RuleMatch, b: RuleMatch): number {
  for (const [i, number] of a.precedence.entries()) {
    const difference = (b.precedence[i] ?? 0) - number;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Reads an element of `matches`; `undefined` after adding a violation. */
export function readMatch(
  fields: NamedFields,
  findings: RouteFindings,
  violations: Violations,
): RuleMatch | undefined {
  findings.noteUnused(fields, USED, 'spec.rules[].matches[]');
  const method = fields.has('method')
    ? readMethod(fields.get('method'), findings, violations.at('method'))
    : MATCH_METHODS;
  const headers = readHeaders(fields, findings, violations);
  return (
    method && {
      json: headers.length === 0 ? method.json : { ...method.json, headers },
      precedence: [...method.precedence, headers.length],
    }
  );
}

function readMethod(
  json: unknown,
  findings: RouteFindings,
  violations: Violations,
): RuleMatch | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  findings.noteUnused(fields, USED_OF_METHOD, 'spec.rules[].matches[].method');
  const isExact = readIsExact(fields, findings, violations);
  const service = readString(fields, 'service', violations) ?? '';
  const method = readString(fields, 'method', violations) ?? '';
  const path = isExact
    ? readExact(service, method, violations)
    : readExpression(service, method, findings.expressions, violations);
  const rank = (text: string) => (text === '' ? 0 : isExact ? 2 : 1);
  const precedence = [rank(service), service.length, rank(method), method.length];
  return path && { json: path, precedence };
}

/** Reads the type of a match, which is `Exact` by default. */
function readIsExact(
  fields: NamedFields,
  findings: RouteFindings,
  violations: Violations,
): boolean {
  return findings.readValue(fields, 'type', TYPES, violations) !== 'RegularExpression';
}

/** Returns the condition on the path of a service, a method, or both. */
function readExact(
  service: string,
  method: string,
  violations: Violations,
): RouteMatchJson | undefined {
  if (service !== '' && !SERVICE.test(service)) {
    return violations.at('service').add(`${quoteText(service)} is not the name of a service`);
  }
  if (method !== '' && !METHOD.test(method)) {
    return violations.at('method').add(`${quoteText(method)} is not the name of a method`);
  }
  if (service === '') return method === '' ? MATCH_METHODS.json : pathOf('[^/]+', method);
  return method === '' ? { prefix: `/${service}/` } : { path: `/${service}/${method}` };
}

function readExpression(
  service: string,
  method: string,
  expressions: RouteExpressions,
  violations: Violations,
): RouteMatchJson | undefined {
  if (service === '' && method === '') return MATCH_METHODS.json;
  const read = (text: string, field: string) =>
    text === '' ? '[^/]+' : expressions.checkPart(text, violations.at(field));
  const parts = [read(service, 'service'), read(method, 'method')];
  const [servicePart, methodPart] = parts;
  if (servicePart === undefined || methodPart === undefined) return undefined;
  return pathOf(`(?:${servicePart})`, `(?:${methodPart})`);
}

function pathOf(service: string, method: string): RouteMatchJson {
  return { safe_regex: { regex: `/${service}/${method}` } };
}

/** Reads the conditions on headers: of several with one name, the first counts. */
function readHeaders(
  fields: NamedFields,
  findings: RouteFindings,
  violations: Violations,
): readonly HeaderMatcherJson[] {
  const seen = new Set<string>();
  const headers = readItems(fields, 'headers', MAX_HEADERS, violations, (header, at) =>
    readHeader(header, findings, at),
  );
  return headers.filter(({ name }) => {
    const isFirst = !seen.has(name);
    seen.add(name);
    return isFirst;
  });
}

function readHeader(
  fields: NamedFields,
  findings: RouteFindings,
  violations: Violations,
): HeaderMatcherJson | undefined {
  findings.noteUnused(fields, USED_OF_HEADER, 'spec.rules[].matches[].headers[]');
  const isExact = readIsExact(fields, findings, violations);
  const name = readRequiredString(fields, 'name', violations)?.toLowerCase();
  const value = readRequiredString(fields, 'value', violations);
  if (name === undefined || value === undefined) return undefined;
  const at = violations.at('name');
  if (!HEADER.test(name)) return at.add(`${quoteText(name)} is not the name of a header`);
  if (name.endsWith('-bin')) {
    return at.add(`gRPC clients do not match binary headers, such as ${quoteText(name)}`);
  }
  if (ADDED_LATER.has(name)) {
    return at.add(`gRPC clients add ${name} after a route is chosen, and cannot match it`);
  }
  if (isExact) {
    return isWellFormed(value)
      ? { name, exact_match: value }
      : violations.at('value').add('must be valid Unicode');
  }
  const regex = findings.expressions.check(value, violations.at('value'));
  return regex === undefined ? undefined : { name, safe_regex_match: { regex } };
}
