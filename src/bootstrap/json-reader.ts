import { parseDurationString } from '../util/duration-string';
import type { Violations } from '../util/violations';
import type { JsonValue } from './bootstrap';

/** The members of a JSON object. A map, so that a member called `__proto__` is one like any other. */
export type JsonFields = ReadonlyMap<string, unknown>;

/** A JSON object whose members are nobody's business here. */
export type JsonObject = Readonly<Record<string, JsonValue>>;

// Far beyond any real bootstrap, far below what exhausts the stack.
const MAX_DEPTH = 100;

/**
 * The members of what must be an object. Members that are `null` count as absent, as in the JSON form of
 * protocol buffers.
 *
 * @returns `undefined` after adding a violation.
 */
export function readObject(json: unknown, violations: Violations): JsonFields | undefined {
  if (!isObject(json)) {
    violations.add('must be an object');
    return undefined;
  }
  return new Map(Object.entries(json).filter(([, value]) => value !== null));
}

/** A list; `undefined` after adding a violation. */
export function readArray(json: unknown, violations: Violations): readonly unknown[] | undefined {
  if (isArray(json)) return json;
  violations.add('must be a list');
  return undefined;
}

/** A string with something in it, which must be there; `undefined` after adding a violation. */
export function readRequiredString(
  fields: JsonFields,
  name: string,
  violations: Violations,
): string | undefined {
  if (!fields.has(name)) {
    violations.at(name).add('field not present');
    return undefined;
  }
  const value = readString(fields, name, violations);
  if (value === '') violations.at(name).add('must not be empty');
  return value === '' ? undefined : value;
}

/** A string that may be absent; `undefined` if it is, and after adding a violation. */
export function readString(
  fields: JsonFields,
  name: string,
  violations: Violations,
): string | undefined {
  const value = fields.get(name);
  if (value === undefined || typeof value === 'string') return value;
  violations.at(name).add('must be a string');
  return undefined;
}

/** A boolean; the fallback if it is absent, and after adding a violation. */
export function readBoolean(
  fields: JsonFields,
  name: string,
  fallback: boolean,
  violations: Violations,
): boolean {
  const value = fields.get(name);
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  violations.at(name).add('must be true or false');
  return fallback;
}

/** Milliseconds of a duration above zero, such as `"1.5s"`; the fallback if absent, and after adding a violation. */
export function readDurationMs(
  fields: JsonFields,
  name: string,
  fallback: number,
  violations: Violations,
): number {
  const value = fields.get(name);
  if (value === undefined) return fallback;
  const ms = typeof value === 'string' ? parseDurationString(value) : undefined;
  if (ms !== undefined && ms > 0) return ms;
  const example = `${fallback / 1000}s`;
  violations.at(name).add(`must be a duration above zero, such as "${example}"`);
  return fallback;
}

/** An object that may be absent and is passed on as it is; `undefined` after adding a violation, too. */
export function readOpaqueObject(
  fields: JsonFields,
  name: string,
  violations: Violations,
): JsonObject | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (!isObject(value)) {
    violations.at(name).add('must be an object');
    return undefined;
  }
  if (isJsonObject(value)) return value;
  violations.at(name).add(`must be JSON of at most ${MAX_DEPTH} levels`);
  return undefined;
}

function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

// Array.isArray makes `any[]` of `unknown`.
function isArray(json: unknown): json is readonly unknown[] {
  return Array.isArray(json);
}

function isJsonObject(json: object): json is JsonObject {
  return isJson(json, MAX_DEPTH);
}

function isJson(json: unknown, levels: number): boolean {
  if (levels === 0) return false;
  if (isArray(json)) return json.every((element) => isJson(element, levels - 1));
  if (isObject(json)) return Object.values(json).every((member) => isJson(member, levels - 1));
  return json === null || ['string', 'number', 'boolean'].includes(typeof json);
}
