import {
  cellText,
  createView,
  matchesFilter,
  MAX_EVENT_ROWS,
  type View,
  type ViewRequest,
} from './view';
import type { Clock } from '../../../../src/util/clock';

/** The number of lines that are kept. */
const MAX_LINES = 1000;

/** A line of the log. */
interface Line {
  readonly number: number;
  readonly at: string;
  readonly kind: string;
  readonly text: string;
}

/** The log of a command, as its live page shows it: the last 1,000 lines, the latest first. */
export class PageLog {
  private lines: Line[] = [];
  private count = 0;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** Adds a line. */
  add(kind: string, text: string): void {
    const at = new Date(this.clock.now()).toISOString();
    this.lines.push({ number: ++this.count, at, kind, text: cellText(text) });
    // In groups, since each removal at the front copies the rest.
    if (this.lines.length >= 2 * MAX_LINES) this.lines = this.lines.slice(-MAX_LINES);
  }

  view(request: ViewRequest): View {
    const found = this.lines.filter(({ kind, text }) => matchesFilter(request.filter, kind, text));
    const toRow = ({ number, ...line }: Line) => ({ id: `${number}`, ...line });
    return createView(found.slice(-MAX_LINES).reverse(), request, toRow, MAX_EVENT_ROWS);
  }
}
