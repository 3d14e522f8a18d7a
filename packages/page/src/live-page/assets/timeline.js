// The last events of a target above an axis of times, the newest at the right, and the calls that failed. Events close to each other
// are one mark.

import { getOrMake, joinFirst } from './graph-layout.js';
import { ageText, BY_URGENCY, element, MARKS, stateBadge, timeOfDay, toneOf } from './dom.js';

/** The width that a mark has for itself. */
const MARK_WIDTH = 28;
/** Events that are listed of one mark. */
const MAX_LISTED = 50;
/** Subjects of events of a kind that are named. */
const MAX_NAMED = 5;
/** Earlier events are not shown, if there is one in this time. */
const SPAN_MS = 3_600_000;
/** The distances of two times of the axis, in seconds, and how far they are apart at least. */
const TICKS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400];
const TICK_WIDTH = 90;
/** The time of a value of a trend. */
const TREND_MS = 10_000;

/** What is drawn, in words. */
const LEGEND = [
  ['good', `${MARKS.good} accepted or recovered`],
  ['plain', `${MARKS.plain} other event`],
  ['busy', `${MARKS.busy} warning`],
  ['bad', `${MARKS.bad} failed or rejected`],
  ['bad', '▂ failed calls'],
  ['', 'number: events at that time'],
  ['', 'times in UTC'],
];

export class Timeline {
  #onOpen;
  #rows = [];
  /** Calls that failed in a second, for each ten seconds until now. */
  #errors = [];
  /** The event after which the graph is shown. */
  #shown = '';
  /** As it was observed: asking for it would lay the whole page out before its frame does. */
  #width = 0;
  #list = element('ul', { class: 'timeline-events', hidden: true });
  #line = element('div', { class: 'timeline-line' });
  element = element(
    'section',
    { class: 'timeline', 'aria-label': 'Events, the oldest first' },
    element(
      'p',
      { class: 'legend' },
      ...LEGEND.map(([tone, text]) => element('span', { class: tone }, text)),
    ),
    this.#line,
    this.#list,
  );

