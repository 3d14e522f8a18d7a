import { parseDurationString } from './duration-string';
import type { Violations } from './violations';

/** The fields of a JSON object. A map, so that a field called `__proto__` or `constructor` is an ordinary one. */
export type JsonFields = ReadonlyMap<string, unknown>;

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
 * Reads an object with a function that reads its fields.
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
  const value = fields && read(fields);
  return violations.count > before ? undefined : value;
}

/** Reads a field that is an object whose keys are data; empty if it is absent. Entries with a violation are left out. */
export function readEntries<T>(
  fields: JsonFields,
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
  fields: JsonFields,
  name: string,
  violations: Violations,
): readonly unknown[] {
  const value = fields.get(name);
  return value === undefined ? [] : (readArray(value, violations.at(name)) ?? []);
}

/** Reads an optional string field; `undefined` if it is absent, and after adding a violation. */
export function readString(
  fields: JsonFields,
  name: string,
  violations: Violations,
): string | undefined {
  const value = fields.get(name);
  if (value === undefined || typeof value === 'string') return value;
  return violations.at(name).add('must be a string');
}

/** Reads a string field that must be present and not empty; `undefined` after adding a violation. */
export function readRequiredString(
  fields: JsonFields,
  name: string,
  violations: Violations,
): string | undefined {
  if (!fields.has(name)) return violations.at(name).add('field not present');
  const value = readString(fields, name, violations);
  if (value !== '') return value;
  return violations.at(name).add('must not be empty');
}

/** Reads a boolean field; the fallback if it is absent, and after adding a violation. */
export function readBoolean(
  fields: JsonFields,
  name: string,
  fallback: boolean,
  violations: Violations,
): boolean {
  const value = fields.get(name);
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  violations.at(name).add('must be a boolean');
  return fallback;
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
  const value = fields.get(name);
  if (value === undefined) return fallback;
  if (typeof value === 'number') return value;
  if (value === 'NaN') return NaN;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : NaN;
  if (!Number.isNaN(number)) return number;
  violations.at(name).add('must be a number');
  return fallback;
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
  const value = fields.get(name);
  if (value === undefined) return fallbackMs;
  const durationMs = parseDurationMs(value);
  if (durationMs !== undefined) return durationMs;
  violations.at(name).add('must be a duration that is not negative, such as "1.5s"');
  return fallbackMs;
}

/** As `readDurationMs`, for a duration above zero. */
export function readPositiveDurationMs(
  fields: JsonFields,
  name: string,
  fallbackMs: number,
  violations: Violations,
): number {
  const value = fields.get(name);
  if (value === undefined) return fallbackMs;
  const durationMs = parseDurationMs(value);
  if (durationMs !== undefined && durationMs > 0) return durationMs;
  violations.at(name).add(`must be a duration above zero, such as "${fallbackMs / 1000}s"`);
  return fallbackMs;
}

/** Whether JSON is an object: neither a list nor `null`. */
export function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null && !isArray(json);
}

/** Whether JSON is a list. `Array.isArray` narrows `unknown` to `any[]`. */
export function isArray(json: unknown): json is readonly unknown[] {
  return Array.isArray(json);
}

function parseDurationMs(json: unknown): number | undefined {
  return typeof json === 'string' ? parseDurationString(json) : undefined;
}
