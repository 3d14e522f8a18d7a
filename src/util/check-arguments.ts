import { lazy } from './lazy';
import type * as ArgumentErrors from './argument-errors';
import type { Members, Rule } from './rule';

/** The texts are loaded for the first argument that is refused. */
const loadErrors = lazy<typeof ArgumentErrors>(() => require('./argument-errors'));

export type { Members, MembersOf, Rule } from './rule';

/** Whether a value is an object with members, and none with elements, such as a list or a Map. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value);
}

/**
 * Whether a value is an object whose members can be read as those of JSON: a literal, or one of a class with members of its
 * own, and no list, Map, Promise or URL.
 */
export function isRecord(value: unknown): value is object {
  return isObject(value) && (isPlain(value) || Object.keys(value).length > 0);
}

export const ANYTHING: Rule = { legal: 'any value', accepts: () => true };
export const STRING: Rule = { legal: 'a string', accepts: (value) => typeof value === 'string' };
export const TEXT: Rule = {
  legal: 'a string that is not empty',
  accepts: (value) => typeof value === 'string' && value !== '',
};
/** What HTTP allows as the name of a header (RFC 9110, 5.6.2). */
export const HEADER_NAME: Rule = {
  legal: 'the name of a header: letters, digits and characters of "-_."',
  accepts: (value) => typeof value === 'string' && /^[\w.!#$%&'*+^`|~-]+$/.test(value),
};
export const BOOLEAN: Rule = {
  legal: 'true or false',
  accepts: (value) => typeof value === 'boolean',
};
export const FUNCTION: Rule = {
  legal: 'a function',
  accepts: (value) => typeof value === 'function',
};
export const NUMBER: Rule = { legal: 'a number', accepts: (value) => typeof value === 'number' };
export const POSITIVE_INTEGER: Rule = {
  legal: 'a positive whole number',
  accepts: (value) => Number.isSafeInteger(value) && Number(value) > 0,
};

export const COUNT: Rule = {
  legal: 'a whole number from 0',
  accepts: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
};

/** A part that cannot be without a whole, nor more than it. */
export const PERCENT: Rule = {
  legal: 'a whole number from 1 to 100',
  accepts: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100,
};

/** Milliseconds from 0, or above 0. */
export const MILLISECONDS: Rule = {
  legal: 'a number of milliseconds from 0',
  accepts: (value) => typeof value === 'number' && value >= 0,
};
export const POSITIVE_MILLISECONDS: Rule = {
  legal: 'a positive number of milliseconds',
  accepts: (value) => typeof value === 'number' && value > 0,
};

export const BYTES: Rule = {
  legal: 'a number of bytes from 0',
  accepts: (value) => typeof value === 'number' && value >= 0,
};

/** A number of a TCP port. */
export const PORT: Rule = {
  legal: 'a number from 0 to 65535',
  accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
};

export const LOGGER: Rule = withMethods(
  'a logger with the methods trace, info and error',
  'trace',
  'info',
  'error',
);

/** Accepts those of every copy of grpc-js. */
export const METADATA: Rule = withMethods('a Metadata of @grpc/grpc-js', 'get', 'getMap');

export const SIGNAL: Rule = {
  legal: 'an AbortSignal',
  accepts: (value) => value instanceof AbortSignal,
};

/** The rule of a member that need not be there. */
export function optional(rule: Rule): Rule {
  return { ...rule, isOptional: true };
}

export function oneOf(...values: readonly string[]): Rule {
  const legal = values.map((value) => JSON.stringify(value)).join(' or ');
  return { legal, accepts: (value) => typeof value === 'string' && values.includes(value) };
}

/** @param legal Such as `a list of strings`. */
export function listOf(legal: string, each: Rule): Rule {
  return { legal, each, accepts: Array.isArray };
}

export const STRINGS = listOf('a list of strings', STRING);
export const TEXTS = listOf('a list of strings', TEXT);

/** An object with any keys. @param legal Such as `an object of numbers`. */
export function mapOf(legal: string, each: Rule): Rule {
  return { legal, each, accepts: isObject };
}

/** An object with these members and no others; one of a class may have others of its own. */
export function objectOf(members: Members): Rule {
  return { legal: 'an object', members, accepts: isObject };
}

/** An object with these methods, whatever else it has. @param legal Such as `a Metadata`. */
export function withMethods(legal: string, ...methods: readonly string[]): Rule {
  const accepts = (value: unknown) =>
    (isObject(value) || typeof value === 'function') &&
    methods.every((name) => typeof Reflect.get(value, name) === 'function');
  return { legal, accepts };
}

/**
 * Checks an argument of a public function.
 *
 * @param caller As in messages, such as `explainCall()`.
 * @param name The name of the argument.
 * @throws XdsError that names the function, the path of the value, the value, and what is legal.
 */
export function checkArgument(caller: string, name: string, value: unknown, rule: Rule): void {
  checkValue(caller, name, value, rule);
}

/**
 * Checks options, and returns a copy.
 *
 * @param caller As in messages, such as `register()`.
 * @throws XdsError if they are no object, if one is unknown, or if a value is not legal.
 */
export function checkOptions(
  caller: string,
  options: unknown,
  members: Members,
): Readonly<Record<string, unknown>> {
  if (!isObject(options)) throw loadErrors().noObject(caller, 'options', options, members);
  checkNames(caller, '', options, members, 'option');
  checkMembers(caller, '', options, members);
  return { ...options };
}

/**
 * Checks a definition that an application registers, whose members would otherwise be missed when they are used: in the course
 * of an update, or of a call. One of a class may have members of its own besides.
 *
 * @param caller As in messages, such as `registerLbPolicy()`.
 * @throws XdsError as `checkOptions` does.
 */
export function checkDefinition(caller: string, definition: unknown, members: Members): void {
  if (!isObject(definition)) throw loadErrors().noObject(caller, 'members', definition, members);
  if (isPlain(definition)) checkNames(caller, '', definition, members, 'member');
  checkMembers(caller, '', definition, members);
}

function checkValue(caller: string, path: string, value: unknown, rule: Rule): void {
  if (value === undefined && rule.isOptional === true) return;
  if (!rule.accepts(value)) throw loadErrors().wrongValue(caller, path, value, rule);
  const { members, each } = rule;
  if (typeof value !== 'object' || value === null) return;
  if (members !== undefined) {
    if (isPlain(value)) checkNames(caller, `${path}.`, value, members, 'option');
    checkMembers(caller, `${path}.`, value, members);
  }
  if (each === undefined) return;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkValue(caller, `${path}[${i}]`, value[i], each);
    return;
  }
  for (const [key, inner] of Object.entries<unknown>({ ...value })) {
    checkValue(caller, `${path}[${JSON.stringify(key)}]`, inner, each);
  }
}

function checkNames(
  caller: string,
  prefix: string,
  value: object,
  members: Members,
  noun: string,
): void {
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(members, name)) continue;
    throw loadErrors().unknownName(caller, { prefix, name, noun }, members);
  }
}

function checkMembers(caller: string, prefix: string, value: object, members: Members): void {
  for (const name of Object.keys(members)) {
    const rule = members[name];
    if (rule !== undefined) checkValue(caller, prefix + name, Reflect.get(value, name), rule);
  }
}

/** Whether an object is a literal, all of whose members are meant for this package. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
