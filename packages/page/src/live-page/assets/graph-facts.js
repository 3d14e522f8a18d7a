// What is known of a node or a way of the graph, as text.

import { firstOf, isOfControlPlane, percent } from './graph-layout.js';
import {
  breakable,
  changeLine,
  draw,
  element,
  factList,
  lookOf,
  stateBadge,
  textList,
  timeText,
} from './dom.js';
import { rateTexts, shareTexts, trendOf } from './rates.js';

/** The ways of a node that are listed, each of those that lead to it and from it. */
const MAX_WAYS = 12;

const SIGNS = 'In the picture: + added, - removed, ~ changed. All else is faded.';

/** Shows what a row is, its state and why; its other facts are below that. */
export function showFacts(line, more, row, graph) {
  const isEdge = row.kind === 'edge';
  draw(line, [row], () => (isEdge ? edgeLine(row, graph) : nodeLine(row)));
  draw(more, [row, waysOf(row, graph)], () => [
    ...ratesOf(row),
    ...(isEdge ? [] : nodeFacts(row, graph)),
  ]);
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

/** Shows the forks of an explained call. */
export function showSteps(target, way) {
  target.hidden = way === undefined;
  const { forks = [], moreForks = 0 } = way ?? {};
  const steps = forks.map(({ share, name, text }) => {
    const isTaken = share > 0;
    const line = `${isTaken ? '→' : '✕'} ${name}: ${text}`;
    return element('li', { class: isTaken ? 'taken' : 'missed' }, line);
  });
  if (moreForks > 0) steps.push(element('li', {}, `and ${moreForks} more`));
  target.replaceChildren(element('h3', {}, 'The path of the call'), element('ul', {}, ...steps));
}

/** A name for screen readers, which begins with what is shown. */
export function nodeLabel(row, shown) {
  const { column, name, state, flaw, text, change } = row;
  const [rate] = rateTexts(row);
  const facts = [
    flaw && shown.startsWith(flaw) ? `${flaw}, ${state}` : lookOf(state, flaw).text,
    text,
    rate,
    change && `${change} by the event`,
  ].filter(Boolean);
  return `${column} ${name}: ${facts.join(', ')}`;
}

function waysOf({ id }, { edges }) {
  return edges.filter(({ from, to }) => from === id || to === id);
}

function nodeLine(row) {
  const { column, name, state, flaw } = row;
  return [
    element('h3', {}, element('span', { class: 'kind' }, column), ' ', ...breakable(name)),
    element('p', {}, stateBadge(state, flaw), ' ', ...reasonOf(row)),
  ];
}

function edgeLine(row, { nodes }) {
  const [from, to] = [row.from, row.to].map((id) => nodes.get(id)?.name ?? '');
  return [element('h3', {}, `${from} → ${to}`), element('p', {}, describeWay(row))];
}

function nodeFacts(row, graph) {
  const { id, column, opens, isOpen } = row;
  const ways = waysOf(row, graph);
  const [before, after] = isOfControlPlane(column)
    ? ['Connected from', 'Connects to']
    : ['Calls come from', 'Calls go to'];
  return [
    ...(opens === undefined
      ? []
      : [element('p', { class: 'hint-text' }, isOpen ? 'Enter closes it.' : 'Enter opens it.')]),
    factList(
      [
        [
          before,
          waysIn(
            ways.filter(({ to }) => to === id),
            'from',
            graph,
          ),
        ],
        [
          after,
          waysIn(
            ways.filter(({ from }) => from === id),
            'to',
            graph,
          ),
        ],
      ].filter(([, list]) => list !== undefined),
    ),
  ];
}

/** Why a node is in its state, and since when. */
function reasonOf({ text, cause, since }) {
  const reason = [text, cause].filter(Boolean).join(': ');
  return since === undefined ? [reason] : [`${reason} since `, timeText(since)];
}

function waysIn(ways, end, { nodes }) {
  if (ways.length === 0) return undefined;
  const texts = ways.map((way) => `${nodes.get(way[end])?.name ?? ''}: ${describeWay(way)}`);
  return textList(firstOf(texts, MAX_WAYS));
}

/** The rates are those of ten seconds. */
function describeUse({ isUsed, rate }) {
  if (isUsed) return 'in use';
  return rate > 0 ? 'in use until just now' : 'not in use';
}

/** Says whether calls take a way, and how many. */
function describeWay(row) {
  const { share, isMeasured, isUsed, rate, text, change } = row;
  const shared = isMeasured ? `${percent(share)} of the calls` : `weight ${percent(share)}`;
  return [
    // The text of a priority says it.
    ...(text.endsWith('in use') ? [] : [describeUse(row)]),
    ...(share === undefined ? [] : [shared]),
    ...(isUsed || rate > 0 ? rateTexts(row).slice(0, 1) : []),
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
