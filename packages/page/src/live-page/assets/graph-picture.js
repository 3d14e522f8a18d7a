// The picture of the graph: boxes of HTML above the lines of an SVG. Elements are kept by the ids of rows: an update changes only what
// differs.

import {
  boxText,
  failuresIn,
  findCuts,
  flawOfCalls,
  getOrMake,
  isOfControlPlane,
  layOut,
  MAX_WIDTH,
  number,
  percent,
  percentFailing,
  signed,
  TALL_HEIGHT,
  withRates,
} from './graph-layout.js';
import { CHANGE_TONES, draw, element, lookOf, setAttributes, svgElement } from './dom.js';
import { nodeLabel } from './graph-facts.js';

/** The width of a character, roughly, and what a box has beside its name. */
const CHARACTER = 7;
const SIDES = 36;
/** What the names of targets begin with, also of one that is alone. */
const SCHEME = 'xds:///';

const isControl = ({ column }) => isOfControlPlane(column);

export class Picture {
  root = element('div', { role: 'group', class: 'mesh' });
  element = element('div', { class: 'picture' }, this.root);
  #lines = svgElement('svg', { 'aria-hidden': 'true' });
  #labels = svgElement('g');
  #headings = svgElement('g');
  /** What widths and dashes mean. */
  scale = element('p', { class: 'scale' });
  #elements = new Map();
  /** Where the names of boxes may be cut, by the ids of their rows. */
  #cuts = new Map();
  #nodes = [];
  #edges = [];
  #placed = { width: 0, height: 0, headings: [], nodes: [], edges: [] };
  #drawn = '';
  /** The way of an explained call. */
  #way;
  #tabStop;
  /** The row whose facts are shown. */
  #selected;
  /** The width as it was observed: asking for it would lay the whole page out before its frame does. */
  #room = 0;

