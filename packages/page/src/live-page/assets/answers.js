// What is always at the top: the links to other pages, and the answers: what is wrong and since when, what changed last and how the calls
// went before and after it, and whose calls fail.

import { byId, draw, element, stateBadge, timeText } from './dom.js';
import { percentFailing } from './graph-layout.js';

/** A rate or a latency that differs by this factor has become worse. */
const SLOWER = 1.5;

/** The view with the notices of the application, the newest first. */
export const NOTICES = 'notices';

/** Shows what is known of the row that is chosen; undefined if none is. */
export function showAnswers(row) {
  byId('answers').hidden = row === undefined && byId('notice').hidden;
  const {
    faults = [],
    faultsSince = [],
    moreFaults,
    changed,
    changedAt,
    affected = '',
  } = row ?? {};
  draw(byId('faults'), [faults, faultsSince, moreFaults], () => [
    ...faults.map((text, index) => {
      const since = faultsSince[index] ? ['since ', timeText(faultsSince[index])] : [];
      const strong = element('strong', {}, text);
      return element('li', { class: 'fault' }, strong, ' ', element('span', {}, ...since));
    }),
    ...(moreFaults ? [element('li', {}, `and ${moreFaults} more`)] : []),
    ...(faults.length === 0 ? [element('li', {}, 'nothing')] : []),
  ]);
  const show = byId('notice').querySelector('button');
  if (show !== null) show.hidden = show.dataset.target === row?.id;
  byId('changed').hidden = changed === undefined;
  const traffic = compareTraffic(row ?? {});
  if (changed !== undefined)
    draw(byId('changed'), [changed, changedAt, traffic], () => [
      timeText(changedAt),
      ` ${changed}`,
      ...traffic.flatMap(([text, tone]) => [
        ' ',
        element('span', { class: `delta ${tone}` }, text),
      ]),
    ]);
  draw(byId('affected'), affected || 'no calls now');
}

/**
 * Returns texts that compare the calls of the minute before a change with those of now, each with the tone of what has become worse;
 * none where they were not counted then.
 */
function compareTraffic(row) {
  const { rate, p99, rateBefore, failingBefore, p99Before, counts } = row;
  if (rateBefore === undefined) return [];
  const failing = percentFailing(row);
  const isSlower = p99 > SLOWER * p99Before;
  return [
    [
      `${counts} ${round(rateBefore)}/s → ${round(rate)}/s`,
      rate < rateBefore / SLOWER ? 'busy' : '',
    ],
    [`errors ${failingBefore} % → ${failing} %`, failing > failingBefore ? 'bad' : ''],
    [`p99 ${round(p99Before)} → ${round(p99)} ms`, isSlower ? 'busy' : ''],
  ];
}

/** Two digits are as many as a comparison needs. */
function round(value) {
  return value === undefined ? '–' : `${Number(value.toPrecision(2))}`;
}

/** Shows the links to the pages of other processes. @param rows The states of those that are known. */
export function showLinks(links, rows) {
  const states = new Map(rows.map((row) => [row.id, row]));
  const shown = Object.entries(links).map(([name, href]) => [name, href, states.get(name)]);
  byId('links').hidden = shown.length === 0;
  draw(byId('links'), shown, () => [
    element('span', {}, 'Other pages:'),
    ...shown.map(([name, href, row]) =>
      element(
        'span',
        {},
        element('a', { href }, name),
        ...(row === undefined ? [] : [' ', stateBadge(row.state, row.flaw)]),
      ),
    ),
  ]);
}

/**
 * Shows the newest notice, such as a step of a deployment; nothing if there is none.
 *
 * @param choose Shows the target that the notice is about.
 */
export function showNotice([newest], choose) {
  const line = byId('notice');
  line.hidden = newest === undefined;
  if (newest === undefined || line.dataset.id === newest.id) return;
  line.dataset.id = newest.id;
  byId('answers').hidden = false;
  const { target } = newest;
  const show = element('button', { type: 'button', 'data-target': target }, `Show ${target}`);
  show.addEventListener('click', () => choose(target));
  line.replaceChildren(
    newest.text,
    ...(newest.subject ? [' ', newest.subject] : []),
    ', ',
    timeText(newest.at),
    ...(target === undefined ? [] : [' ', show]),
  );
}
