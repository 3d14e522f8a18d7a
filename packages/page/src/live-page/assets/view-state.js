// The views as they are after the messages so far.

/** A view without rows. */
export const EMPTY = { total: 0, offset: 0, rows: [] };

export class ViewStates {
  #views = new Map();

  /** Applies a message. A snapshot replaces everything. */
  apply({ revision, views }) {
    if (revision === 1) this.#views.clear();
    for (const [name, { total, offset, order, rows }] of Object.entries(views)) {
      const view = this.#views.get(name) ?? { order: [], rows: new Map() };
      for (const row of rows) view.rows.set(row.id, row);
      if (order !== undefined) {
        const kept = new Set(order);
        for (const id of view.rows.keys()) if (!kept.has(id)) view.rows.delete(id);
      }
      this.#views.set(name, { total, offset, order: order ?? view.order, rows: view.rows });
    }
    return Object.keys(views);
  }

  /** Whether a view has been received. */
  has(name) {
    return this.#views.has(name);
  }

  /** Returns the rows of a view, in order. */
  get(name) {
    const view = this.#views.get(name);
    if (view === undefined) return EMPTY;
    const { total, offset, order, rows } = view;
    return { total, offset, rows: order.map((id) => rows.get(id)) };
  }
}
