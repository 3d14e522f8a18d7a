// The fragment of the address of the page: what it shows. Only the address of the tab has the token, no link that is copied.

import { joinFirst } from './graph-layout.js';

/** The ids of groups that a link and a request have at most; a request may have 8 KiB. */
const MAX_GROUPS = 60;
/** The names of parts that the page does not know, of those that are named. */
const MAX_UNKNOWN = 5;
const MAX_NAME_LENGTH = 40;

const textUpTo = (length) => ({
  legal: `at most ${length} characters`,
  accepts: (text) => text.length <= length,
});
const matching = (pattern, legal) => ({ legal, accepts: (text) => pattern.test(text) });
const oneOf = (texts) => ({
  legal: `one of ${texts.join(', ')}`,
  accepts: (text) => texts.includes(text),
});
const EVENT = matching(/^[\w-]{16}\.\d{1,4}$/, 'the id of an event');
const GROUPS = matching(/^[\w-]{16}(,[\w-]{16})*$/, 'ids of groups, separated by commas');

/** The parts of a link and what each may be: what requests accept, and what the ids of rows are. */
const PARTS = {
  token: matching(/^[\w.~-]{16,256}$/, '16 to 256 letters, digits or characters of "-._~"'),
  target: textUpTo(320),
  view: matching(/^[a-z]{1,20}$/, 'the name of a view'),
  filter: textUpTo(256),
  opened: GROUPS,
  at: EVENT,
  event: EVENT,
};

/**
 * Reads the parts of a fragment. What cannot be used is left out.
 *
 * @param views The names of the views of the page, once they are known.
 * @returns `parts`, each a text and empty by default; `isLink`, whether the fragment has any part; and `problems`, the texts that
 * name what is left out.
 */
export function readFragment(hash, views) {
  const fragment = new URLSearchParams(hash.slice(1));
  const parts = {};
  const problems = [];
  const rules = views === undefined ? PARTS : { ...PARTS, view: oneOf(views) };
  for (const [name, { legal, accepts }] of Object.entries(rules)) {
    const text = fragment.get(name) ?? '';
    const isUsed = text === '' || accepts(text);
    parts[name] = isUsed ? text : '';
    if (!isUsed) problems.push(`"${name}" must be ${legal}`);
  }
  const names = [...new Set(fragment.keys())];
  const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
  const isLink = unknown.length < names.length;
  if (isLink && unknown.length > 0) problems.push(describeUnknown(unknown));
  return { parts, isLink, problems };
}

function describeUnknown(names) {
  const listed = names.map((name) => `"${name.slice(0, MAX_NAME_LENGTH)}"`);
  return `this page has no ${joinFirst(listed, MAX_UNKNOWN)}`;
}

/** Writes a fragment; what is empty is left out. */
export function writeFragment(parts) {
  const entries = Object.keys(PARTS).map((name) => [name, parts[name] ?? '']);
  return `#${new URLSearchParams(entries.filter(([, value]) => value !== ''))}`;
}

/** Reads the ids of groups of a part. */
export function readGroups(part) {
  return new Set(part.split(',').filter(Boolean));
}

/** Writes the ids of groups; those that do not fit are the ones that were opened first. */
export function writeGroups(ids) {
  return [...ids].slice(-MAX_GROUPS).join(',');
}
