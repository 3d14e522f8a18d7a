import { parseDurationString } from '../util/duration-string';
import type { Violations } from '../util/violations';

/** The fields of a JSON object. A map, so that a field called `constructor` is one like any other. */
export type JsonFields = ReadonlyMap<string, unknown>;

/** The fields of what must be an object; `undefined` after adding a violation. */
export function readObject(json: unknown, violations: Violations): JsonFields | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    violations.add('must be an object');
    return undefined;
  }
  return new Map(Object.entries(json));
}

/** A boolean field; the fallback if it is absent, and after adding a violation. */
export function readBoolean(
  fields: JsonFields,
  name: string,
  fallback: boolean,
  violations: Violations,
): boolean {
  const value = fields.get(name);
  if (value === undefined || value === null) return fallback;
  if (typeof value === 'boolean') return value;
  violations.at(name).add('must be a boolean');
  return fallback;
}

/**
 * A number that must be whole and within bounds. Proto3 JSON may write it as a string.
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
  violations.add(`must be a whole number from ${bounds.min} to ${bounds.max}`);
  return undefined;
}

/**
 * A number field; the fallback if it is absent, and after adding a violation. Proto3 JSON may write it as a
 * string, and must so write `NaN` and `Infinity`.
 */
export function readNumber(
  fields: JsonFields,
  name: string,
  fallback: number,
  violations: Violations,
): number {
  const value = fields.get(name);
  if (value === undefined || value === null) return fallback;
  if (typeof value === 'number') return value;
  if (value === 'NaN') return NaN;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : NaN;
  if (!Number.isNaN(number)) return number;
  violations.at(name).add('must be a number');
  return fallback;
}

/** A duration field, such as `"1.5s"`, in milliseconds; the fallback if absent, and after adding a violation. */
export function readDuration(
  fields: JsonFields,
  name: string,
  fallbackMs: number,
  violations: Violations,
): number {
  const value = fields.get(name);
  if (value === undefined || value === null) return fallbackMs;
  const durationMs = typeof value === 'string' ? parseDurationString(value) : undefined;
  if (durationMs !== undefined) return durationMs;
  violations.at(name).add('must be a duration that is not negative, such as "1.5s"');
  return fallbackMs;
}

/** A string field; empty if it is absent, and after adding a violation. */
export function readString(fields: JsonFields, name: string, violations: Violations): string {
  const value = fields.get(name);
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  violations.at(name).add('must be a string');
  return '';
}

/** A string field that must not be empty; `undefined` after adding a violation. */
export function readRequiredString(
  fields: JsonFields,
  name: string,
  violations: Violations,
): string | undefined {
  const value = fields.get(name);
  if (typeof value === 'string' && value !== '') return value;
  violations.at(name).add('must be a string that is not empty');
  return undefined;
}

/** A list field; empty if it is absent, and after adding a violation. */
export function readList(
  fields: JsonFields,
  name: string,
  violations: Violations,
): readonly unknown[] {
  const value = fields.get(name);
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  violations.at(name).add('must be a list');
  return [];
}
