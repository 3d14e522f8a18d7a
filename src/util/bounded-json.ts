import { isArray, isObject } from './json-fields';
import { MAX_JSON_DEPTH, MAX_JSON_MEMBERS } from './limits';

/** Bounds on JSON text, which are checked before it is parsed. */
export interface JsonLimits {
  /** Characters of the text. */
  readonly maxLength: number;
  /** Objects, lists, elements and members. */
  readonly maxValues: number;
}

/** Thrown for text that exceeds a bound. The message names the bound, and has nothing of the text. */
export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError';
}

/**
 * Parses JSON text as `JSON.parse` does, within bounds.
 *
 * @throws JsonLimitError for text that exceeds a bound, and SyntaxError.
 */
export function parseBoundedJson(text: string, limits: JsonLimits): unknown {
  const excess = findExcess(text, limits);
  if (excess !== undefined) throw new JsonLimitError(excess);
  return JSON.parse(text);
}

/**
 * Parses JSON text as `parseBoundedJson` does, but for objects in which a member is there twice: `JSON.parse` takes the last one,
 * and one that denies would be ignored.
 *
 * @throws also SyntaxError for a member that is there twice.
 */
export function parseUnambiguousJson(text: string, limits: JsonLimits): unknown {
  const json = parseBoundedJson(text, limits);
  if (countNames(text) !== countMembers(json)) {
    throw new SyntaxError('a member of an object is there more than once');
  }
  return json;
}

/** A string, and the colon after one that is a name. */
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;

function countNames(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(STRINGS)) if (colon !== undefined) count++;
  return count;
}

function countMembers(json: unknown): number {
  if (isArray(json)) return json.reduce<number>((sum, each) => sum + countMembers(each), 0);
  if (!isObject(json)) return 0;
  const values = Object.values(json);
  return values.reduce<number>((sum, each) => sum + countMembers(each), values.length);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LIST_START = 0x5b;
const LIST_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;

/** Describes the bound that a text exceeds, by its brackets and commas, whether or not it is JSON; `undefined` if none. */
function findExcess(text: string, { maxLength, maxValues }: JsonLimits): string | undefined {
  if (text.length > maxLength) return `more than ${maxLength} characters`;
  let values = 0;
  // Of the innermost object. A list may be longer.
  let members = -Infinity;
  /** The members of the objects and lists around it. */
  const outer: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === LIST_END || code === OBJECT_END) {
      members = outer.pop() ?? -Infinity;
    } else if (code === LIST_START || code === OBJECT_START) {
      if (outer.length >= MAX_JSON_DEPTH) return `nested more than ${MAX_JSON_DEPTH} levels deep`;
      outer.push(members);
      members = code === OBJECT_START ? 1 : -Infinity;
      values++;
    } else if (code === COMMA) {
      members++;
      values++;
    }
    if (values > maxValues) return `more than ${maxValues} values`;
    if (members > MAX_JSON_MEMBERS) return `an object of more than ${MAX_JSON_MEMBERS} members`;
  }
  return undefined;
}

/** Returns where the string ends that starts at a quote; the end of the text if it does not end. */
function endOfString(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (end >= 0 && isEscaped(text, end));
  return end < 0 ? text.length : end;
}

/** Whether the number of backslashes before a quote is odd. */
function isEscaped(text: string, quote: number): boolean {
  let start = quote;
  while (text.charCodeAt(start - 1) === BACKSLASH) start--;
  return (quote - start) % 2 === 1;
}

/** Sets a member of an object. An assignment to `__proto__` would not make a member of it. */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}
