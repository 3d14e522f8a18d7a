// The picture of the graph. Elements are kept by the ids of rows: an update changes only what differs.

import { countLayers, isOfControlPlane, layOut } from './graph-layout.js';
import { element, setAttributes, svgElement } from './dom.js';
import { changeSign, nodeLabel, percent } from './graph-facts.js';

/** A column is at least this wide; what does not fit is scrolled to. */
const MIN_COLUMN_WIDTH = 176;
/** What a layout has beside its columns. */
const SIDES = 56;
/** Room for a target that can be hit, and half as much between two. */
const ROW_HEIGHT = 48;
const HIT_HEIGHT = 24;
/** A bar without calls is seen, too. */
const BAR_HEIGHT = 12;
const CHARACTER_WIDTH = 8;
/** Of more nodes, places are improved once: a frame has 50 ms. */
const MANY_NODES = 120;

/** A mark for each state, so that colour is not the only difference. */
const MARKS = {
  ok: '●',
  idle: '○',
  unused: '◌',
  draining: '◐',
  degraded: '◭',
  'over-limit': '◆',
  ejected: '✕',
  failing: '▲',
};

const isControl = ({ column }) => isOfControlPlane(column);

export class Picture {
  root = svgElement('svg', { role: 'group', class: 'mesh' });
  element = element('div', { class: 'picture' });
  #edgeLayer = svgElement('g', { 'aria-hidden': 'true' });
  #labelLayer = svgElement('g', { 'aria-hidden': 'true' });
  #nodeLayer = svgElement('g');
  #elements = new Map();
  #labels = new Map();
  #nodes = [];
  #edges = [];
  #placed = { width: 0, height: 0, nodes: [], edges: [] };
  #drawn = '';
  /** The way of an explained call. */
  #way;
  #tabStop;
  #columnWidth = MIN_COLUMN_WIDTH;
  /** The width as it was observed: asking for it would lay the whole page out before its frame does. */
  #room = 0;

