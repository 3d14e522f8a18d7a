import { OBJECT_LIMITS } from './object-limits';
import { isObject, readList, readString, type NamedFields } from '../../../src/util/json-fields';
import { quoteText } from '../../../src/util/text';
import type { Violations } from '../../../src/util/violations';

/** The fields of an object, without a copy of them: a slice has thousands of objects. Those that are `null` count as absent. */
class ObjectFields implements NamedFields {
  constructor(private readonly json: object) {}

  get(name: string): unknown {
    const value: unknown = Reflect.get(this.json, name);
    return value === null || !Object.hasOwn(this.json, name) ? undefined : value;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  keys(): readonly string[] {
    return Object.keys(this.json).filter((name) => this.has(name));
  }
}

/** Returns the fields of an object; `undefined` after adding a violation. */
export function fieldsOf(json: unknown, violations: Violations): NamedFields | undefined {
  return isObject(json) ? new ObjectFields(json) : violations.add('must be an object');
}

/** Reads a string of at most so many characters; '' if it is absent, and after adding a violation. */
export function readBounded(
  fields: NamedFields,
  name: string,
  maxLength: number,
  violations: Violations,
): string {
  const text = readString(fields, name, violations) ?? '';
  if (text.length <= maxLength) return text;
  violations.at(name).add(`${text.length} characters, more than ${maxLength}`);
  return '';
}

/** Reads a name or a short text; `undefined` if it is absent or empty, and after adding a violation. */
export function readText(
  fields: NamedFields,
  name: string,
  violations: Violations,
): string | undefined {
  return readBounded(fields, name, OBJECT_LIMITS.textLength, violations) || undefined;
}

/** Reads one of several words; `undefined` if it is absent, and after adding a violation. */
export function readWord<Word extends string>(
  fields: NamedFields,
  name: string,
  words: readonly Word[],
  violations: Violations,
): Word | undefined {
  const text = readString(fields, name, violations);
  const word = words.find((each) => each === text);
  if (text !== undefined && word === undefined) {
    violations.at(name).add(`${quoteText(text)} is none of ${words.join(', ')}`);
  }
  return word;
}

/** Reads a list of at most so many objects; those with a violation are left out. */
export function readItems<T>(
  fields: NamedFields,
  name: string,
  most: number,
  violations: Violations,
  read: (fields: NamedFields, violations: Violations) => T | undefined,
): readonly T[] {
  const at = violations.at(name);
  const items = readList(fields, name, violations);
  if (items.length > most) {
    at.add(`${items.length} elements, more than ${most}`);
    return [];
  }
  const values: T[] = [];
  for (const [i, item] of items.entries()) {
    const place = at.index(i);
    const itemFields = fieldsOf(item, place);
    const value = itemFields && read(itemFields, place);
    if (value !== undefined) values.push(value);
  }
  return values;
}
