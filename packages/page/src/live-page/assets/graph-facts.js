// What is known of a node or a way of the graph, as text.

import { firstOf, isOfControlPlane, percent } from './graph-layout.js';
import { changeLine, element, lookOf, stateBadge, textList } from './dom.js';
import { rateTexts, shareTexts, trendOf } from './rates.js';

/** The ways of a node that are listed, each of those that lead to it and from it. */
const MAX_WAYS = 12;

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
        'Point at a box or a line, or walk the graph with the arrow keys: details are here. Enter opens a group.',
      ),
    );
    return;
  }
  target.replaceChildren(...(row.kind === 'edge' ? edgeFacts(row, graph) : nodeFacts(row, graph)));
}

/** Lists what an event has changed, with the signs that are in the picture; empty where no event is looked at. */
export function showChanges(target, changes) {
  target.hidden = changes.length === 0;
  const key = JSON.stringify(changes);
  if (drawn.get(target) === key) return;
  drawn.set(target, key);
  const items = changes.map((each) => changeLine('li', each));
  target.replaceChildren(
    element('h3', {}, 'What the event has changed'),
    element('ul', {}, ...items),
    element(
      'p',
      { class: 'count' },
      'In the picture: + added, - removed, ~ changed. All else is faded.',
    ),
  );
}

/** Shows the forks of an explained call, and what lights the whole graph again. */
export function showSteps(target, way, clear) {
  target.hidden = way === undefined;
  if (way === undefined) {
    target.replaceChildren();
    return;
  }
  const button = element('button', { type: 'button' }, 'Show all paths');
  button.addEventListener('click', clear);
  target.replaceChildren(
    element('h3', {}, 'The path of the call'),
    element(
      'ul',
      {},
      ...way.forks.map(({ share, name, text }) =>
        element(
          'li',
          { class: share > 0 ? 'taken' : 'missed' },
          `${share > 0 ? '→' : '✕'} ${name}: ${text}`,
        ),
      ),
      ...(way.moreForks > 0 ? [element('li', {}, `and ${way.moreForks} more`)] : []),
    ),
    element('p', {}, button),
  );
}

/** A name for screen readers, which begins with what is shown. */
export function nodeLabel(row, shown) {
  const { column, name, state, flaw, text, change } = row;
  const [rate] = rateTexts(row);
  const facts = [
    shown === flaw ? `${flaw}, ${state}` : lookOf(state, flaw).text,
    text,
    rate,
    change && `${change} by the event`,
  ].filter(Boolean);
  return `${column} ${name}: ${facts.join(', ')}`;
}

function waysOf({ id }, { edges }) {
  return edges.filter(({ from, to }) => from === id || to === id);
}

function nodeFacts(row, graph) {
  const { id, column, name, state, flaw, text, opens, isOpen } = row;
  const ways = waysOf(row, graph);
  const [before, after] = isOfControlPlane(column)
    ? ['Connected from', 'Connects to']
    : ['Calls come from', 'Calls go to'];
  return [
    element('h3', {}, element('span', { class: 'kind' }, column), ' ', name),
    element('p', {}, stateBadge(state, flaw), ...(text === '' ? [] : [' ', text])),
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
  const texts = ways.map((way) => `${nodes.get(way[end])?.name ?? ''}: ${describeWay(way)}`);
  return [element('h4', {}, title), textList(firstOf(texts, MAX_WAYS))];
}

/** Says whether calls take a way, and how many. */
export function describeWay(row) {
  const { share, isMeasured, isUsed, text, change } = row;
  const shared = isMeasured ? `${percent(share)} of the calls` : `weight ${percent(share)}`;
  return [
    isUsed ? 'in use' : 'not in use',
    ...(share === undefined ? [] : [shared]),
    ...rateTexts(row).slice(0, 1),
    ...shareTexts(row),
    ...(text === '' ? [] : [text]),
    ...(change === undefined ? [] : [`${change} by the event`]),
  ].join(', ');
}

function ratesOf(row) {
  const texts = [...rateTexts(row), ...shareTexts(row)];
  if (texts.length === 0) return [];
  return [element('p', { class: 'rates' }, texts.join(', ')), ...trendOf(row)];
}
