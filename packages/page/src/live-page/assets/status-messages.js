// What was done and what failed, such as a request for details. Each stays until a person dismisses it, or the next of its kind
// takes its place: the state of the connection, which changes by itself, has a place of its own.

import { byId, element } from './dom.js';

/** What is shown, by its kind. */
const shown = new Map();

/** Shows a message in place of the last one of its kind. */
export function showStatus(kind, text) {
  if (shown.get(kind)?.dataset.text === text) return;
  clearStatus(kind);
  const dismiss = element('button', { type: 'button' }, 'Dismiss');
  dismiss.addEventListener('click', () => {
    clearStatus(kind);
    byId('statuses').focus();
  });
  const message = element('p', { 'data-text': text }, `${text} `, dismiss);
  shown.set(kind, message);
  byId('statuses').append(message);
}

/** Removes the message of a kind. */
export function clearStatus(kind) {
  shown.get(kind)?.remove();
  shown.delete(kind);
}
