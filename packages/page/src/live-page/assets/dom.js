// Elements are made here, and every text becomes a text node: names of resources and errors come from the network.

import { describeState, failuresIn, signed } from './graph-layout.js';

/** Creates an element with attributes and children, which are nodes or texts. */
export function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  setAttributes(created, attributes);
  created.append(...children.map((child) => (typeof child === 'number' ? `${child}` : child)));
  return created;
}

/** Creates an element of SVG, as `element` does of HTML. */
export function svgElement(name, attributes = {}, ...children) {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  setAttributes(created, attributes);
  created.append(...children);
  return created;
}

/** Sets attributes; those that are `undefined` or `false` are removed. */
export function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    const text = value === true ? '' : value;
    if (value === undefined || value === false) target.removeAttribute(name);
    else if (target.getAttribute(name) !== `${text}`) target.setAttribute(name, text);
  }
}

/** What is drawn in an element, by its element. */
const drawn = new WeakMap();

/**
 * Replaces what an element contains, unless it was drawn of the same values: a selection stays, and a text is not announced again.
 *
 * @param values Anything that JSON can have.
 * @param create Returns nodes and texts. Default: the value itself, a text.
 */
export function draw(target, values, create = () => [values]) {
  const key = JSON.stringify(values);
  if (drawn.get(target) === key) return;
  drawn.set(target, key);
  target.replaceChildren(...create());
}

/** Creates a list of facts, each a term with a text or nodes. */
export function factList(facts) {
  const parts = facts.flatMap(([term, value]) => [
    element('dt', {}, term),
    element('dd', {}, ...[value].flat()),
  ]);
  return element('dl', {}, ...parts);
}

/** Returns the parts of a name: a line breaks after its separators, before it breaks within a word. */
export function breakable(name) {
  const parts = name.split(/(?<=[/:.\-_,])(?=[^/:.\-_,])/);
  return parts.flatMap((part, index) => (index === 0 ? [part] : [element('wbr'), part]));
}

/** Creates a list of texts. */
export function textList(texts) {
  return element('ul', {}, ...texts.map((text) => element('li', {}, text)));
}

/** Creates an element with something that was added, removed or changed, with its sign. */
export function changeLine(name, { change, text }, end = '') {
  return element(name, { class: CHANGE_TONES[change] }, `${signed(change, text)}${end}`);
}

/** Creates a part with a title; nothing without parts. */
export function section(title, ...parts) {
  return parts.length === 0 ? [] : [element('h3', {}, title), ...parts];
}

/** Finds an element of page.html. */
export function byId(id) {
  return document.getElementById(id);
}

/** Shows the dialog. */
export function showDialog(title, ...parts) {
  byId('details-title').textContent = title;
  byId('details-body').replaceChildren(...parts);
  byId('details').showModal();
}

/** What states and kinds of events mean, one word of each a space apart from the next. */
const WORDS = {
  good:
    'READY SERVING server-connected config-published endpoint-unejected endpoints-recovered cluster-recovered ready open ACKED ' +
    'accepted acknowledged acked good resolved watching in-use',
  busy:
    'CONNECTING waiting REQUESTED backoff connecting fallback listing resource-waiting tls-not-used problem draining ' +
    'degraded removed endpoint-ejected',
  bad:
    'TRANSIENT_FAILURE NOT_SERVING failed NACKED DOES_NOT_EXIST RECEIVED_ERROR TIMEOUT closed rejected timed-out nacked ' +
    'server-failed config-failed endpoints-failed cluster-failed failing ejected refused unresolved empty over-limit',
};
const TONES = new Map(
  Object.entries(WORDS).flatMap(([tone, words]) => words.split(' ').map((word) => [word, tone])),
);

/** The same for what differs. */
export const CHANGE_TONES = { added: 'good', removed: 'bad', changed: 'busy' };

/** Returns `good`, `busy`, `bad` or `plain`. */
export function toneOf(state) {
  return TONES.get(state.replace(' ', '-')) ?? 'plain';
}

/** A mark for each state, and for each tone, so that colour is not the only difference. */
export const MARKS = {
  ready: '●',
  idle: '○',
  unknown: '?',
  waiting: '◔',
  unused: '◌',
  draining: '◐',
  degraded: '◭',
  'over-limit': '◆',
  ejected: '✕',
  failing: '▲',
  flaw: '◧',
  good: '●',
  busy: '◭',
  bad: '▲',
  plain: '○',
};

/** What tones say, the worst last. */
export const BY_URGENCY = ['plain', 'good', 'busy', 'bad'];

/** How calls that fail are shown. Other flaws have a mark of their own. */
const FAILURE_TONES = { many: 'bad', few: 'busy' };

/** How a state is shown: what is wrong although connections are ready has a mark and a tone of its own, unless the state is worse. */
export function lookOf(state, flaw) {
  const text = describeState(state, flaw);
  const own = toneOf(state);
  const ofCalls = FAILURE_TONES[failuresIn(flaw)];
  const ofFlaw = flaw === undefined ? own : (ofCalls ?? 'busy');
  if (BY_URGENCY.indexOf(own) >= BY_URGENCY.indexOf(ofFlaw)) {
    return { text, tone: own, mark: MARKS[state] ?? MARKS[own] };
  }
  return { text, tone: ofFlaw, mark: MARKS[ofCalls ?? 'flaw'] };
}

/** How the worst of some rows is shown, the first of several; undefined for none. */
export function worstLook(rows) {
  const looks = rows.map(({ state, flaw }) => lookOf(state, flaw));
  const worst = BY_URGENCY.findLast((each) => looks.some(({ tone }) => tone === each));
  return looks.find(({ tone }) => tone === worst);
}

/** The name of a state, with a mark of its own shape besides its colour. */
export function stateBadge(state, flaw) {
  const { text, tone, mark } = lookOf(state, flaw);
  return element('span', { class: `badge ${tone}`, 'data-mark': mark }, text);
}

/** A time of day, with how long ago that is. */
export function timeText(iso) {
  const date = new Date(iso);
  const isToday = Date.now() - date < 86_400_000;
  return element('span', {}, isToday ? timeOfDay(date) : iso, ' (', age(iso), ')');
}

/** A time as how long ago that is; `refreshAges` updates it. */
export function age(iso) {
  return element('time', { datetime: iso, title: iso }, ageText(iso));
}

/** The time of day of a date, in UTC as all times of the page are. */
export function timeOfDay(date) {
  return `${date.toISOString().slice(11, 19)} UTC`;
}

/** Updates the ages in a part of the page. */
export function refreshAges(root) {
  for (const time of root.querySelectorAll('time')) {
    const text = ageText(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Returns how long ago a time is. */
export function ageText(iso) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(iso)) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s ago`;
  return seconds < 172_800
    ? `${Math.floor(seconds / 3600)} h ago`
    : `${Math.floor(seconds / 86_400)} d ago`;
}
