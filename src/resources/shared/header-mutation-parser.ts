import { MAX_HEADER_MUTATIONS } from '../../util/limits';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import {
  HeaderValueOption_HeaderAppendAction as AppendActionValue,
  type HeaderValue,
  type HeaderValueOption,
} from '../../wire/generated/envoy/config/core/v3/base';
import type { AddedHeader, AppendAction, HeaderMutation, HeaderMutations } from './header-mutation';

/** Pseudo-headers have a legal name, and cannot be changed. */
const NAME = /^:?[\w.-]+$/;
const TEXT = /^[ -~]*$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const ACTIONS: ReadonlyMap<number, AppendAction> = new Map([
  [AppendActionValue.APPEND_IF_EXISTS_OR_ADD, 'append'],
  [AppendActionValue.ADD_IF_ABSENT, 'add-if-absent'],
  [AppendActionValue.OVERWRITE_IF_EXISTS_OR_ADD, 'overwrite-or-add'],
  [AppendActionValue.OVERWRITE_IF_EXISTS, 'overwrite'],
]);

/** Adds a violation for what cannot be the name of a header. @returns whether it can. */
export function checkHeaderName(name: string, violations: Violations): boolean {
  if (NAME.test(name)) return true;
  violations.add(
    name === '' ? 'must not be empty' : `must be a header name, not ${quoteText(name)}`,
  );
  return false;
}

/** Reads the value of a header; `undefined` after adding a violation. @param raw Reads `raw_value` of a `-bin` header. */
export function parseHeaderValue(
  { key, value, rawValue }: HeaderValue,
  raw: (bytes: Buffer) => Buffer,
  violations: Violations,
): string | Buffer | undefined {
  const bytes = Buffer.from(rawValue);
  if (key.toLowerCase().endsWith('-bin')) {
    if (bytes.length > 0) return raw(bytes);
    if (BASE64.test(value)) return Buffer.from(value, 'base64');
    return violations.at('value').add('must be base64, since the name of the header ends in -bin');
  }
  const field = value === '' && bytes.length > 0 ? 'raw_value' : 'value';
  const text = field === 'value' ? value : bytes.toString('latin1');
  return TEXT.test(text) ? text : violations.at(field).add('must be printable ASCII');
}

/** In mutations it has the form of HTTP, as in Envoy: base64. Servers for gRPC alone send the bytes themselves. */
function decodeRaw(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  return BASE64.test(text) ? Buffer.from(text, 'base64') : bytes;
}

/** Parses a header to add; `undefined` after adding a violation. */
export function parseAddedHeader(
  { header, append, appendAction }: HeaderValueOption,
  violations: Violations,
): AddedHeader | undefined {
  const at = violations.at('header');
  if (header === undefined) return at.add('field not present');
  const action = ACTIONS.get(appendAction);
  if (action === undefined) violations.at('append_action').add(`unknown value ${appendAction}`);
  const value = parseHeaderValue(header, decodeRaw, at);
  if (!checkHeaderName(header.key, at.at('key')) || value === undefined || action === undefined) {
    return undefined;
  }
  // The deprecated switch is what older control planes set.
  const overwrites = append === false && action === 'append';
  return { kind: 'add', name: header.key, value, action: overwrites ? 'overwrite-or-add' : action };
}

/** Parses headers to add, and the names of headers to remove, that a service answers: additions come first. */
export function parseAnsweredMutations(
  added: readonly HeaderValueOption[],
  removed: readonly string[],
  violations: Violations,
): readonly HeaderMutation[] {
  return [...parseAdded(added, parseAddedHeader, violations), ...parseRemoved(removed, violations)];
}

/** The fields of a route, a virtual host or a weighted cluster with changes of headers. */
interface HeaderFields {
  readonly requestHeadersToAdd: readonly HeaderValueOption[];
  readonly requestHeadersToRemove: readonly string[];
  readonly responseHeadersToAdd: readonly HeaderValueOption[];
  readonly responseHeadersToRemove: readonly string[];
}

/** Parses the changes of headers of one place of the routes; `undefined` if there are none. Removals come first, as in Envoy. */
export function parseRouteHeaders(
  fields: HeaderFields,
  violations: Violations,
): HeaderMutations | undefined {
  const parse = (
    side: 'request' | 'response',
    added: readonly HeaderValueOption[],
    removed: readonly string[],
  ) => [
    ...parseRemoved(removed, violations.at(`${side}_headers_to_remove`)),
    ...parseAdded(added, parseConfiguredHeader, violations.at(`${side}_headers_to_add`)),
  ];
  const request = parse('request', fields.requestHeadersToAdd, fields.requestHeadersToRemove);
  const response = parse('response', fields.responseHeadersToAdd, fields.responseHeadersToRemove);
  return request.length + response.length === 0 ? undefined : { request, response };
}

/** Whether a value has something that Envoy evaluates for each request, such as `%REQ(a)%`. */
export function hasCommands(value: string): boolean {
  return value.replaceAll('%%', '').includes('%');
}

/**
 * Parses a header to add of a configuration; `undefined` after adding a violation, and for one that is left out: its value has a
 * command, or is empty.
 */
export function parseConfiguredHeader(
  option: HeaderValueOption,
  violations: Violations,
): AddedHeader | undefined {
  const parsed = parseAddedHeader(option, violations);
  if (parsed === undefined) return undefined;
  const { value, name } = parsed;
  if (value.length === 0 && !option.keepEmptyValue) return undefined;
  if (typeof value === 'string' && hasCommands(value)) return undefined;
  return {
    ...parsed,
    name: name.toLowerCase(),
    value: typeof value === 'string' ? value.replaceAll('%%', '%') : value,
  };
}

function parseAdded(
  options: readonly HeaderValueOption[],
  parse: typeof parseAddedHeader,
  violations: Violations,
): readonly HeaderMutation[] {
  if (!checkLength(options.length, violations)) return [];
  return options.flatMap((option, i) => parse(option, violations.index(i)) ?? []);
}

function parseRemoved(names: readonly string[], violations: Violations): readonly HeaderMutation[] {
  if (!checkLength(names.length, violations)) return [];
  return names.flatMap((name, i) =>
    checkHeaderName(name, violations.index(i)) ? { kind: 'remove', name: name.toLowerCase() } : [],
  );
}

/** Adds a violation for more mutations than one list may have. @returns whether there are not. */
export function checkLength(length: number, violations: Violations): boolean {
  if (length <= MAX_HEADER_MUTATIONS) return true;
  violations.add(`must not have more than ${MAX_HEADER_MUTATIONS} entries, but has ${length}`);
  return false;
}
