// The dialog with one event: what it is, and how the resource differs that it is about.

import {
  age,
  byId,
  changeLine,
  element,
  factList,
  section,
  showDialog,
  stateBadge,
} from './dom.js';

/**
 * Shows an event as `/api/event` describes it.
 *
 * @param showThen Shows the graph as it was after the event; undefined where there is no graph.
 */
export function showEvent(event, showThen) {
  const { kind, subject, text, at, server, before, after, lines, note, state } = event;
  const facts = [
    ['Event', stateBadge(kind)],
    ['Time', [age(at), ` (${at})`]],
    ['What', text],
    ['Server', server],
    ['Version before', server && (before ?? 'none')],
    ['Version after', server && (after ?? 'none')],
  ].filter(([, value]) => value);
  showDialog(
    `${kind} ${subject}`.trim(),
    factList(facts),
    ...thenOf(state, showThen),
    ...differenceOf({ lines, note }),
  );
}

function thenOf({ isKnown, note }, showThen) {
  if (showThen === undefined) return [];
  const notes = note === '' ? [] : [element('p', { class: 'note' }, note)];
  if (!isKnown) return [element('p', {}, 'The graph of then is not known:'), ...notes];
  const button = element('button', { type: 'button' }, 'Show the graph as it was then');
  button.addEventListener('click', () => {
    byId('details').close();
    showThen();
  });
  return [element('p', {}, button), ...notes];
}

function differenceOf({ lines, note }) {
  if (lines === undefined) return [];
  const shown = lines.map((line) => changeLine('span', line, '\n'));
  const attributes = { tabindex: '0', role: 'region', 'aria-label': 'Difference' };
  return section(
    'Before and after',
    ...(note ? [element('p', { class: 'count' }, note)] : []),
    ...(shown.length > 0 ? [element('pre', attributes, ...shown)] : []),
  );
}
