import { isJsonObject } from '../../../src/wire/proto-json/json-object';

/** An object of a report, which may be of another version: every member may be missing. */
export type Json = Readonly<Record<string, unknown>>;

/** Returns the objects of a list; none if it is no list. */
export function objectsIn(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns a text; empty if it is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns a number; 0 if it is none. */
export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** Parses a text; `undefined` if it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
