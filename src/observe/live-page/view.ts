/** A value in a row, as plain JSON. */
export type Cell = string | number | boolean | readonly string[];

/** A row of a view. Its id stays the same while it describes the same thing. */
export interface Row {
  readonly id: string;
  readonly [column: string]: Cell | undefined;
}

/** The part of a view that a reader has asked for. */
export interface View {
  /** The number of rows of the whole view. */
  readonly total: number;
  /** The index of the first of these rows. */
  readonly offset: number;
  readonly rows: readonly Row[];
}

/** What a reader has asked for. */
export interface ViewRequest {
  /** Such as `resources`. */
  readonly name: string;
  /** The target whose view it is; empty for those of the process. */
  readonly target: string;
  /** In lower case; only rows that contain it. Empty for all. */
  readonly filter: string;
  readonly offset: number;
  /** The groups of a tree that the reader has opened and closed. The others are as by default. */
  readonly opened: ReadonlySet<string>;
  readonly closed: ReadonlySet<string>;
}

/** The difference between two versions of a view, both for the same request. */
export interface ViewDelta {
  readonly total: number;
  readonly offset: number;
  /** The ids in their new order; absent if that is the old one. */
  readonly order?: readonly string[];
  /** The rows that are new or have changed. */
  readonly rows: readonly Row[];
}

/** The number of rows that a reader gets of a view. */
export const MAX_ROWS = 200;
/** The number of characters of a cell; what is beyond it is in the details, which are read one by one. */
const MAX_CELL_LENGTH = 1024;

/** A view without rows. */
export const NO_ROWS: View = { total: 0, offset: 0, rows: [] };

/** Creates the rows that are asked for of a list, and no others. */
export function createView<Item>(
  items: readonly Item[],
  request: Pick<ViewRequest, 'offset'>,
  toRow: (item: Item, index: number) => Row,
): View {
  const offset = firstRow(items.length, request.offset);
  const rows = items.slice(offset, offset + MAX_ROWS);
  return { total: items.length, offset, rows: rows.map((item, i) => toRow(item, offset + i)) };
}

/** Returns the index of the first row to show, on the last page if the list has become shorter than the offset. */
export function firstRow(total: number, offset: number): number {
  if (offset < total) return offset;
  return total === 0 ? 0 : Math.floor((total - 1) / MAX_ROWS) * MAX_ROWS;
}

/** Returns whether one of the texts contains the filter. */
export function matchesFilter(filter: string, ...texts: readonly string[]): boolean {
  return filter === '' || texts.some((text) => text.toLowerCase().includes(filter));
}

/** The number of characters of a text that are looked at for a cell. */
const MAX_READ_LENGTH = 8 * MAX_CELL_LENGTH;

/** Makes a text the text of a cell: without the user names and passwords of URLs, and not longer than a cell may be. */
export function cellText(text: string): string {
  if (text.length <= MAX_CELL_LENGTH && !text.includes('://')) return text;
  const isCut = text.length > MAX_READ_LENGTH;
  const read = isCut ? text.slice(0, MAX_READ_LENGTH) : text;
  // Where a text is cut, what is after `://` may be the beginning of a password.
  const shown = read.replace(isCut ? /:\/\/[^/@\s]+(?:@|$)/g : /:\/\/[^/@\s]+@/g, '://');
  return shown.length <= MAX_CELL_LENGTH ? shown : `${shown.slice(0, MAX_CELL_LENGTH)}…`;
}

/** A view as a reader has it: its rows as JSON text, by id, in order. */
export class SentView {
  private rows: ReadonlyMap<string, string> = new Map();
  private total = -1;
  private offset = -1;

  /** Returns what has changed since the last call; `undefined` if nothing has. */
  update(view: View): ViewDelta | undefined {
    const { rows: before } = this;
    const after = new Map(view.rows.map((row) => [row.id, JSON.stringify(row)]));
    const rows = view.rows.filter(({ id }) => before.get(id) !== after.get(id));
    const hasOrder = !isSameOrder(before, after);
    const { total, offset } = view;
    if (rows.length === 0 && !hasOrder && total === this.total && offset === this.offset) {
      return undefined;
    }
    this.rows = after;
    this.total = total;
    this.offset = offset;
    return { total, offset, ...(hasOrder && { order: [...after.keys()] }), rows };
  }
}

function isSameOrder(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  const ids = a.keys();
  for (const id of b.keys()) if (ids.next().value !== id) return false;
  return true;
}
