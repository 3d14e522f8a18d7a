// The answers that are always at the top: what is wrong and since when, what changed last, and whose calls fail.

import { byId, draw, element, timeText } from './dom.js';

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
      return element('li', { class: 'fault' }, element('strong', {}, text), ' ', ...since);
    }),
    ...(moreFaults ? [element('li', {}, `and ${moreFaults} more`)] : []),
    ...(faults.length === 0 ? [element('li', {}, 'nothing')] : []),
  ]);
  const show = byId('notice').querySelector('button');
  if (show !== null) show.hidden = show.dataset.target === row?.id;
  byId('changed').hidden = changed === undefined;
  if (changed !== undefined)
    draw(byId('changed'), [changed, changedAt], () => [`${changed}, `, timeText(changedAt)]);
  draw(byId('affected'), affected || 'no calls now');
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
