// A table whose rows stay the same elements while they describe the same thing, so that the focus stays where it is.

import { element, setAttributes } from './dom.js';

export class Table {
  #rows = new Map();
  #columns;
  #body = element('tbody', { role: 'rowgroup' });

  /**
   * @param columns Each with `title`, and `cell(row)`, which returns nodes and texts, or nothing.
   * @param role That of the table; rows get the attributes of `rowAttributes(row)`.
   */
  constructor({ label, columns, role = 'table', rowAttributes = () => ({}) }) {
    this.#columns = columns;
    this.rowAttributes = rowAttributes;
    this.cellRole = role === 'table' ? 'cell' : 'gridcell';
    const titles = columns.map(({ title, name }) =>
      element('th', { role: 'columnheader', scope: 'col', class: name }, title),
    );
    this.element = element(
      'table',
      { role, 'aria-label': label },
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

  /** The element of a row. */
  find(id) {
    return this.#rows.get(id)?.line;
  }

  get lines() {
    return [...this.#body.children];
  }

  #line(row) {
    const known = this.#rows.get(row.id);
    if (known?.row === row) return known.line;
    const line = known?.line ?? this.#createLine(row);
    this.#rows.set(row.id, { line, row });
    setAttributes(line, this.rowAttributes(row));
    this.#columns.forEach(({ cell }, index) => fill(line.children[index], cell(row)));
    return line;
  }

  #createLine({ id }) {
    const cells = this.#columns.map(({ title, name }) =>
      element('td', { role: this.cellRole, 'data-label': title, class: name }),
    );
    return element('tr', { role: 'row', 'data-id': id }, ...cells);
  }
}

/** Replaces what is in a cell if it has changed, and keeps a button in it, which may have the focus. */
function fill(cell, content) {
  const nodes = [content ?? []].flat();
  const [first, ...others] = nodes;
  const old = cell.firstElementChild;
  if (old?.tagName === 'BUTTON' && first?.tagName === 'BUTTON') {
    if (old.textContent !== first.textContent) old.textContent = first.textContent;
    setAttributes(old, { 'aria-current': first.getAttribute('aria-current') ?? undefined });
    while (old.nextSibling !== null) old.nextSibling.remove();
    cell.append(...others);
    return;
  }
  cell.replaceChildren(...nodes.map((node) => (typeof node === 'number' ? `${node}` : node)));
}
