// The line with the last events of a target, the newest at the right. Events close to each other are one mark.

import {
  ageText,
  element,
  setAttributes,
  stateBadge,
  svgElement,
  timeOfDay,
  toneOf,
} from './dom.js';

const HEIGHT = 40;
/** The width that a mark has for itself, and the space left and right of the line. */
const MARK_WIDTH = 20;
const MARGIN = 12;
/** Events that are listed of one mark. */
const MAX_LISTED = 50;
const SPANS = [
  ['all', 'all'],
  ['300', 'last 5 minutes'],
  ['3600', 'last hour'],
];
const TONES = ['plain', 'good', 'busy', 'bad'];
const SHAPES = {
  plain: 'M-5 -5H5V5H-5Z',
  good: 'M-6 0A6 6 0 1 0 6 0A6 6 0 1 0 -6 0Z',
  busy: 'M-5 -5H5V5H-5Z',
  bad: 'M0 -7L7 0L0 7L-7 0Z',
  endpoint: 'M0 -7L7 6H-7Z',
};

export class Timeline {
  #onOpen;
  #rows = [];
  #marks = [];
  /** The event whose mark is active: it may be joined by others. */
  #active;
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
    { id: 'timeline-span' },
    ...SPANS.map(([value, text]) => element('option', { value }, text)),
  );

  /** @param onOpen Called with the id of an event that a person chooses. */
  constructor(onOpen) {
    this.#onOpen = onOpen;
    const title = element('h3', {}, 'Events');
    const choice = element('label', {}, 'Shown: ', this.#span);
    this.element = element(
      'section',
      { class: 'timeline', 'aria-label': 'Time' },
      element('div', { class: 'timeline-head' }, title, choice, this.#label),
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

  /** Places the events anew: time has gone on, or the page has another width. */
  refresh() {
    const width = this.#width;
    const seconds = Number(this.#span.value);
    const nowMs = Date.now();
    const sinceMs = Number.isNaN(seconds) ? -Infinity : nowMs - 1000 * seconds;
    const events = this.#rows.filter(({ at }) => Date.parse(at) >= sinceMs);
    this.#svg.toggleAttribute('hidden', events.length === 0);
    this.#none.hidden = events.length > 0;
    this.#none.textContent = this.#rows.length > 0 ? 'None in this time' : 'No events yet';
    if (width === 0) return;
    setAttributes(this.#svg, { width, viewBox: `0 0 ${width} ${HEIGHT}` });
    this.#marks = placeEvents(events, { width, nowMs });
    this.#draw(width);
  }

  #draw(width) {
    const middle = HEIGHT / 2;
    const active = this.#activeMark();
    const marks = this.#marks.map((mark, index) => {
      const drawn = drawMark(mark, index, mark === active);
      drawn.addEventListener('click', () => this.#open(mark));
      drawn.addEventListener('pointerenter', () => this.#describe(mark));
      return drawn;
    });
    const axis = { x1: MARGIN, x2: width - MARGIN, y1: middle, y2: middle };
    this.#svg.replaceChildren(svgElement('line', { class: 'axis', ...axis }), ...marks);
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
      this.#onOpen(mark.events[0].id);
      return;
    }
    const listed = mark.events.slice(0, MAX_LISTED).map((event) => this.#listItem(event));
    const more = mark.events.length - listed.length;
    if (more > 0) listed.push(element('li', {}, `and ${more} earlier ones: see the view Events`));
    this.#list.replaceChildren(...listed);
    this.#list.querySelector('button').focus();
  }

  #listItem({ id, at, kind, subject, text }) {
    const open = element('button', { type: 'button' }, subject || kind);
    open.addEventListener('click', () => this.#onOpen(id));
    return element('li', {}, stateBadge(kind), ' ', open, ` ${text} `, timeOf(at));
  }
}

function timeOf(at) {
  return element('span', { class: 'count' }, timeOfDay(new Date(at)));
}

/** Joins the events, the newest first, to marks from left to right. */
function placeEvents(events, { width, nowMs }) {
  const oldestMs = Date.parse(events.at(-1)?.at ?? 0);
  const spanMs = Math.max(nowMs - oldestMs, 1);
  const room = width - 2 * MARGIN;
  const marks = new Map();
  for (const event of events.toReversed()) {
    const x = (room * (Date.parse(event.at) - oldestMs)) / spanMs;
    const slot = Math.min(Math.floor(x / MARK_WIDTH), Math.floor(room / MARK_WIDTH));
    const mark = marks.get(slot);
    if (mark === undefined) marks.set(slot, { x: MARGIN + Math.min(x, room), events: [event] });
    else mark.events.unshift(event);
  }
  return [...marks.values()];
}

function drawMark(mark, index, isActive) {
  const { x, events } = mark;
  const tones = events.map(({ kind }) => toneOf(kind));
  const tone = TONES.findLast((each) => tones.includes(each));
  const worst = events[tones.indexOf(tone)];
  const shape = worst.kind === 'endpoint-ejected' ? SHAPES.endpoint : SHAPES[tone];
  const drawn = svgElement(
    'g',
    {
      id: `mark-${index}`,
      class: `event-mark ${tone}`,
      role: 'option',
      'aria-selected': isActive,
      'aria-label': describeMark(mark),
      'data-id': events[0].id,
      transform: `translate(${x.toFixed(1)} ${HEIGHT / 2})`,
    },
    // What is clicked is larger than what is seen.
    svgElement('rect', { class: 'target', x: -12, y: -HEIGHT / 2, width: 24, height: HEIGHT }),
    svgElement('path', { d: shape }),
  );
  if (events.length > 1) {
    const count = svgElement('text', { y: HEIGHT / 2 - 2, 'text-anchor': 'middle' });
    count.textContent = `${events.length}`;
    drawn.append(count);
  }
  return drawn;
}

function describeMark({ events }) {
  const [{ at, kind, subject, text }] = events;
  if (events.length === 1) {
    const details = [`${kind} ${subject}`.trim(), text].filter(Boolean).join(': ');
    return `${ageText(at)}, ${details}`;
  }
  const counts = new Map();
  for (const event of events) counts.set(event.kind, (counts.get(event.kind) ?? 0) + 1);
  const texts = [...counts].map(([name, count]) => `${count} ${name}`);
  return `${ageText(at)}, ${events.length} events: ${texts.join(', ')}`;
}
