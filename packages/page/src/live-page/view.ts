import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../../../../src/util/result';
import { shareList } from '../../../../src/util/share';
import { cutText, escapeUnprintable, redactSecrets } from '../../../../src/util/text';

/** A value in a row, as plain JSON. */
export type Cell = string | number | boolean | readonly string[] | readonly number[];

/** A row of a view. Its id stays the same while it describes the same thing. */
export interface Row {
  readonly id: string;
  readonly [column: string]: Cell | undefined;
}

/** The part of a view that a reader has requested. */
export interface View {
  /** The number of rows of the whole view. */
  readonly total: number;
  /** The index of the first of these rows. */
  readonly offset: number;
  readonly rows: readonly Row[];
}

/** A view that a reader requests. */
export interface ViewRequest {
  /** Such as `resources`. */
  readonly name: string;
  /** The target whose view it is; empty for those of the process, and for the first target of a client. */
  readonly target: string;
  /** In lower case; only rows that contain it. Empty for all. */
  readonly filter: string;
  readonly offset: number;
  /** The groups that the reader has opened. */
  readonly opened: ReadonlySet<string>;
  /** The id of an event: the state after it, where the view can show one. Default: the present. */
  readonly at?: string | undefined;
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

/** The number of rows that a reader gets of a view: with more, the frame of a browser takes longer than 50 ms. */
export const MAX_ROWS = 100;
/** That of events, whose rows are smaller: the line of events shows as many. */
export const MAX_EVENT_ROWS = 200;
/** The number of characters of a cell; what is beyond it is in the details, which are read one by one. */
const MAX_CELL_LENGTH = 1024;

/** A view without rows. */
export const NO_ROWS: View = { total: 0, offset: 0, rows: [] };

/** Creates the requested rows of a list, and no others. */
export function createView<Item>(
  items: readonly Item[],
  request: Pick<ViewRequest, 'offset'>,
  toRow: (item: Item, index: number) => Row,
  maxRows = MAX_ROWS,
): View {
  const offset = firstRow(items.length, request.offset, maxRows);
  const rows = items.slice(offset, offset + maxRows);
  return { total: items.length, offset, rows: rows.map((item, i) => toRow(item, offset + i)) };
}

/** Returns the index of the first row to show, on the last page if the list has become shorter than the offset. */
export function firstRow(total: number, offset: number, maxRows = MAX_ROWS): number {
  if (offset < total) return offset;
  return total === 0 ? 0 : Math.floor((total - 1) / maxRows) * maxRows;
}

/** Returns whether one of the texts contains the filter. */
export function matchesFilter(filter: string, ...texts: readonly string[]): boolean {
  return filter === '' || texts.some((text) => text.toLowerCase().includes(filter));
}

/** The number of characters of a text that are looked at for a cell. */
const MAX_READ_LENGTH = 8 * MAX_CELL_LENGTH;

/**
 * Makes a text the text of a cell: without secrets, with control characters and those that reverse text escaped, and not longer than a
 * cell may be.
 */
export function cellText(text: string): string {
  const isCut = text.length > MAX_READ_LENGTH;
  const shown = redactSecrets(isCut ? text.slice(0, MAX_READ_LENGTH) : text, isCut);
  const cut = cutText(shown, MAX_CELL_LENGTH);
  const escaped = escapeUnprintable(cut);
  return escaped === cut ? cut : cutText(escaped, MAX_CELL_LENGTH);
}

/** A row as a reader has it. */
interface SentRow {
  readonly row: Row;
  /** As JSON. */
  readonly text: string;
}

/** A view as a reader has it: its rows by id, in order. */
export class SentView {
  private view: View | undefined;
  private rows: ReadonlyMap<string, SentRow> = new Map();

