// The line with the last events of a target above an axis of times, the newest at the right, and the calls that failed. Events close to
// each other are one mark.

import {
  ageText,
  element,
  setAttributes,
  stateBadge,
  svgElement,
  timeOfDay,
  toneOf,
} from './dom.js';

const HEIGHT = 48;
const AXIS = 30;
/** The width that a mark has for itself, and the space left and right of the line. */
const MARK_WIDTH = 20;
const MARGIN = 12;
/** Events that are listed of one mark. */
const MAX_LISTED = 50;
/** Subjects of events of a kind that are named. */
const MAX_NAMED = 5;
const SPANS = [
  ['all', 'all'],
  ['300', 'last 5 minutes'],
  ['3600', 'last hour'],
];
/** The distances of two times of the axis, in seconds, and how far they are apart at least. */
const TICKS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 86_400];
const TICK_WIDTH = 90;
/** The time of a value of a trend. */
const TREND_MS = 10_000;
const TONES = ['plain', 'good', 'busy', 'bad'];
const SHAPES = {
  plain: 'M-4 -4H4V4H-4Z',
  good: 'M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z',
  busy: 'M-5 -5H5V5H-5Z',
  bad: 'M0 -8L8 6H-8Z',
};

export class Timeline {
  #onOpen;
  #rows = [];
  /** Calls that failed in a second, for each ten seconds until now. */
  #errors = [];
  #marks = [];
  /** The event whose mark is active: it may be joined by others. */
  #active;
  /** The event after which the graph is shown. */
  #shown = '';
  /** As it was observed: asking for it would lay the whole page out before its frame does. */
  #width = 0;
  #list = element('ul', { class: 'timeline-events', hidden: true });
  #none = element('p', { class: 'count' }, 'No events yet');
  #label = element('p', { class: 'timeline-label', 'aria-hidden': 'true' });
  #svg = svgElement('svg', {
    class: 'timeline-line',
    role: 'listbox',
    tabindex: '0',
    height: HEIGHT,
    'aria-label': 'Events, the oldest first',
  });
  #span = element(
    'select',
    { id: 'timeline-span', 'aria-label': 'Events shown' },
    ...SPANS.map(([value, text]) => element('option', { value }, text)),
  );

  /** @param onOpen Called with an event that a person chooses. */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    const head = [element('h3', {}, 'Events'), this.#span, this.#label];
    this.element = element(
      'section',
      { class: 'timeline', 'aria-label': 'Time' },
      element('div', { class: 'timeline-head' }, ...head),
      this.#svg,
      this.#none,
      this.#list,
    );
    this.#span.addEventListener('change', () => this.refresh());
    this.#svg.addEventListener('keydown', (event) => {
      if (!event.altKey && !event.ctrlKey && !event.metaKey && this.#onKey(event.key)) {
        event.preventDefault();
      }
    });
    this.#svg.addEventListener('focus', () => this.#activate(this.#activeMark()));
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
    const width = this.#width;
    const nowMs = Date.now();
    const seconds = Number(this.#span.value);
    const sinceMs = Number.isNaN(seconds) ? -Infinity : nowMs - 1000 * seconds;
    const events = this.#rows.filter(({ at }) => Date.parse(at) >= sinceMs);
    this.#svg.toggleAttribute('hidden', events.length === 0);
    this.#none.hidden = events.length > 0;
    this.#none.textContent = this.#rows.length > 0 ? 'None in this time' : 'No events yet';
    if (width === 0 || events.length === 0) return;
    setAttributes(this.#svg, { width, viewBox: `0 0 ${width} ${HEIGHT}` });
    const oldestMs = Math.min(Date.parse(events.at(-1).at), nowMs - 1000);
    const room = width - 2 * MARGIN;
    const scale = {
      oldestMs,
      nowMs,
      xOf: (ms) => MARGIN + (room * (ms - oldestMs)) / (nowMs - oldestMs),
    };
    this.#marks = placeEvents(events, scale);
    this.#draw(width, scale);
  }

  #draw(width, scale) {
    const active = this.#activeMark();
    const marks = this.#marks.map((mark, index) => {
      const drawn = drawMark(mark, index, mark === active);
      drawn.addEventListener('click', () => this.#open(mark));
      drawn.addEventListener('pointerenter', () => this.#describe(mark));
      return drawn;
    });
    const axis = { x1: MARGIN, x2: width - MARGIN, y1: AXIS, y2: AXIS };
    const moment = this.#rows.find(({ id }) => id === this.#shown);
    const at = moment && scale.xOf(Date.parse(moment.at));
    this.#svg.replaceChildren(
      svgElement('line', { class: 'axis', ...axis }),
      ...drawTimes(width, scale),
      ...drawErrors(this.#errors, scale),
      ...(at === undefined
        ? []
        : [svgElement('line', { class: 'now', x1: at, x2: at, y1: 0, y2: AXIS })]),
      ...marks,
    );
    this.#mark(active);
    this.#describe(active);
  }

  #activeMark() {
    return (
      this.#marks.find(({ events }) => events.some(({ id }) => id === this.#active)) ??
      this.#marks.at(-1)
    );
  }

  #activate(mark) {
    if (mark === undefined) return;
    this.#active = mark.events[0].id;
    const index = this.#marks.indexOf(mark);
    for (const [other, drawn] of this.#svg.querySelectorAll('[role=option]').entries()) {
      drawn.setAttribute('aria-selected', other === index);
    }
    this.#mark(mark);
    this.#describe(mark);
  }

  #mark(mark) {
    const index = this.#marks.indexOf(mark);
    const id = index === -1 ? undefined : `mark-${index}`;
    setAttributes(this.#svg, { 'aria-activedescendant': id });
  }

  #describe(mark) {
    this.#label.textContent = mark === undefined ? '' : describeMark(mark);
  }

  #onKey(key) {
    const index = this.#marks.indexOf(this.#activeMark());
    const last = this.#marks.length - 1;
    const steps = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last };
    if (key === 'Enter' || key === ' ') this.#open(this.#marks[index]);
    else if (key === 'Escape') this.#list.hidden = true;
    else if (steps[key] === undefined) return false;
    else this.#activate(this.#marks[Math.min(Math.max(steps[key], 0), last)]);
    return true;
  }

  /** Opens an event, or lists those of a mark. */
  #open(mark) {
    if (mark === undefined) return;
    this.#activate(mark);
    this.#list.hidden = mark.events.length === 1;
    if (mark.events.length === 1) {
      this.#onOpen(mark.events[0]);
      return;
    }
    const listed = mark.events.slice(0, MAX_LISTED).map((event) => this.#listItem(event));
    const more = mark.events.length - listed.length;
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

/** Joins the events, the newest first, to marks from left to right. */
function placeEvents(events, { xOf }) {
  const marks = [];
  for (const event of events.toReversed()) {
    const x = xOf(Date.parse(event.at));
    const mark = marks.at(-1);
    if (mark === undefined || x - mark.x >= MARK_WIDTH) marks.push({ x, events: [event] });
    else mark.events.unshift(event);
  }
  return marks;
}

/** The times below the axis. */
function drawTimes(width, { oldestMs, nowMs, xOf }) {
  const spanMs = nowMs - oldestMs;
  const most = Math.max(1, Math.floor(width / TICK_WIDTH));
  const step = 1000 * (TICKS.find((seconds) => spanMs / (1000 * seconds) <= most) ?? TICKS.at(-1));
  const times = [];
  for (let ms = Math.ceil(oldestMs / step) * step; ms <= nowMs; ms += step) {
    const x = xOf(ms).toFixed(1);
    times.push(svgElement('line', { class: 'axis', x1: x, x2: x, y1: AXIS - 3, y2: AXIS + 3 }));
    if (x > 30 && x < width - 30) {
      times.push(svgElement('text', { x, y: HEIGHT - 4 }, timeOfDay(new Date(ms)).slice(0, 8)));
    }
  }
  return times;
}

/** The calls that failed, as bars on the axis. */
function drawErrors(errors, { oldestMs, nowMs, xOf }) {
  const highest = Math.max(...errors, 0);
  return errors.flatMap((value, index) => {
    const ms = nowMs - (errors.length - index) * TREND_MS;
    if (value === 0 || ms + TREND_MS < oldestMs) return [];
    const [x, height] = [xOf(Math.max(ms, oldestMs)), 4 + (8 * value) / highest];
    const width = Math.max(xOf(ms + TREND_MS) - x - 1, 1);
    return [svgElement('rect', { class: 'error-bar', x, y: AXIS - height, width, height })];
  });
}

function drawMark(mark, index, isActive) {
  const { x, events } = mark;
  const tones = events.map(({ kind }) => toneOf(kind));
  const tone = TONES.findLast((each) => tones.includes(each));
  const drawn = svgElement(
    'g',
    {
      id: `mark-${index}`,
      class: `event-mark ${tone}`,
      role: 'option',
      'aria-selected': isActive,
      'aria-label': describeMark(mark),
      'data-id': events[0].id,
      transform: `translate(${x.toFixed(1)} ${AXIS - 10})`,
    },
    // What is clicked is larger than what is seen.
    svgElement('rect', { class: 'target', x: -12, y: 10 - AXIS, width: 24, height: AXIS }),
    svgElement('path', { d: SHAPES[tone] }),
  );
  if (events.length > 1) drawn.append(svgElement('text', { y: -9 }, `${events.length}`));
  return drawn;
}

function describeMark({ events }) {
  const [{ at, kind, subject, text }] = events;
  if (events.length === 1) {
    const details = [`${kind} ${subject}`.trim(), text].filter(Boolean).join(': ');
    return `${ageText(at)}, ${details}`;
  }
  const kinds = new Map();
  for (const event of events) {
    const subjects = kinds.get(event.kind) ?? new Set();
    kinds.set(event.kind, subjects.add(event.subject));
  }
  const texts = [...kinds].map(([name, subjects]) => {
    const named = [...subjects].filter(Boolean).slice(0, MAX_NAMED);
    const more = subjects.size > named.length ? ` and ${subjects.size - named.length} more` : '';
    return `${name} ${named.join(', ')}${named.length > 0 ? more : ''}`.trim();
  });
  return `${ageText(at)}, ${events.length} events: ${texts.join('; ')}`;
}
