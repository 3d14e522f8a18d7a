import type { Clock } from '../../../../src/util/clock';
import { shortName } from '../../../../src/util/text';
import {
  cellText,
  createView,
  matchesFilter,
  MAX_EVENT_ROWS,
  type PageSource,
  type PageState,
  type Row,
  type View,
  type ViewRequest,
} from './view';

/** The lines of the log that are kept. */
const MAX_LINES = 1000;

/** The page of a management server: its log, and the views of what is read once for all that a reader requests together. */
export abstract class LoggedPage<Shown> implements PageSource {
  abstract readonly about: PageSource['about'];
  /** The latest last. */
  private lines: Row[] = [];
  private count = 0;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  /** Adds a line of the log. */
  log(kind: string, text: string): void {
    const at = new Date(this.clock.now()).toISOString();
    this.lines.push({ id: `${++this.count}`, at, kind, text: cellText(text) });
    // In groups, since each removal at the front copies the rest.
    if (this.lines.length >= 2 * MAX_LINES) this.lines = this.lines.slice(-MAX_LINES);
  }

  capture(): PageState {
    let shown: Shown | undefined;
    // Not read while a reader requests the log alone.
    const read = () => (shown ??= this.read());
    return {
      view: (request) =>
        request.name === 'events' ? this.viewLog(request) : this.view(read, request),
    };
  }

  private viewLog(request: ViewRequest): View {
    const found = this.lines.filter(({ kind, text }) =>
      matchesFilter(request.filter, String(kind), String(text)),
    );
    return createView(found.slice(-MAX_LINES).reverse(), request, (row) => row, MAX_EVENT_ROWS);
  }

  /** @returns `undefined` if there is nothing besides the views. */
  answer(_name: string): object | undefined {
    return undefined;
  }

  /** Does nothing: a page observes nothing by itself. */
  release(): void {}

  protected abstract read(): Shown;
  protected abstract view(read: () => Shown, request: ViewRequest): View;
}

/** What a client has been sent of a type, and has answered. */
interface AnsweredType {
  readonly typeUrl: string;
  readonly sentVersion?: string | undefined;
  readonly ackedVersion?: string | undefined;
  readonly rejection?: unknown;
}

/** Whether a client has accepted what it was sent. */
export type AnswerState = 'rejected' | 'waiting' | 'acknowledged';

function stateOf({ rejection, sentVersion, ackedVersion }: AnsweredType): AnswerState {
  if (rejection !== undefined) return 'rejected';
  return sentVersion === ackedVersion ? 'acknowledged' : 'waiting';
}

/** Returns the state of a client for all types. */
export function stateOfTypes(types: readonly AnsweredType[]): AnswerState {
  const states = types.map(stateOf);
  if (states.includes('rejected')) return 'rejected';
  return states.includes('waiting') ? 'waiting' : 'acknowledged';
}

/** The cells of a client that each page has. */
export function streamRow(client: {
  readonly streamId: number;
  readonly nodeId: string;
  readonly method: string;
  readonly connectedAtMs: number;
}): Row {
  const { streamId, nodeId, method, connectedAtMs } = client;
  return {
    id: `${streamId}`,
    node: cellText(nodeId === '' ? `client ${streamId}` : nodeId),
    method,
    connectedAt: new Date(connectedAtMs).toISOString(),
  };
}

/** @param names Those that are requested. @param rejection Why, and of what. */
export function typeRow(type: AnsweredType, names: string, rejection: string | undefined): Row {
  return {
    id: type.typeUrl,
    type: shortName(type.typeUrl),
    state: stateOf(type),
    sent: cellText(type.sentVersion ?? 'nothing'),
    acked: cellText(type.ackedVersion ?? 'nothing'),
    ...(rejection !== undefined && { rejection: cellText(`rejected${rejection}`) }),
    names: cellText(names),
  };
}
