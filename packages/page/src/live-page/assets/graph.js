// The graph of a target: a picture whose nodes are walked with the keyboard, and the facts of one node or way below it.

import { isOfControlPlane, percentFailing, urgencyOf } from './graph-layout.js';
import { showChanges, showFacts, showSteps } from './graph-facts.js';
import { moveAlong } from './graph-keys.js';
import { Picture } from './graph-picture.js';
import { draw, element, setAttributes } from './dom.js';

const HINT =
  'Numbers: calls per second; ▲: the share that fails. Point at a box or a line, or use the arrow keys, for its details. Enter opens a group.';

export class GraphView {
  /** Whether anything of what calls reach is drawn. */
  hasCalls = false;
  #actions;
  #nodes = new Map();
  #edges = [];
  /** The way of an explained call, by the ids of rows; undefined without one. */
  #way;
  /** What the way depends on, as the graph had it when the way was asked for. */
  #lit = '';
  /** The row that a person looks at; before that, the node that needs a look most is shown. */
  #shown;
  #isPinned = false;
  #reason = element('p', { class: 'graph-reason' });
  #line = element('div');
  #more = element('div', { class: 'more' });
  #button = element('button', { type: 'button' }, 'Details');
  #peek = element('div', { class: 'peek' }, this.#line, this.#button);
  #facts = element(
    'div',
    { class: 'facts', hidden: true, role: 'region', 'aria-label': 'Details' },
    this.#peek,
    this.#more,
  );
  #changes = element('div', { class: 'changes', hidden: true });
  #explaining = element('p', { class: 'explaining', hidden: true });
  #steps = element('div', { class: 'steps', hidden: true });
  #picture;

  /**
   * @param actions `toggle(id, isOpen)` opens and closes a group; `choose(id)` shows a target that is a node of the graph of all;
   * `askAgain()` is called when the graph has changed in more than its rates while a way is lit.
   */
  constructor(label, actions) {
    this.#actions = actions;
    this.#picture = new Picture(label);
    const { root } = this.#picture;
    root.addEventListener('keydown', (event) => this.#press(event));
    root.addEventListener('click', (event) => this.#click(event));
    root.addEventListener('focusin', (event) => this.#look(event, true));
    root.addEventListener('pointerover', (event) => this.#look(event, false));
    this.#expand(globalThis.matchMedia('(min-width: 60rem)').matches);
    this.#peek.addEventListener('click', ({ target }) => {
      // A text that is not cut may be selected.
      if (target !== this.#button && !this.#more.hidden) return;
      this.#expand(this.#more.hidden);
      this.#more.scrollIntoView({ block: 'nearest' });
    });
    this.element = element(
      'div',
      { class: 'graph' },
      this.#reason,
      this.#explaining,
      this.#picture.element,
      this.#picture.scale,
      this.#changes,
      this.#steps,
      this.#facts,
      element('p', { class: 'hint-text' }, HINT),
    );
  }

  /** Shows the rows of a view. What has not changed stays as it is. */
  update(rows) {
    const ofKind = (kind) => rows.filter((row) => row.kind === kind);
    this.#nodes = new Map(ofKind('node').map((row) => [row.id, row]));
    this.#edges = ofKind('edge');
    // The control plane of a target is drawn also while the target has nothing that calls could reach.
    this.hasCalls = [...this.#nodes.values()].some(({ column }) => !isOfControlPlane(column));
    this.element.classList.toggle('empty', this.#nodes.size === 0);
    this.element.classList.toggle('without-calls', !this.hasCalls);
    showChanges(this.#changes, ofKind('change'));
    this.#picture.update([...this.#nodes.values()], this.#edges);
    this.#showFacts();
    if (this.#way === undefined) return;
    const now = this.#decisive();
    if (now === this.#lit) return;
    this.#lit = now;
    this.#actions.askAgain();
  }

  /** All of the graph but the rates of calls. */
  #decisive() {
    const nodes = [...this.#nodes.values()].map(({ id, state, text }) => [id, state, text]);
    return JSON.stringify([nodes, this.#edges.map(({ id, share, isUsed }) => [id, share, isUsed])]);
  }

  /** Sets what is shown where nothing of what calls reach is drawn. */
  setReason(text) {
    draw(this.#reason, text);
  }

  /** Lights the way of a call of a method, as `/api/explain` has it, and fades the others; undefined for all alike. */
  light(way, method) {
    this.#way = way;
    this.#lit = way === undefined ? '' : this.#decisive();
    this.#picture.light(this.#way);
    showSteps(this.#steps, this.#way);
    this.#explaining.hidden = way === undefined;
    if (way === undefined) return;
    draw(this.#explaining, method, () => {
      const leave = element('button', { type: 'button' }, 'Show all paths');
      leave.addEventListener('click', () => this.light(undefined));
      return [`Explaining ${method}: predicted shares `, leave];
    });
  }

  #expand(isOpen) {
    this.#more.hidden = !isOpen;
    setAttributes(this.#button, { 'aria-expanded': `${isOpen}` });
    this.#button.textContent = isOpen ? 'Hide details' : 'Details';
  }

  #showFacts() {
    const row =
      this.#nodes.get(this.#shown) ??
      this.#edges.find(({ id }) => id === this.#shown) ??
      worstOf([...this.#nodes.values()]);
    this.#picture.select(row?.id);
    this.#facts.hidden = row === undefined;
    if (row === undefined) return;
    showFacts(this.#line, this.#more, row, { nodes: this.#nodes, edges: this.#edges });
  }

  #look({ target }, isPinned) {
    const id = this.#picture.idOf(target);
    if (id === undefined || (this.#isPinned && !isPinned)) return;
    this.#shown = id;
    this.#isPinned = isPinned && this.#nodes.has(id);
    this.#showFacts();
  }

  #click({ target }) {
    this.#isPinned = false;
    const id = this.#picture.idOf(target);
    if (this.#nodes.has(id)) {
      this.#picture.focus(id);
      this.#open(id);
    }
  }

  #press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const id = this.#picture.idOf(event.target);
    if (id === undefined) return;
    if (event.key === 'Enter' || event.key === ' ') this.#open(id);
    else {
      const next = moveAlong(event.key, id, {
        nodes: this.#picture.inOrder(),
        edges: this.#edges,
      });
      if (next === undefined) return;
      this.#picture.focus(next);
    }
    event.preventDefault();
  }

  #open(id) {
    const { opens, isOpen, shows } = this.#nodes.get(id);
    if (shows !== undefined) this.#actions.choose(shows);
    if (opens !== undefined) this.#actions.toggle(opens, !isOpen);
  }
}

/**
 * Returns the node that needs a look most: the last one on the way of the calls where most of them fail or, if none does, of several one
 * that says since when; undefined if none needs one.
 */
function worstOf(nodes) {
  const ranks = nodes.map((row, index) => {
    // Where no connection is ready, that is what is wrong.
    const failing = row.state === 'failing' ? 0 : percentFailing(row);
    return [urgencyOf(row), failing, row.since === undefined ? 0 : 1, failing > 0 ? index : -index];
  });
  const worst = ranks.reduce((most, rank) => (compareRanks(rank, most) > 0 ? rank : most), [0]);
  return nodes[ranks.indexOf(worst)];
}

function compareRanks(a, b) {
  const index = a.findIndex((rank, i) => rank !== b[i]);
  return index === -1 ? 0 : a[index] - b[index];
}
