// The strip with the latest notice of the application, such as the step of a deployment.

import { age, byId, element } from './dom.js';

/** The view that has the notices, the newest first. */
export const NOTICES = 'notices';

/**
 * Shows the newest one of the rows; nothing if there is none.
 *
 * @param choose Shows the target that the notice is about.
 */
export function showNotice([newest], choose) {
  const strip = byId('notice');
  strip.hidden = newest === undefined;
  if (newest === undefined || strip.dataset.id === newest.id) return;
  strip.dataset.id = newest.id;
  const { target } = newest;
  const show = element('button', { type: 'button' }, `Show ${target}`);
  show.addEventListener('click', () => choose(target));
  strip.replaceChildren(
    element('strong', {}, newest.text),
    ...(newest.subject ? [' ', element('span', { class: 'subject' }, newest.subject)] : []),
    ' ',
    age(newest.at),
    ...(target === undefined ? [] : [' ', show]),
  );
}
