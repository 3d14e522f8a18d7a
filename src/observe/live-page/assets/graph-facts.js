// What is known of a node or a way of the graph, as text.

import { isOfControlPlane } from './graph-layout.js';
import { element, stateBadge } from './dom.js';
import { rateTexts, shareTexts, trendOf } from './rates.js';

/** The ways of a node that are listed, each of those that lead to it and from it. */
const MAX_WAYS = 12;

/** The forks of an explained call that are listed. */
const MAX_FORKS = 40;

/** What is shown, by its element. */
const drawn = new WeakMap();

/** Shows the facts of a row. Without a change nothing is drawn, so that a selection stays. */
export function showFacts(target, row, graph) {
  const key = row === undefined ? '' : JSON.stringify([row, waysOf(row, graph)]);
  if (drawn.get(target) === key) return;
  drawn.set(target, key);
  if (row === undefined) {
    target.replaceChildren(
      element(
        'p',
        { class: 'hint-text' },
        'Point at a node or a line, or walk the graph with the arrow keys: its numbers are here. Enter opens a group.',
      ),
    );
    return;
  }
  target.replaceChildren(...(row.kind === 'edge' ? edgeFacts(row, graph) : nodeFacts(row, graph)));
}

/** Shows the forks of an explained call, and what lights the whole graph again. */
export function showSteps(target, way, clear) {
  target.hidden = way === undefined;
  if (way === undefined) {
    target.replaceChildren();
    return;
  }
  const button = element('button', { type: 'button' }, 'Show all ways');
  button.addEventListener('click', clear);
  const forks = way.edges.filter(({ text }) => text !== '');
  const shown = forks.slice(0, MAX_FORKS);
  target.replaceChildren(
    element('h3', {}, 'The way of the call'),
    element(
      'ul',
      {},
      ...shown.map(({ share, name, text }) =>
        element(
          'li',
          { class: share > 0 ? 'taken' : 'missed' },
          `${share > 0 ? '→' : '✕'} ${name}: ${text}`,
        ),
      ),
      ...(forks.length > MAX_FORKS
        ? [element('li', {}, `and ${forks.length - MAX_FORKS} more`)]
        : []),
    ),
    element('p', {}, button),
  );
}

/** A name for screen readers. */
export function nodeLabel(row) {
  const { column, name, state, text } = row;
  const [rate] = rateTexts(row);
  const rates = rate === undefined ? '' : `, ${rate}`;
  return `${column} ${name}: ${state}${text === '' ? '' : `, ${text}`}${rates}`;
}

export function percent(share) {
  return `${Number((100 * share).toFixed(2))} %`;
}

function waysOf({ id }, { edges }) {
  return edges.filter(({ from, to }) => from === id || to === id);
}

function nodeFacts(row, graph) {
  const { id, column, name, state, text, opens, isOpen } = row;
  const ways = waysOf(row, graph);
  const [before, after] = isOfControlPlane(column)
    ? ['Connected from', 'Connects to']
    : ['Calls come from', 'Calls go to'];
  return [
    element('h3', {}, element('span', { class: 'kind' }, column), ' ', name),
    element('p', {}, stateBadge(state), ...(text === '' ? [] : [' ', text])),
    ...ratesOf(row),
    ...(opens === undefined
      ? []
      : [element('p', { class: 'hint-text' }, isOpen ? 'Enter closes it.' : 'Enter opens it.')]),
    ...wayList(
      before,
      ways.filter(({ to }) => to === id),
      'from',
      graph,
    ),
    ...wayList(
      after,
      ways.filter(({ from }) => from === id),
      'to',
      graph,
    ),
  ];
}

function edgeFacts(row, { nodes }) {
  const [from, to] = [row.from, row.to].map((id) => nodes.get(id)?.name ?? '');
  return [
    element('h3', {}, `${from} → ${to}`),
    element('p', {}, describeWay(row)),
    ...ratesOf(row),
  ];
}

function wayList(title, ways, end, { nodes }) {
  if (ways.length === 0) return [];
  const shown = ways
    .slice(0, MAX_WAYS)
    .map((way) => element('li', {}, `${nodes.get(way[end])?.name ?? ''}: ${describeWay(way)}`));
  const more = ways.length - shown.length;
  return [
    element('h4', {}, title),
    element('ul', {}, ...shown, ...(more > 0 ? [element('li', {}, `and ${more} more`)] : [])),
  ];
}

function describeWay(row) {
  const { share, isMeasured, isUsed, text } = row;
  const shared = isMeasured ? `${percent(share)} of the calls` : `weight ${percent(share)}`;
  return [
    isUsed ? 'in use' : 'not in use',
    ...(share === undefined ? [] : [shared]),
    ...rateTexts(row).slice(0, 1),
    ...shareTexts(row),
    ...(text === '' ? [] : [text]),
  ].join(', ');
}

function ratesOf(row) {
  const texts = [...rateTexts(row), ...shareTexts(row)];
  if (texts.length === 0) return [];
  return [element('p', { class: 'rates' }, texts.join(', ')), ...trendOf(row)];
}
