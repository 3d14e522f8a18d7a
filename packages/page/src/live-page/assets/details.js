// The dialog with everything about one resource.

import {
  age,
  changeLine,
  element,
  factList,
  section,
  showDialog,
  stateBadge,
  textList,
} from './dom.js';

/** The characters of a resource that are shown; more would make the page slow. */
const MAX_CHARACTERS = 100_000;

/** Shows a resource as `/api/resource` describes it. */
export function showResource(resource) {
  const { type, name, status, version, updatedAt, bytes, watchers, unusedFields, changes } =
    resource;
  const facts = [
    ['State', stateBadge(status)],
    ['Version in use', version ?? 'none'],
    ['Updated', updatedAt ? age(updatedAt) : 'never'],
    ['Size', bytes === undefined ? 'none' : `${bytes} bytes`],
    ['Watchers', `${watchers}`],
  ];
  const unused = unusedFields.length === 0 ? [] : [textList(unusedFields)];
  const lines = changes.map(describeChange);
  const list = lines.length === 0 ? [] : [element('ul', { class: 'changes' }, ...lines)];
  showDialog(
    `${type} ${name}`,
    factList(facts),
    ...failureOf(resource),
    ...section('Fields without effect', ...unused),
    ...section('Last changes', ...list),
    ...section('Contents', ...contentsOf(resource)),
  );
}

function failureOf({ failure }) {
  if (failure === undefined) return [];
  const title = failure.version === '' ? 'Last error' : `Rejected version ${failure.version}`;
  const note = element('p', { class: 'note' }, failure.details);
  return section(title, note, element('p', {}, age(failure.at)));
}

function describeChange({ at, kind, version, text, server, diff = [] }) {
  const details = ` ${[version, text].filter(Boolean).join(': ')} (${server})`;
  const lines = diff.map((line) => changeLine('li', line));
  const list = lines.length === 0 ? [] : [element('ul', {}, ...lines)];
  return element('li', {}, stateBadge(kind), ' ', age(at), details, ...list);
}

function contentsOf({ contents }) {
  if (contents === undefined) return [];
  const text = typeof contents === 'string' ? contents : JSON.stringify(contents, undefined, 2);
  const isCut = text.length > MAX_CHARACTERS;
  const shown = isCut
    ? `${text.slice(0, MAX_CHARACTERS)}\n… cut, ${text.length} characters in all`
    : text;
  return [element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Contents' }, shown)];
}
