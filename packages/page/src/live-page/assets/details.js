// The dialog with everything about one resource.

import { age, changeLine, element, factList, showDialog, stateBadge, textList } from './dom.js';

/** The characters of a resource that are shown; more would make the page slow. */
const MAX_CHARACTERS = 100_000;

/** Shows a resource as `/api/resource` describes it. */
export function showResource(resource) {
  const { type, name, status, version, updatedAt, bytes, watchers } = resource;
  const facts = [
    ['State', stateBadge(status)],
    ['Version in use', version ?? 'none'],
    ['Updated', updatedAt ? age(updatedAt) : 'never'],
    ['Size', bytes === undefined ? 'none' : `${bytes} bytes`],
    ['Watchers', `${watchers}`],
  ];
  showDialog(
    `${type} ${name}`,
    factList(facts),
    ...failureOf(resource),
    ...unusedOf(resource),
    ...changesOf(resource),
    ...contentsOf(resource),
  );
}

function failureOf({ failure }) {
  if (failure === undefined) return [];
  const title = failure.version === '' ? 'Last error' : `Rejected version ${failure.version}`;
  return [
    element('h3', {}, title),
    element('p', { class: 'note' }, failure.details),
    element('p', {}, age(failure.at)),
  ];
}

function unusedOf({ unusedFields }) {
  if (unusedFields.length === 0) return [];
  return [element('h3', {}, 'Fields without effect'), textList(unusedFields)];
}

function changesOf({ changes }) {
  if (changes.length === 0) return [];
  const lines = changes.map(({ at, kind, version, text, server, diff = [] }) =>
    element(
      'li',
      {},
      stateBadge(kind),
      ' ',
      age(at),
      ` ${[version, text].filter(Boolean).join(': ')} (${server})`,
      ...(diff.length === 0
        ? []
        : [element('ul', {}, ...diff.map((line) => changeLine('li', line)))]),
    ),
  );
  return [element('h3', {}, 'Last changes'), element('ul', { class: 'changes' }, ...lines)];
}

function contentsOf({ contents }) {
  if (contents === undefined) return [];
  const text = typeof contents === 'string' ? contents : JSON.stringify(contents, undefined, 2);
  const isCut = text.length > MAX_CHARACTERS;
  const shown = isCut
    ? `${text.slice(0, MAX_CHARACTERS)}\n… cut, ${text.length} characters in all`
    : text;
  return [
    element('h3', {}, 'Contents'),
    element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Contents' }, shown),
  ];
}
