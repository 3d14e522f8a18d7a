import type { JsonValue } from './bootstrap';

/** JSON text that is equal for equal values, whatever the order of the members of their objects. */
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
