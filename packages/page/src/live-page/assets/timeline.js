// The calls of the last minutes and the last events of a target on one axis of times, the newest at the right. Events close to each
// other are one mark.

import { getOrMake, joinFirst } from './graph-layout.js';
import { ageText, BY_URGENCY, element, MARKS, timeOfDay, toneOf } from './dom.js';
import { drawTrend, SLOT_MS } from './trend.js';

/** The width that a mark has for itself. */
const MARK_WIDTH = 28;
/** Subjects of events of a kind that are named. */
const MAX_NAMED = 5;
/** Earlier events are not shown, if there is one in the first of these times; a trend is as long as that. */
const SPANS_MS = [300_000, 3_600_000];
/** What the axis shows at least. */
const LEAST_MS = 30_000;
/** The distances of two times of the axis, in seconds, and how far they are apart at least. */
const TICKS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400];
const TICK_WIDTH = 90;
/** The height of the calls above the events, also where a page is narrow. */
const LANE = 36;
const LOW_LANE = 18;
const NARROW = 640;

/** What is drawn, in words. */
const LEGEND = [
  ['good', `${MARKS.good} accepted or recovered`],
  ['plain', `${MARKS.plain} other event`],
  ['busy', `${MARKS.busy} warning`],
  ['bad', `${MARKS.bad} failed or rejected`],
  ['calls', '▁▃ calls/s'],
  ['calls', '┄ until now'],
  ['bad', '▆ failed'],
  ['', '— p99'],
  ['', 'number: events'],
  ['', 'UTC'],
];

export class Timeline {
  #onOpen;
  #rows = [];
  /** The row of the target, with its calls. */
  #calls = {};
  /** The event after which the graph is shown. */
  #shown = '';
  /** As it was observed: asking for it would lay the whole page out before its frame does. */
  #width = 0;
  #line = element('div', { class: 'timeline-line' });
  /** How many events are too old for the axis. */
  #earlier = element('span');
  element = element(
    'section',
    { class: 'timeline', 'aria-label': 'Calls and events, the oldest first' },
    element(
      'p',
      { class: 'legend' },
      ...LEGEND.map(([tone, text]) => element('span', { class: tone }, text)),
      this.#earlier,
    ),
    this.#line,
  );

  /** @param onOpen Called with the events of a mark that a person chooses, the newest first. */
  constructor(onOpen) {
    this.#onOpen = onOpen;
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

  /** Shows the calls that a row has. */
  showCalls(row = {}) {
    this.#calls = row;
  }

  /** Marks the event after which the graph is shown; empty for the present. */
  showMoment(id) {
    this.#shown = id;
    this.refresh();
  }

  /** Places the events anew: time has gone on, or the page has another width. */
  refresh() {
    const nowMs = Date.now();
    const within = (spanMs) => this.#rows.filter(({ at }) => nowMs - Date.parse(at) < spanMs);
    const events = SPANS_MS.map(within).find(({ length }) => length > 0) ?? this.#rows;
    if (this.#width === 0) return;
    const earlier = this.#rows.length - events.length;
    this.#earlier.textContent = earlier > 0 ? `${earlier} earlier: see Events` : '';
    const { trend = [], trendEndMs = nowMs } = this.#calls;
    const oldestMs = Math.min(
      ...events.slice(-1).map(({ at }) => Date.parse(at)),
      trendEndMs - trend.length * SLOT_MS,
      nowMs - LEAST_MS,
    );
    const scale = { oldestMs, nowMs, width: this.#width };
    const marks = placeEvents(events, scale);
    const focused = this.#line.querySelector(':focus')?.dataset.id;
    this.#line.replaceChildren(
      ...drawTimes(scale),
      ...drawCalls(this.#calls, scale),
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
    drawn.addEventListener('click', () => this.#onOpen(events));
    return drawn;
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

/** The calls of the last minutes, above the events of the same times. */
function drawCalls(row, scale) {
  const { trend = [], trendEndMs } = row;
  if (trend.length === 0) return [];
  const xOf = (slots) => placeOf(trendEndMs - slots * SLOT_MS, scale);
  const nowX = placeOf(scale.nowMs, scale);
  const height = scale.width < NARROW ? LOW_LANE : LANE;
  const size = { width: scale.width, height, labelX: xOf(trend.length) + 4, xOf, nowX };
  return [drawTrend(row, { ...size, name: 'lane', unit: '/s' })];
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