  /** Returns what has changed since the last call; `undefined` if nothing has. What is the same object has not. */
  update(view: View): ViewDelta | undefined {
    const { view: latest, rows: before } = this;
    const isSameSize = latest?.total === view.total && latest.offset === view.offset;
    if (isSameSize && shareList(latest.rows, view.rows) === latest.rows) return undefined;
    this.view = view;
    const after = new Map(view.rows.map((row) => [row.id, toSent(row, before.get(row.id))]));
    const rows = view.rows.filter(({ id }) => before.get(id)?.text !== after.get(id)?.text);
    const hasOrder = !isSameOrder(before, after);
    this.rows = after;
    if (rows.length === 0 && !hasOrder && isSameSize) return undefined;
    const { total, offset } = view;
    return { total, offset, ...(hasOrder && { order: [...after.keys()] }), rows };
  }
}

function toSent(row: Row, before: SentRow | undefined): SentRow {
  return before?.row === row ? before : { row, text: JSON.stringify(row) };
}

function isSameOrder(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  if (a.size !== b.size) return false;
  const ids = a.keys();
  for (const id of b.keys()) if (ids.next().value !== id) return false;
  return true;
}

/** Returns an id for the thing with these names, which may be long and have any characters. */
export function rowId(...names: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('base64url').slice(0, 16);
}

/** What a page is about. */
export interface About {
  /** Which views the page has: those of a client, of a control plane, of one for Kubernetes, or of a relay. */
  readonly kind: 'client' | 'control-plane' | 'kubernetes' | 'relay';
  /** Such as `grpc-xds 1.2.3, process 4711`. */
  readonly title: string;
  /** Pages of other processes: their URLs by their names. */
  readonly links?: Readonly<Record<string, string>>;
}

/** The state at one moment. A view is computed when it is first requested. */
export interface PageState {
  view(request: ViewRequest): View;
}

/** A request for something that is not in a view, such as the contents of a resource. */
export type Question = ReadonlyMap<string, string>;

/** What a page shows. */
export interface PageSource {
  readonly about: About;
  capture(): PageState;
  /** Returns plain JSON, or a promise of it; `undefined` if there is no such thing. */
  answer(name: string, question: Question): object | undefined | Promise<object | undefined>;
  /** Ends what the source itself observes. */
  release(): void;
}

/** The number of views of one stream. */
const MAX_VIEWS = 4;
/** The characters of a filter, which is compared with every row. */
const MAX_FILTER_LENGTH = 256;

const EVENT_ID = /^[\w-]{16}\.\d{1,4}$/;

/**
 * Reads which views a reader requests: `view=<name>:<offset>`, at most four, and for all of them `target`, `filter`,
 * `opened` with the ids of groups, separated by commas, and `at` with the id of an event.
 *
 * @returns What is wrong if that is not what it has.
 */
export function parseViewRequests(query: URLSearchParams): Result<readonly ViewRequest[], string> {
  const views = query.getAll('view').map((text) => /^([a-z]{1,20})(?::(\d{1,7}))?$/.exec(text));
  if (views.length === 0 || views.length > MAX_VIEWS || views.includes(null)) {
    return err(`"view" must be given 1 to ${MAX_VIEWS} times, each as <name>:<offset>`);
  }
  const filter = query.get('filter') ?? '';
  const at = query.get('at') ?? undefined;
  if (filter.length > MAX_FILTER_LENGTH) {
    return err(`"filter" must be at most ${MAX_FILTER_LENGTH} characters`);
  }
  if (at?.match(EVENT_ID) === null) return err('"at" must be the id of an event');
  const shared = {
    target: query.get('target') ?? '',
    filter: filter.toLowerCase(),
    opened: parseIds(query.get('opened')),
    at,
  };
  const requests = views.map((match) => {
    const [, name = '', offset = '0'] = match ?? [];
    return { ...shared, name, offset: Number(offset) };
  });
  return ok(requests);
}

function parseIds(text: string | null): ReadonlySet<string> {
  return new Set(text?.split(','));
}
