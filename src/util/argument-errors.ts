import { inspect } from 'node:util';
import { describeOwners } from './option-owners';
import type { Members, Rule } from './rule';
import { findSimilar } from './similar-name';
import { quoteText, sanitizeText } from './text';
import { XdsError } from './xds-error';

export { describeOwners, findSimilar };

/** Characters of a value that a message shows. */
const MAX_SHOWN_LENGTH = 60;
/** Members of an object that a message names. */
const MAX_NAMED_MEMBERS = 4;
/** Letters with which two names begin that are taken for one. */
const MIN_SHARED_LETTERS = 4;
/** Characters of the path before a name. */
const MAX_SHOWN_PATH = 30;

/** The error of something that is no object with options or members. */
export function noObject(
  caller: string,
  noun: 'options' | 'members',
  value: unknown,
  members: Members,
): XdsError {
  const names = noun === 'members' ? requiredOf(members) : Object.keys(members);
  const takes =
    names.length === 0 ? `no ${noun}` : `an object with the ${noun} ${names.join(', ')}`;
  return new XdsError(
    'XDS_OPTION_INVALID',
    `${caller} takes ${takes}, not ${describeValue(value)}`,
  );
}

/** The error of a value that is not legal. */
export function wrongValue(caller: string, path: string, value: unknown, rule: Rule): XdsError {
  // What an object is shows nothing that is in it.
  const isShown = rule.isSecret !== true || typeof value !== 'string';
  const shown = isShown ? `, not ${describeValue(value)}` : '';
  return new XdsError('XDS_OPTION_INVALID', `${path} of ${caller} must be ${rule.legal}${shown}`);
}

/** The error of an option or a member that does not exist. */
export function unknownName(
  caller: string,
  { prefix, name, noun }: { readonly prefix: string; readonly name: string; readonly noun: string },
  members: Members,
): XdsError {
  const names = Object.keys(members);
  const similar = findMeant(name, members);
  const meant = similar === undefined ? '' : ` (did you mean "${similar}"?)`;
  // A name that is meant for this function says nothing of others.
  const owners = similar === undefined ? describeOwners(name, caller) : undefined;
  const elsewhere = owners === undefined ? '' : `; it is ${owners}`;
  const quoted = quoteText(endOf(prefix) + name, MAX_SHOWN_LENGTH);
  const legal = names.length === 0 ? 'there are none' : `the ${noun}s are ${names.join(', ')}`;
  return new XdsError(
    'XDS_OPTION_INVALID',
    sanitizeText(`unknown ${noun} ${quoted} of ${caller}${meant}${elsewhere}; ${legal}`),
  );
}

/**
 * Returns what an unknown name was probably meant to be: a similar name, a member of one of the members, such as `limits.maxRingSize`
 * for `maxRingSize`, or a name that it begins with or that begins with it, such as `bootstrap` for `bootstrapPath`.
 */
function findMeant(name: string, members: Members): string | undefined {
  const names = Object.keys(members);
  const similar = findSimilar(name, names);
  if (similar !== undefined) return similar;
  const owner = names.find((each) => {
    const rule = members[each];
    return Object.hasOwn(rule?.members ?? {}, name) || rule?.names?.includes(name) === true;
  });
  if (owner !== undefined) return `${owner}.${name}`;
  const given = name.toLowerCase();
  return names.find((each) => {
    const known = each.toLowerCase();
    if (Math.min(known.length, given.length) < MIN_SHARED_LETTERS) return false;
    return given.startsWith(known) || known.startsWith(given);
  });
}

/** Cuts the beginning of a path, so that a message shows the name at its end. */
function endOf(path: string): string {
  return path.length > MAX_SHOWN_PATH ? `…${path.slice(-MAX_SHOWN_PATH)}` : path;
}

/** Describes a name that is none of those that are known, as `unknown option "x": did you mean "y"?`. */
export function describeUnknown(noun: string, name: string, known: readonly string[]): string {
  const similar = findSimilar(name, known);
  const owners = describeOwners(name);
  const meant = similar === undefined ? '' : `: did you mean "${similar}"?`;
  const elsewhere = owners === undefined ? '' : `; it is ${owners}`;
  return `unknown ${noun} ${quoteText(name, MAX_SHOWN_LENGTH)}${meant}${elsewhere}`;
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
  if (typeof type !== 'function' || type === Object || type.name === '')
    return describeMembers(value);
  return `an object of the class ${sanitizeText(type.name, MAX_SHOWN_LENGTH)}`;
}

/** Names the members of an object, whose values may be secrets. */
function describeMembers(value: object): string {
  const names = Object.keys(value);
  if (names.length === 0) return 'an empty object';
  const shown = names.slice(0, MAX_NAMED_MEMBERS).join(', ');
  const more = names.length > MAX_NAMED_MEMBERS ? ', …' : '';
  return `an object with ${sanitizeText(shown + more, MAX_SHOWN_LENGTH)}`;
}

function requiredOf(members: Members): readonly string[] {
  return Object.entries(members)
    .filter(([, { isOptional }]) => isOptional !== true)
    .map(([name]) => name);
}
