// What is known of a node or a way of the graph, as text.

import { firstOf, isOfControlPlane, percent } from './graph-layout.js';
import { changeLine, draw, element, lookOf, stateBadge, textList } from './dom.js';
import { rateTexts, shareTexts, trendOf } from './rates.js';

/** The ways of a node that are listed, each of those that lead to it and from it. */
const MAX_WAYS = 12;

const HINT =
  'Point at a box or a line, or walk the graph with the arrow keys: details are here. Enter opens a group.';
const SIGNS = 'In the picture: + added, - removed, ~ changed. All else is faded.';

/** Shows the facts of a row. */
export function showFacts(target, row, graph) {
  const facts = () => (row.kind === 'edge' ? edgeFacts(row, graph) : nodeFacts(row, graph));
  draw(target, row === undefined ? '' : [row, waysOf(row, graph)], () =>
    row === undefined ? [element('p', { class: 'hint-text' }, HINT)] : facts(),
  );
}

/** Lists what an event has changed, with the signs that are in the picture; empty where no event is looked at. */
export function showChanges(target, changes) {
  target.hidden = changes.length === 0;
  draw(target, changes, () => [
    element('h3', {}, 'What the event has changed'),
    element('ul', {}, ...changes.map((each) => changeLine('li', each))),
    element('p', { class: 'count' }, SIGNS),
  ]);
}

/** Shows the forks of an explained call, and what lights the whole graph again. */
export function showSteps(target, way, clear) {
  target.hidden = way === undefined;
  const { forks = [], moreForks = 0 } = way ?? {};
  const button = element('button', { type: 'button' }, 'Show all paths');
  button.addEventListener('click', clear);
  const steps = forks.map(({ share, name, text }) => {
    const isTaken = share > 0;
    const line = `${isTaken ? '→' : '✕'} ${name}: ${text}`;
    return element('li', { class: isTaken ? 'taken' : 'missed' }, line);
  });
  if (moreForks > 0) steps.push(element('li', {}, `and ${moreForks} more`));
  target.replaceChildren(
    element('h3', {}, 'The path of the call'),
    element('ul', {}, ...steps),
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