  constructor(label) {
    setAttributes(this.root, { 'aria-label': label });
    this.#lines.append(arrowhead(), this.#headings, this.#labels);
    this.root.append(this.#lines);
    new ResizeObserver(([{ contentRect }]) => {
      this.#room = contentRect.width;
      this.#draw();
    }).observe(this.element);
  }

  update(nodes, edges) {
    [this.#nodes, this.#edges] = [nodes, edges];
    const isCompared = [...nodes, ...edges].some(({ change }) => change !== undefined);
    this.root.classList.toggle('compared', isCompared);
    this.#draw();
  }

  /** Fades what is not on a way, and shows the shares of a split beside it; undefined for none. */
  light(way) {
    this.#way = way;
    this.#showWay();
  }

  /** The nodes from top to bottom, each with the layer that it is in. */
  inOrder() {
    return this.#placed.nodes
      .map(({ id, x, y }) => ({ id, layer: x, y }))
      .sort((a, b) => a.layer - b.layer || a.y - b.y);
  }

  /** The id of the row that an element of the picture is of. */
  idOf(target) {
    return target.closest?.('[data-id]')?.dataset.id;
  }

  focus(id) {
    this.#setTabStop(id);
    this.#elements.get(id)?.focus();
  }

  /** Marks the box or the line whose facts are shown; undefined for none. */
  select(id) {
    this.#selected = id;
    this.#showSelected();
  }

  #showSelected() {
    for (const [id, own] of this.#elements)
      setAttributes(own, { 'aria-current': id === this.#selected ? 'true' : undefined });
  }

  #showWay() {
    const { nodes = [], edges = [] } = this.#way ?? {};
    this.root.classList.toggle('explained', this.#way !== undefined);
    const shares = new Map([...nodes, ...edges].map(({ id, share }) => [id, share]));
    for (const [id, own] of this.#elements) own.classList.toggle('on-way', shares.get(id) > 0);
    this.#labels.replaceChildren(...this.#placed.edges.flatMap((edge) => labelOf(edge, shares)));
  }

  #draw() {
    // A picture that is not shown yet is drawn when it is.
    if (this.#room === 0 && this.#nodes.length > 0) return;
    const [nodes, edges] = [this.#nodes, this.#edges];
    const drawn = JSON.stringify([this.#room, nodes.map(({ id }) => id), edges]);
    if (drawn !== this.#drawn) {
      const isFirst = this.#placed.nodes.length === 0;
      this.#drawn = drawn;
      this.#place(
        layOut({ target: '', nodes, edges }, { room: this.#room, findRate: ({ rate }) => rate }),
      );
      if (isFirst && nodes.length > 0) markAfterFrame('graph drawn');
    }
    for (const row of nodes) this.#fill(this.#elements.get(row.id), row);
  }

  #place(placed) {
    this.#placed = placed;
    const { width, height, headings, nodes, edges, widestRate } = placed;
    draw(this.scale, [widestRate], () => describeScale(widestRate));
    const names = Map.groupBy(nodes, ({ column }) => column);
    const cuts = new Map(
      [...names].map(([column, own]) => [
        column,
        findCuts([...own.map(({ name }) => name), SCHEME]),
      ]),
    );
    this.#cuts = new Map(nodes.map(({ id, column, name }) => [id, cuts.get(column).get(name)]));
    setAttributes(this.#lines, { width, height, viewBox: `0 0 ${width} ${height}` });
    this.#headings.replaceChildren(
      ...headings.map(({ text, x, y }) => svgElement('text', { x, y, class: 'heading' }, text)),
    );
    const ids = new Set([...nodes, ...edges].map(({ id }) => id));
    for (const [id, own] of this.#elements) {
      if (ids.has(id)) continue;
      own.remove();
      this.#elements.delete(id);
    }
    const control = new Set(nodes.filter(isControl).map(({ id }) => id));
    for (const edge of edges) this.#placeEdge(edge, control.has(edge.from));
    for (const node of nodes) this.#placeNode(node);
    if (!ids.has(this.#tabStop)) this.#setTabStop(nodes[0]?.id);
    this.#showWay();
    this.#showSelected();
  }

  /** @param isConnection Whether it leads to a management server, and not where calls go. */
  #placeEdge({ id, path, width, isUsed, change, ...row }, isConnection) {
    const own = getOrMake(this.#elements, id, () => {
      const line = svgElement('path', { 'data-id': id, 'marker-end': 'url(#arrow)' });
      this.#labels.before(line);
      return line;
    });
    // It took some of the calls whose rates are shown.
    const hasCalls = isUsed || row.rate > 0;
    const classes = [
      'edge',
      ...(hasCalls ? [] : ['unused']),
      ...(isConnection ? ['connection'] : []),
      ...failureClass(row),
    ];
    // What takes calls is in front of what does not.
    if (own.classList.contains('unused') === hasCalls) {
      (hasCalls ? this.#labels : this.#headings).before(own);
    }
    setAttributes(own, {
      class: classes.join(' '),
      d: path,
      'stroke-width': width.toFixed(1),
      'data-change': change,
      'data-tone': CHANGE_TONES[change],
    });
  }

  #placeNode({ id, x, y, width, height }) {
    const own = getOrMake(this.#elements, id, () => {
      const parts = ['mark', 'name', 'sub'].map((name) => element('span', { class: name }));
      const attributes = { type: 'button', class: 'node', 'data-id': id, tabindex: '-1' };
      const box = element('button', attributes, ...parts.flatMap((part) => [part, ' ']));
      this.root.append(box);
      return box;
    });
    own.classList.toggle('tall', height >= TALL_HEIGHT);
    const style = { left: x, top: y, width, height };
    for (const [name, value] of Object.entries(style)) own.style.setProperty(name, `${value}px`);
  }

  #fill(own, row) {
    const { name, state, flaw, text, opens, isOpen, change } = row;
    const look = lookOf(state, flaw);
    const rates = this.#ratesOf(row);
    const beside = this.#hasLabel(row) || rates.length === 0 ? undefined : rates.join(', ');
    const [width, height] = [own.style.width, own.style.height].map(Number.parseFloat);
    const size = { width: width - CHARACTER * (beside?.length ?? 0), height };
    const shown = withRates(boxText(row, size), beside === undefined ? rates : [], size);
    setAttributes(own, {
      'data-state': state,
      'data-tone': CHANGE_TONES[change] ?? look.tone,
      'data-flaw': flaw !== undefined && look.tone === 'busy',
      'data-change': change,
      'aria-label': nodeLabel(row, shown.words),
      'aria-expanded': opens === undefined ? undefined : `${isOpen}`,
      'data-number': beside,
      title: [name, look.text, text].filter(Boolean).join('\n'),
    });
    const sign = opens === undefined ? '' : isOpen ? '▾ ' : '▸ ';
    const from = this.#startOf(row.id, name, size.width);
    const shownName = signed(change, name.slice(from));
    const texts = [look.mark, `${sign}${shownName}`, shown.words];
    // They change too often to be in the name for screen readers, which has all that is text here.
    setAttributes(own.children[2], { 'data-rates': shown.rates });
    setAttributes(own.children[1], { 'data-cut': from > 0 });
    texts.forEach((each, index) => {
      const part = own.children[index];
      if (part.textContent !== each) part.textContent = each;
    });
  }

  /** Where a name begins to be shown: of what it has in common with others, as much is left out as does not fit. */
  #startOf(id, name, width) {
    const room = Math.floor((width - SIDES) / CHARACTER);
    const cuts = this.#cuts.get(id);
    if (name.length <= room || cuts.length === 0) return 0;
    return cuts.find((cut) => name.length - cut < room) ?? cuts.at(-1);
  }

  /** What takes no calls and is not ready is not idle. */
  #ratesOf({ rate, lostRate, p99, state }) {
    if (rate === undefined) return [];
    if (rate === 0 && lostRate > 0) return [`was ${number(lostRate)}/s`];
    if (rate === 0 && state !== 'ready') return [];
    return [`${number(rate)}/s`, ...(p99 === undefined ? [] : [`p99 ${number(p99)} ms`])];
  }

  /** Whether a line to a box, or else from it, has room for a number. Where none has, the number is at the side of the box. */
  #hasLabel({ id }) {
    const { edges } = this.#placed;
    const incoming = edges.filter(({ to }) => to === id);
    const own = incoming.length > 0 ? incoming : edges.filter(({ from }) => from === id);
    return own.some(({ label }) => label !== undefined);
  }

  #setTabStop(id) {
    this.#elements.get(this.#tabStop)?.setAttribute('tabindex', '-1');
    this.#tabStop = id;
    this.#elements.get(id)?.setAttribute('tabindex', '0');
  }
}

/** The end of each line, in its colour. */
function arrowhead() {
  const size = { viewBox: '0 0 6 12', markerWidth: 6, markerHeight: 12, refY: 6 };
  const tip = svgElement('path', { class: 'arrow', d: 'M0,0L6,6L0,12Z' });
  return svgElement('marker', { id: 'arrow', ...size, markerUnits: 'userSpaceOnUse' }, tip);
}

/** Says how wide a line is for how many calls. @param widestRate Undefined where the weights decide. */
function describeScale(widestRate) {
  const texts =
    widestRate === undefined
      ? ['all calls, by weight', 'a quarter']
      : [`${number(widestRate)} calls/s`, `${number(widestRate / 4)} calls/s`];
  const sample = (text, name, width) => {
    const line = { class: name, d: 'M0,6H20', 'stroke-width': width, 'marker-end': 'url(#arrow)' };
    const size = { width: 26, height: 12, 'aria-hidden': 'true' };
    return element('span', {}, svgElement('svg', size, svgElement('path', line)), ` ${text}`);
  };
  return [
    sample(texts[0], 'edge', MAX_WIDTH),
    sample(texts[1], 'edge', MAX_WIDTH / 4),
    sample('no calls now', 'edge unused', 1.5),
  ];
}

/** What is beside a line: its share in an explained call, what an event has changed, or else how many calls it has. */
function labelOf({ id, label, rate, change, share, ...row }, shares) {
  if (label === undefined) return [];
  const lit = shares.get(id);
  const attributes = { x: label.x.toFixed(1), y: label.y.toFixed(1) };
  const write = (text, name) => [svgElement('text', { ...attributes, class: name }, text)];
  if (lit !== undefined) return lit === 0 || lit === 1 ? [] : write(percent(lit), 'share');
  if (change !== undefined) {
    return write(signed(change, share === undefined ? '' : percent(share)), 'share');
  }
  if (rate === undefined || (rate === 0 && !row.isUsed)) return [];
  const failed = percentFailing({ rate, ...row });
  if (failed === 0) return write(number(rate));
  // Above its line: there is no room for both beside each other. A share is longer than a number, and begins nearer to the arrowhead.
  const [name] = failureClass({ rate, ...row });
  const own = { x: (label.x + 5).toFixed(1), class: name };
  return [
    svgElement('text', { ...own, y: (label.y - 12).toFixed(1) }, number(rate)),
    svgElement('text', { ...own, y: attributes.y }, `▲${failed} %`),
  ];
}

/** Whether many of the calls of a line fail, or a few; nothing if none does. */
function failureClass(row) {
  const failures = failuresIn(flawOfCalls(row));
  if (failures === undefined) return [];
  return [failures === 'many' ? 'failing' : 'some-failing'];
}

/** Notes the time at which the present frame is over: the tools of a browser show it among their timings. */
function markAfterFrame(name) {
  globalThis.requestAnimationFrame(() => setTimeout(() => performance.mark(name)));
}
