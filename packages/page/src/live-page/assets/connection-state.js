// What the page says of its connection, and from when what is shown is, where that is not now.

import { byId, draw, timeOfDay } from './dom.js';

export class ConnectionState {
  isPaused = false;
  #text = 'Connecting';
  /** When what is shown was the state of the process for certain; undefined before anything is shown. */
  #shownAt;

  /** Something has been received: it is shown, and up to date. */
  setLive() {
    this.#shownAt = new Date();
    this.set('Live');
  }

  set(text) {
    this.#text = text;
    this.#show();
  }

  pause() {
    this.isPaused = true;
    if (this.#text === 'Live') this.setLive();
    // It is not tried again before something else is to be shown.
    else this.set('Not connected');
  }

  resume() {
    this.isPaused = false;
    this.set('Connecting');
  }

  /** What is added to what is read by itself while the rest of the page is of another moment; empty while updates go on. */
  readNote() {
    return this.isPaused ? `Read at ${timeOfDay(new Date())}, while updates are paused.` : '';
  }

  #show() {
    const text = this.#text;
    const isLive = text === 'Live';
    const others = isLive ? '' : `; ${text[0].toLowerCase()}${text.slice(1)}`;
    draw(byId('connection'), this.isPaused ? `Paused${others}` : text);
    const isPast = this.#shownAt !== undefined && (this.isPaused || !isLive);
    byId('moment').hidden = !isPast;
    document.body.classList.toggle('stale', isPast && !isLive);
    if (isPast) draw(byId('moment'), `as it was at ${timeOfDay(this.#shownAt)}`);
  }
}
