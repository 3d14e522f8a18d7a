import { isArray, isObject, type JsonFields } from '../util/json-fields';
import type { Violations } from '../util/violations';
import type { JsonValue } from './bootstrap';

/** A JSON object that is passed on unchanged. */
export type JsonObject = Readonly<Record<string, JsonValue>>;

// Far beyond any real bootstrap, far below what exhausts the stack.
const MAX_DEPTH = 100;

/** Reads an optional object without interpreting it; `undefined` if it is absent, and after adding a violation. */
export function readOpaqueObject(
  fields: JsonFields,
  name: string,
  violations: Violations,
): JsonObject | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (!isObject(value)) return violations.at(name).add('must be an object');
  if (isJsonObject(value)) return value;
  return violations.at(name).add(`must be JSON of at most ${MAX_DEPTH} levels`);
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

/** Formats a value as JSON with the members of objects in a fixed order. */
export function stableJson(json: JsonValue): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json);
  if (isList(json)) return `[${json.map(stableJson).join(',')}]`;
  const members = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${stableJson(value)}`).join(',')}}`;
}

// Array.isArray does not narrow readonly arrays.
function isList(json: object): json is readonly JsonValue[] {
  return Array.isArray(json);
}
