import { formatDurationString, parseDurationString } from './duration';
import type { Violations } from './violations';

/** A JSON value. */
export type JsonValue =
  null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** The fields of a JSON object; a map, for fields called `__proto__` or `constructor`. */
export type JsonFields = ReadonlyMap<string, unknown>;

/** What is needed of the fields of an object to read some of them by their names. */
export interface NamedFields extends Pick<JsonFields, 'get' | 'has'> {
  keys(): Iterable<string>;
}

/**
 * Reads the fields of an object. Fields that are `null` count as absent, as in the JSON form of protocol buffers.
 *
 * @returns `undefined` after adding a violation.
 */
export function readObject(json: unknown, violations: Violations): JsonFields | undefined {
  if (!isObject(json)) return violations.add('must be an object');
  return new Map(Object.entries(json).filter(([, value]) => value !== null));
}

/**
 * Reads an object whose keys are data, not field names. Entries that are `null` are kept.
 *
 * @returns `undefined` after adding a violation.
 */
export function readMap(json: unknown, violations: Violations): JsonFields | undefined {
  if (isObject(json)) return new Map(Object.entries(json));
  return violations.add('must be an object');
}

/**
 * Reads an object in the JSON form of a protocol buffer with a function that reads its fields by their lowerCamelCase
 * names. As in proto3 JSON, a field may have its name in the schema instead, in snake_case.
 *
 * @returns `undefined` after adding a violation, which `read` may do as well.
 */
export function parseObject<T>(
  json: unknown,
  violations: Violations,
  read: (fields: JsonFields) => T | undefined,
): T | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  const value = fields && read(withCamelCase(fields));
  return violations.count > before ? undefined : value;
}

function withCamelCase(fields: JsonFields): JsonFields {
  const all = new Map(fields);
  for (const [name, value] of fields) {
    const camelCase = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (!all.has(camelCase)) all.set(camelCase, value);
  }
  return all;
}

/** Reads a field that is an object whose keys are data; empty if it is absent. Entries with a violation are left out. */
export function readEntries<T>(
  fields: NamedFields,
  name: string,
  violations: Violations,
  read: (json: unknown, violations: Violations) => T | undefined,
): ReadonlyMap<string, T> {
  const at = violations.at(name);
  const entries = new Map<string, T>();
  for (const [key, entry] of readMap(fields.get(name) ?? {}, at) ?? []) {
    const value = read(entry, at.key(key));
    if (value !== undefined) entries.set(key, value);
  }
  return entries;
}

/** Reads a list; `undefined` after adding a violation. */
export function readArray(json: unknown, violations: Violations): readonly unknown[] | undefined {
  if (isArray(json)) return json;
  return violations.add('must be a list');
}

/**
 * Reads an integer within bounds. Proto3 JSON allows a string.
 *
 * @returns `undefined` after adding a violation.
 */
export function readInteger(
  json: unknown,
  bounds: { readonly min: number; readonly max: number },
  violations: Violations,
): number | undefined {
  const value = typeof json === 'string' && json.trim() !== '' ? Number(json) : json;
  if (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= bounds.min &&
    value <= bounds.max
  ) {
    return value;
  }
  return violations.add(`must be a whole number from ${bounds.min} to ${bounds.max}`);
}

/** Reads a list field; empty if it is absent, and after adding a violation. */
export function readList(
  fields: NamedFields,
  name: string,
  violations: Violations,
): readonly unknown[] {
  const value = fields.get(name);
  return value === undefined ? [] : (readArray(value, violations.at(name)) ?? []);
}

/** Reads an optional string field; `undefined` if it is absent, and after adding a violation. */
export function readString(
  fields: NamedFields,
  name: string,
  violations: Violations,
): string | undefined {
  const value = fields.get(name);
  if (value === undefined || typeof value === 'string') return value;
  return violations.at(name).add('must be a string');
}

/** Reads a string field that must be present and not empty; `undefined` after adding a violation. */
export function readRequiredString(
  fields: NamedFields,
  name: string,
  violations: Violations,
): string | undefined {
  if (!fields.has(name)) return violations.at(name).add('field not present');
  const value = readString(fields, name, violations);
  if (value !== '') return value;
  return violations.at(name).add('must not be empty');
}

/** Reads an optional string field that must not be empty; `undefined` if it is absent, and after adding a violation. */
export function readNonEmptyString(
  fields: NamedFields,
  name: string,
  violations: Violations,
): string | undefined {
  return fields.has(name) ? readRequiredString(fields, name, violations) : undefined;
}

/** Reads a boolean field; the fallback if it is absent, and after adding a violation. */
export function readBoolean(
  fields: NamedFields,
  name: string,
  fallback: boolean,
  violations: Violations,
): boolean {
  const toBoolean = (json: unknown) => (typeof json === 'boolean' ? json : undefined);
  return readField(fields, name, fallback, violations, toBoolean, 'a boolean');
}

/** Reads a field; the fallback if it is absent, and after adding a violation if `parse` returns `undefined`. */
function readField<T>(
  fields: NamedFields,
  name: string,
  fallback: T,
  violations: Violations,
  parse: (json: unknown) => T | undefined,
  expected: string,
): T {
  const json = fields.get(name);
  if (json === undefined) return fallback;
  const value = parse(json);
  if (value === undefined) violations.at(name).add(`must be ${expected}`);
  return value ?? fallback;
}

/**
 * Reads a number field; the fallback if it is absent, and after adding a violation. Proto3 JSON allows a string,
 * and requires one for `NaN` and `Infinity`.
 */
export function readNumber(
  fields: JsonFields,
  name: string,
  fallback: number,
  violations: Violations,
): number {
  return readField(fields, name, fallback, violations, toNumber, 'a number');
}

/**
 * Reads a duration field, such as `"1.5s"`, in milliseconds; the fallback if it is absent, and after adding a
 * violation.
 */
export function readDurationMs(
  fields: JsonFields,
  name: string,
  fallbackMs: number,
  violations: Violations,
): number {
  const expected = 'a duration that is not negative, such as "1.5s"';
  return readField(fields, name, fallbackMs, violations, toDurationMs, expected);
}

/** As `readDurationMs`, for a duration above zero. */
export function readPositiveDurationMs(
  fields: JsonFields,
  name: string,
  fallbackMs: number,
  violations: Violations,
): number {
  const toPositiveMs = (json: unknown) => toDurationMs(json) || undefined;
  const expected = `a duration above zero, such as "${formatDurationString(fallbackMs)}"`;
  return readField(fields, name, fallbackMs, violations, toPositiveMs, expected);
}

/** Whether JSON is an object: neither a list nor `null`. */
export function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null && !isArray(json);
}

/** Whether JSON is a list. `Array.isArray` narrows `unknown` to `any[]`. */
export function isArray(json: unknown): json is readonly unknown[] {
  return Array.isArray(json);
}

function toNumber(json: unknown): number | undefined {
  if (typeof json === 'number') return json;
  if (json === 'NaN') return NaN;
  const number = typeof json === 'string' && json.trim() !== '' ? Number(json) : NaN;
  return Number.isNaN(number) ? undefined : number;
}

function toDurationMs(json: unknown): number | undefined {
  return typeof json === 'string' ? parseDurationString(json) : undefined;
}