  /** @param onOpen Called with an event that a person chooses. */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    this.element.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') this.#list.hidden = true;
    });
    new ResizeObserver(([{ contentRect }]) => {
      this.#width = contentRect.width;
      this.refresh();
    }).observe(this.element);
  }

  /** Shows these events, the newest first. */
  update(rows) {
    this.#rows = rows;
    this.refresh();
  }

  /** Shows the calls that failed. */
  showErrors(errors = []) {
    this.#errors = errors;
  }

  /** Marks the event after which the graph is shown; empty for the present. */
  showMoment(id) {
    this.#shown = id;
    this.refresh();
  }

  /** Places the events anew: time has gone on, or the page has another width. */
  refresh() {
    const nowMs = Date.now();
    const latest = this.#rows.filter(({ at }) => nowMs - Date.parse(at) < SPAN_MS);
    const events = latest.length > 0 ? latest : this.#rows;
    if (this.#width === 0) return;
    const oldestMs = Math.min(Date.parse(events.at(-1)?.at ?? nowMs), nowMs - 1000);
    const scale = { oldestMs, nowMs, width: this.#width };
    const marks = placeEvents(events, scale);
    const focused = this.#line.querySelector(':focus')?.dataset.id;
    this.#line.replaceChildren(
      ...drawTimes(scale),
      ...drawErrors(this.#errors, scale),
      ...marks.map((mark) => this.#drawMark(mark)),
    );
    if (focused === undefined) return;
    const mark = marks.find((each) => each.events.some(({ id }) => id === focused));
    this.#line.querySelector(`[data-id="${mark?.events[0].id}"]`)?.focus();
  }

  #drawMark(mark) {
    const { x, events } = mark;
    const tones = events.map(({ kind }) => toneOf(kind));
    const tone = BY_URGENCY.findLast((each) => tones.includes(each));
    const label = describeMark(events);
    const attributes = {
      type: 'button',
      class: `event-mark ${tone}`,
      'data-id': events[0].id,
      'aria-label': label,
      'aria-current': events.some(({ id }) => id === this.#shown) ? 'true' : undefined,
      title: label,
    };
    const count = events.length > 1 ? `${events.length}` : '';
    const drawn = element('button', attributes, MARKS[tone], element('span', {}, count));
    drawn.style.setProperty('left', `${x.toFixed(1)}px`);
    drawn.addEventListener('click', () => this.#open(events));
    return drawn;
  }

  /** Opens an event, or lists those of a mark. */
  #open(events) {
    this.#list.hidden = events.length === 1;
    if (events.length === 1) {
      this.#onOpen(events[0]);
      return;
    }
    const listed = events.slice(0, MAX_LISTED).map((event) => this.#listItem(event));
    const more = events.length - listed.length;
    if (more > 0) listed.push(element('li', {}, `and ${more} earlier ones: see the view Events`));
    this.#list.replaceChildren(...listed);
    this.#list.querySelector('button').focus();
  }

  #listItem(event) {
    const { at, kind, subject, text } = event;
    const open = element('button', { type: 'button' }, subject || kind);
    open.addEventListener('click', () => this.#onOpen(event));
    const time = element('span', { class: 'count' }, timeOfDay(new Date(at)));
    return element('li', {}, stateBadge(kind), ' ', open, ` ${text} `, time);
  }
}

/** Where a time is. The clock of the process may be ahead. */
function placeOf(ms, { oldestMs, nowMs, width }) {
  const [margin, room] = [MARK_WIDTH / 2, width - MARK_WIDTH];
  return margin + (room * (Math.min(ms, nowMs) - oldestMs)) / (nowMs - oldestMs);
}

/** Joins the events, the newest first, to marks from left to right. */
function placeEvents(events, scale) {
  const marks = [];
  for (const event of events.toReversed()) {
    const x = placeOf(Date.parse(event.at), scale);
    const mark = marks.at(-1);
    if (mark === undefined || x - mark.x >= MARK_WIDTH) marks.push({ x, events: [event] });
    else mark.events.unshift(event);
  }
  return marks;
}

/** The times below the axis. */
function drawTimes(scale) {
  const { oldestMs, nowMs, width } = scale;
  const most = Math.max(1, Math.floor(width / TICK_WIDTH));
  const seconds = (nowMs - oldestMs) / 1000;
  const step = 1000 * (TICKS.find((each) => seconds / each <= most) ?? TICKS.at(-1));
  const times = [];
  for (let ms = Math.ceil(oldestMs / step) * step; ms <= nowMs; ms += step) {
    const x = placeOf(ms, scale);
    if (x < 30 || x > width - 30) continue;
    const time = element('span', { class: 'tick' }, timeOfDay(new Date(ms)).slice(0, 8));
    time.style.setProperty('left', `${x.toFixed(1)}px`);
    times.push(time);
  }
  return times;
}

/** The calls that failed, as bars on the axis. */
function drawErrors(errors, scale) {
  const highest = Math.max(...errors, 0);
  return errors.flatMap((value, index) => {
    const ms = scale.nowMs - (errors.length - index) * TREND_MS;
    if (value === 0 || ms + TREND_MS < scale.oldestMs) return [];
    const [left, right] = [Math.max(ms, scale.oldestMs), ms + TREND_MS];
    const x = placeOf(left, scale);
    const bar = element('span', { class: 'error-bar' });
    const style = { left: x, width: placeOf(right, scale) - x, height: 4 + (8 * value) / highest };
    for (const [name, size] of Object.entries(style)) bar.style.setProperty(name, `${size}px`);
    return [bar];
  });
}

function describeMark(events) {
  const [{ at, kind, subject, text }] = events;
  if (events.length === 1) {
    const details = [`${kind} ${subject}`.trim(), text].filter(Boolean).join(': ');
    return `${ageText(at)}, ${details}`;
  }
  const kinds = new Map();
  for (const event of events) {
    getOrMake(kinds, event.kind, () => new Set()).add(event.subject);
  }
  const texts = [...kinds].map(([name, subjects]) => {
    return `${name} ${joinFirst([...subjects].filter(Boolean), MAX_NAMED)}`.trim();
  });
  return `${ageText(at)}, ${events.length} events: ${texts.join('; ')}`;
}