  constructor(label) {
    setAttributes(this.root, { 'aria-label': label });
    this.root.append(this.#edgeLayer, this.#labelLayer, this.#nodeLayer);
    this.element.append(this.root);
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

  #showWay() {
    const way = this.#way;
    this.root.classList.toggle('explained', way !== undefined);
    const shares = new Map(
      [...(way?.nodes ?? []), ...(way?.edges ?? [])].map(({ id, share }) => [id, share]),
    );
    for (const [id, own] of this.#elements) {
      own.classList.toggle('on-way', shares.get(id) > 0);
      own.classList.toggle('off-way', shares.get(id) === 0);
    }
    this.#labelEdges(way?.edges ?? []);
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

  #draw() {
    const room = this.#room;
    // A picture that is not shown yet is drawn when it is.
    if (room === 0 || this.#nodes.length === 0) {
      if (this.#nodes.length === 0) this.#place({ width: 0, height: 0, nodes: [], edges: [] });
      return;
    }
    const drawn = JSON.stringify([room, this.#nodes.map(({ id }) => id), this.#edges]);
    if (drawn === this.#drawn) {
      for (const row of this.#nodes) this.#fill(this.#elements.get(row.id), row);
      return;
    }
    const isFirst = this.#drawn === '';
    this.#drawn = drawn;
    this.#place(this.#layOut(room));
    if (isFirst) markAfterFrame('graph drawn');
  }

  #layOut(room) {
    const layers = countLayers({ nodes: this.#nodes, edges: this.#edges });
    this.#columnWidth = Math.max(MIN_COLUMN_WIDTH, Math.floor((room - SIDES) / layers));
    const before = new Map(this.#placed.nodes.map(({ id, y }) => [id, y]));
    const isKnown = this.#nodes.every(({ id }) => before.has(id));
    return layOut(
      { target: '', nodes: this.#nodes, edges: this.#edges },
      {
        findRate: ({ rate }) => rate,
        columnWidth: this.#columnWidth,
        rowHeight: ROW_HEIGHT,
        ...(this.#nodes.length > MANY_NODES && { iterations: 1 }),
        // The same nodes keep their order, however their traffic changes.
        ...(isKnown && { compare: (a, b) => (before.get(a.id) ?? 0) - (before.get(b.id) ?? 0) }),
      },
    );
  }

  #place(placed) {
    this.#placed = placed;
    const { width, height, nodes, edges } = placed;
    setAttributes(this.root, { width, height, viewBox: `0 0 ${width} ${height}` });
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
  }

  /** @param isConnection Whether it leads to a management server, and not where calls go. */
  #placeEdge({ id, path, width, isUsed, change }, isConnection) {
    let own = this.#elements.get(id);
    if (own === undefined) {
      own = svgElement('path', { class: 'edge', 'data-id': id, fill: 'none' });
      this.#elements.set(id, own);
      this.#edgeLayer.append(own);
    }
    own.classList.toggle('unused', !isUsed);
    own.classList.toggle('connection', isConnection);
    setAttributes(own, { d: path, 'stroke-width': width.toFixed(1), 'data-change': change });
  }

  #placeNode(row) {
    const { id, x, y, width, height } = row;
    let own = this.#elements.get(id);
    if (own === undefined) {
      own = svgElement(
        'g',
        { class: 'node', 'data-id': id, role: 'button', tabindex: '-1' },
        svgElement('rect', { class: 'hit', rx: 3 }),
        svgElement('rect', { class: 'bar', rx: 2 }),
        // It clips a name that is too long.
        svgElement(
          'svg',
          { height: HIT_HEIGHT },
          svgElement(
            'text',
            { y: '50%', dy: '0.35em' },
            svgElement('tspan', { class: 'mark' }),
            ' ',
          ),
        ),
      );
      this.#elements.set(id, own);
      this.#nodeLayer.append(own);
    }
    const [hit, bar, label] = own.children;
    const middle = y + height / 2;
    const top = middle - HIT_HEIGHT / 2;
    const room = this.#columnWidth - width - 16;
    // What is beside a name is of the lines.
    const hitWidth = width + 8 + Math.min((row.name.length + 4) * CHARACTER_WIDTH, room);
    setAttributes(hit, { x: x - 4, y: top, width: hitWidth, height: HIT_HEIGHT });
    setAttributes(label, { x: x + width + 5, y: top, width: room });
    const barHeight = Math.max(height, BAR_HEIGHT);
    setAttributes(bar, { x, y: middle - barHeight / 2, width, height: barHeight });
    this.#fill(own, row);
  }

  #fill(own, row) {
    const { name, state, opens, isOpen, change } = row;
    setAttributes(own, {
      'data-state': state,
      'data-change': change,
      'aria-label': nodeLabel(row),
      'aria-expanded': opens === undefined ? undefined : `${isOpen}`,
    });
    const shown = `${opens === undefined ? '' : isOpen ? ' ▾' : ' ▸'} ${changeSign(change)}${name}`;
    const [mark, text] = own.lastElementChild.firstElementChild.childNodes;
    if (mark.textContent !== MARKS[state]) mark.textContent = MARKS[state];
    if (text.data !== shown) text.data = shown;
  }

  /** Writes the shares of a split beside it, and what an event has changed of a way. */
  #labelEdges(edges) {
    for (const label of this.#labels.values()) label.remove();
    this.#labels.clear();
    for (const { id, share } of edges) {
      if (share !== 0 && share !== 1) this.#labelEdge(id, percent(share));
    }
    for (const { id, change, share } of this.#edges) {
      if (change === undefined) continue;
      this.#labelEdge(id, `${changeSign(change)}${share === undefined ? '' : percent(share)}`);
    }
  }

  #labelEdge(id, text) {
    const own = this.#elements.get(id);
    if (own === undefined || this.#labels.has(id)) return;
    const { x, y } = own.getPointAtLength(own.getTotalLength() * 0.75);
    const label = svgElement('text', { class: 'share', x, y: y - 6, 'text-anchor': 'middle' });
    label.textContent = text;
    this.#labels.set(id, label);
    this.#labelLayer.append(label);
  }

  #setTabStop(id) {
    this.#elements.get(this.#tabStop)?.setAttribute('tabindex', '-1');
    this.#tabStop = id;
    this.#elements.get(id)?.setAttribute('tabindex', '0');
  }
}

/** Notes the time at which the present frame is over: the tools of a browser show it among their timings. */
function markAfterFrame(name) {
  globalThis.requestAnimationFrame(() => setTimeout(() => performance.mark(name)));
}
