// What is always at the top: the links to other pages, and the answers: what is wrong and since when, what changed last and how the calls
// went before and after it, and whose calls fail.

import { byId, draw, element, stateBadge, timeText } from './dom.js';
import { number, percentFailing } from './graph-layout.js';

/** A rate or a latency that is worse by this factor is marked: those of a few seconds vary. */
const CLEAR = 1.5;
/** The time of the calls that are those of now. */
const NOW_MS = 10_000;
/** The other targets that are named. */
const MAX_OTHERS = 3;
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
 * none of a target whose calls are not counted by time.
 */
function compareTraffic(row) {
  const { rate, p99, rateBefore, failingBefore, p99Before, counts, trend, changedAt } = row;
  if (trend === undefined) return [];
  if (rateBefore === undefined) return [['calls of the minute before it are not known', '']];
  const failing = percentFailing(row);
  const hasFailures = failing > 0 || failingBefore > 0;
  const hasLatencies = p99 !== undefined && p99Before !== undefined;
  // Until then, some of the calls are of the time before.
  const isAfter = Date.now() - Date.parse(changedAt) >= NOW_MS;
  return [
    [
      `${counts} ${number(rateBefore)}/s → ${number(rate)}/s`,
      isAfter && rate < rateBefore / CLEAR ? 'busy' : '',
    ],
    hasFailures
      ? [`errors ${failingBefore} % → ${failing} %`, failing > failingBefore ? 'bad' : '']
      : ['no errors', ''],
    ...(hasLatencies
      ? [
          [
            `p99 ${number(p99Before)} → ${number(p99)} ms`,
            isAfter && p99 > CLEAR * p99Before ? 'busy' : '',
          ],
        ]
      : []),
    [`(minute before → ${describeNow(changedAt)})`, 'windows'],
  ];
}

/** What the calls of now are of: soon after a change, some are of the time before it. */
function describeNow(changedAt) {
  const ageMs = Date.now() - Date.parse(changedAt);
  if (ageMs >= NOW_MS) return 'last 10 s';
  return `last 10 s, ${Math.max(0, Math.floor(ageMs / 1000))} s of them after it`;
}

/** Names what else fails and why, while something else is chosen. @param choose Shows it. */
export function showOthers(rows, choose) {
  const shown = rows
    .slice(0, MAX_OTHERS)
    .map(({ id, target, state, reason, faults: [fault] = [], faultsSince: [since] = [] }) =>
      // The reason of a target has since when.
      state === 'failing' ? [id, target, reason] : [id, target, fault, since],
    );
  const more = rows.length - shown.length;
  byId('others').hidden = rows.length === 0;
  draw(byId('others'), [shown, more], () => [
    ...shown.map(([id, target, why, since]) => {
      const show = element('button', { type: 'button' }, target);
      show.addEventListener('click', () => choose(id));
      return element('span', {}, show, ` ${why}`, ...(since ? [' since ', timeText(since)] : []));
    }),
    ...(more > 0 ? [`and ${more} more`] : []),
  ]);
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
