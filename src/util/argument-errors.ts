import { inspect } from 'node:util';
import type { Members, Rule } from './rule';
import { findSimilar } from './similar-name';
import { quoteText, sanitizeText } from './text';

/** Characters of a value that a message shows. */
const MAX_SHOWN_LENGTH = 60;
/** Characters of the path before a name. */
const MAX_SHOWN_PATH = 30;

/** The error of something that is no object with options or members. */
export function noObject(
  caller: string,
  noun: 'options' | 'members',
  value: unknown,
  members: Members,
): TypeError {
  const names = noun === 'members' ? requiredOf(members) : Object.keys(members);
  return new TypeError(
    `grpc-xds: ${caller} takes an object with the ${noun} ${names.join(', ')}, not ${describeValue(value)}`,
  );
}

/** The error of a value that is not legal. */
export function wrongValue(caller: string, path: string, value: unknown, rule: Rule): TypeError {
  const shown = rule.isSecret === true ? '' : `, not ${describeValue(value)}`;
  return new TypeError(`grpc-xds: ${path} of ${caller} must be ${rule.legal}${shown}`);
}

/** The error of an option or a member that does not exist. */
export function unknownName(
  caller: string,
  { prefix, name, noun }: { readonly prefix: string; readonly name: string; readonly noun: string },
  members: Members,
): TypeError {
  const names = Object.keys(members);
  const similar = findSimilar(name, names);
  const meant = similar === undefined ? '' : ` (did you mean "${similar}"?)`;
  const quoted = quoteText(endOf(prefix) + name, MAX_SHOWN_LENGTH);
  return new TypeError(
    sanitizeText(
      `grpc-xds: unknown ${noun} ${quoted} of ${caller}${meant}; the ${noun}s are ${names.join(', ')}`,
    ),
  );
}

/** Cuts the beginning of a path, so that a message shows the name at its end. */
function endOf(path: string): string {
  return path.length > MAX_SHOWN_PATH ? `…${path.slice(-MAX_SHOWN_PATH)}` : path;
}

/** Describes a name that is none of those that are known, as `unknown option "x": did you mean "y"?`. */
export function describeUnknown(noun: string, name: string, known: readonly string[]): string {
  const similar = findSimilar(name, known);
  const meant = similar === undefined ? '' : `: did you mean "${similar}"?`;
  return `unknown ${noun} ${quoteText(name, MAX_SHOWN_LENGTH)}${meant}`;
}

/** Describes a value in a few words, on one line. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoteText(value, MAX_SHOWN_LENGTH);
    case 'function':
      return 'a function';
    case 'object':
      return describeObject(value);
    default:
      return inspect(value);
  }
}

function describeObject(value: object | null): string {
  if (value === null) return 'null';
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  const type: unknown =
    typeof prototype === 'object' && prototype !== null ? prototype.constructor : undefined;
  if (typeof type !== 'function' || type === Object || type.name === '') return 'an object';
  return `an object of the class ${sanitizeText(type.name, MAX_SHOWN_LENGTH)}`;
}

function requiredOf(members: Members): readonly string[] {
  return Object.entries(members)
    .filter(([, { isOptional }]) => isOptional !== true)
    .map(([name]) => name);
}
