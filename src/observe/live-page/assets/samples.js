// The calls that were sampled lately: choosing one lights the way that it took.

import { element } from './dom.js';

export class Samples {
  #choose;
  #title = element('h3', { id: 'samples-title' }, 'Calls seen lately');
  #note = element('p', { class: 'hint-text' });
  #list = element('ul', { 'aria-label': 'Calls seen lately' });
  #buttons = new Map();

  /** @param choose Called with the id of a call. */
  constructor(target, choose) {
    this.#choose = choose;
    target.replaceChildren(this.#title, this.#note, this.#list);
  }

  /** Shows what the rows of the graph have of calls. A call that is still there keeps its button, and with it the focus. */
  update(rows) {
    const share = rows.find(({ kind }) => kind === 'sampling')?.share ?? 0;
    const calls = rows.filter(({ kind }) => kind === 'sample');
    this.#note.textContent = describe(share, calls.length);
    this.#list.hidden = calls.length === 0;
    const kept = new Set(calls.map(({ id }) => id));
    for (const [id, item] of this.#buttons) {
      if (kept.has(id)) continue;
      item.remove();
      this.#buttons.delete(id);
    }
    // The latest is the first.
    for (const call of calls.toReversed()) if (!this.#buttons.has(call.id)) this.#add(call);
  }

  #add({ id, call, at, path, endpoint, outcome }) {
    const text = `${at.slice(11, 19)} ${path} → ${endpoint}: ${outcome}`;
    const button = element('button', { type: 'button' }, text);
    button.addEventListener('click', () => this.#choose(call));
    const item = element('li', {}, button);
    this.#buttons.set(id, item);
    this.#list.prepend(item);
  }
}

function describe(share, count) {
  if (share === 0) {
    return 'Calls are not sampled. serveAdminPage({ sampleCalls: 0.01 }) keeps the way of one call in a hundred.';
  }
  const percent = `${Number((100 * share).toPrecision(3))} %`;
  return count === 0
    ? `No call was sampled yet, of which ${percent} are.`
    : `${percent} of the calls are sampled. Choose one to light the way that it took.`;
}
