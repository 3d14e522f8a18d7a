// A table whose rows stay the same elements while they describe the same thing, so that the focus stays where it is.

import { element } from './dom.js';

export class Table {
  #rows = new Map();
  #columns;
  #body = element('tbody', { role: 'rowgroup' });

  /**
   * @param columns Each with `title`, and `cell(row)`, which returns nodes and texts, or nothing.
   */
  constructor({ label, columns }) {
    this.#columns = columns;
    const titles = columns.map(({ title, name }) =>
      element('th', { role: 'columnheader', scope: 'col', class: name }, title),
    );
    this.element = element(
      'table',
      { role: 'table', 'aria-label': label },
      element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...titles)),
      this.#body,
    );
  }

  /** Shows these rows. */
  update(rows) {
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
    this.#columns.forEach(({ cell }, index) => fill(line.children[index], cell(row)));
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
