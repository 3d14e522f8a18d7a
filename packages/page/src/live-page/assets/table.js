// A table whose rows stay the same elements while they describe the same thing, so that the focus stays where it is, and what turns
// its pages.

import { element } from './dom.js';
import { counted } from './graph-layout.js';

export class Table {
  /** The first row of the page that is requested. */
  offset = 0;
  #rows = new Map();
  #columns;
  #pageSize;
  #actions;
  #body = element('tbody', { role: 'rowgroup' });
  #range = element('span', { class: 'range' });
  #previous = this.#createTurn('Previous', -1);
  #next = this.#createTurn('Next', 1);

  /**
   * @param columns Each with `name`, `title`, and `cell(row, name, actions)`, which returns nodes and texts, or nothing.
   * @param pageSize The rows of a page, as the process has them.
   * @param actions What a cell can do, such as `show(id)`, and `turn()`, which requests another page.
   */
  constructor({ label, columns, pageSize = 100 }, actions) {
    [this.#columns, this.#pageSize, this.#actions] = [columns, pageSize, actions];
    const titles = columns.map(({ title, name }) =>
      element('th', { role: 'columnheader', scope: 'col', class: name }, title),
    );
    const table = element(
      'table',
      { role: 'table', 'aria-label': label },
      element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...titles)),
      this.#body,
    );
    this.elements = [
      table,
      element('p', { class: 'pager' }, this.#range, this.#previous, this.#next),
    ];
  }

  /**
   * Shows rows of a view.
   *
   * @param shown Those of them that are searched for. Default: all.
   * @param none What is said where there is none.
   * @param all What is said where all are shown.
   */
  update({ total, offset, rows, shown = rows }, none, all = counted(total, 'row')) {
    this.#updateRows(shown);
    this.offset = offset;
    const last = offset + rows.length;
    const isPart = rows.length < total;
    const range = isPart ? `Rows ${offset + 1} to ${last} of ${total}` : all;
    this.#range.textContent = total === 0 ? none : range;
    this.#previous.hidden = this.#next.hidden = !isPart;
    this.#previous.disabled = offset === 0;
    this.#next.disabled = last >= total;
  }

  #createTurn(title, step) {
    const button = element('button', { type: 'button', hidden: true }, title);
    button.addEventListener('click', () => {
      this.offset = Math.max(0, this.offset + step * this.#pageSize);
      this.#actions.turn();
    });
    return button;
  }

  #updateRows(rows) {
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, { line }] of this.#rows) {
      if (ids.has(id)) continue;
      line.remove();
      this.#rows.delete(id);
    }
    let next = this.#body.firstElementChild;
    for (const row of rows) {
      const line = this.#line(row);
      if (line === next) next = next.nextElementSibling;
      else this.#body.insertBefore(line, next);
    }
  }

  #line(row) {
    const known = this.#rows.get(row.id);
    const text = JSON.stringify(row);
    if (known?.text === text) return known.line;
    const line = known?.line ?? this.#createLine(row);
    this.#rows.set(row.id, { line, text });
    this.#columns.forEach(({ name, cell }, index) =>
      fill(line.children[index], cell(row, name, this.#actions)),
    );
    return line;
  }

  #createLine({ id }) {
    const cells = this.#columns.map(({ title, name }) =>
      element('td', { role: 'cell', 'data-label': title, class: name }),
    );
    return element('tr', { role: 'row', 'data-id': id }, ...cells);
  }
}

/** Replaces what is in a cell if it has changed: a person may be pressing a button. The focus on one stays. */
function fill(cell, content) {
  const next = element('td', {}, ...[content ?? []].flat());
  if (cell.innerHTML === next.innerHTML) return;
  const isFocused = cell.querySelector('button:focus') !== null;
  cell.replaceChildren(...next.childNodes);
  if (isFocused) cell.querySelector('button')?.focus();
}
