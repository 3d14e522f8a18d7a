import { inNextTurn, type Clock } from './clock';
import type { Handle } from './handle';

/** Calls that begin in one turn of the event loop: each takes about 0.1 ms of it. */
export const MAX_CALLS_IN_TURN = 256;
/** Calls after which the end of the turn is looked for: looking costs more than counting. */
const CALLS_UNTIL_LOOK = 32;
const OPEN = { closed: false, destroyed: false };

/** The stream of a call. */
interface CallStream {
  readonly closed: boolean;
  readonly destroyed: boolean;
  on(event: 'error', listener: () => void): void;
}

interface WaitingCall {
  readonly stream: Pick<CallStream, 'closed' | 'destroyed'>;
  readonly begin: () => void;
}

/**
 * Begins calls, a limited number in a turn of the event loop. The others wait for the next turns, in which connections take turns.
 * A call that has ended meanwhile does not begin.
 */
export class CallTurns<Connection> {
  /** The connection whose turn it is comes first. */
  private readonly waiting = new Map<Connection, WaitingCall[]>();
  private begun = 0;
  private turn: Handle | undefined;

  constructor(private readonly clock: Pick<Clock, 'nextTurn' | 'setTimer'>) {}

  /** Begins a call of a connection now or in one of the next turns. */
  begin(connection: Connection, stream: CallStream, begin: () => void): void {
    if (this.begun < MAX_CALLS_IN_TURN && this.waiting.size === 0) {
      if (++this.begun >= CALLS_UNTIL_LOOK) this.awaitTurn();
      begin();
      return;
    }
    // Nothing else listens to it yet; it closes after an error.
    stream.on('error', () => {});
    const calls = this.waiting.get(connection);
    if (calls === undefined) this.waiting.set(connection, [{ stream, begin }]);
    else calls.push({ stream, begin });
  }

  /** Calls back once the calls of a connection that wait now have begun or ended. */
  after(connection: Connection, callback: () => void): void {
    const calls = this.waiting.get(connection);
    if (calls === undefined) callback();
    else calls.push({ stream: OPEN, begin: callback });
  }

  private awaitTurn(): void {
    this.turn ??= inNextTurn(this.clock, () => this.onTurn());
  }

  private onTurn(): void {
    this.turn = undefined;
    this.begun = 0;
    if (this.waiting.size > 0) this.awaitTurn();
    // What is set again comes last.
    for (const [connection, calls] of this.waiting) {
      if (this.begun >= MAX_CALLS_IN_TURN) break;
      this.waiting.delete(connection);
      const call = calls.shift();
      if (calls.length > 0) this.waiting.set(connection, calls);
      if (call === undefined || call.stream.closed || call.stream.destroyed) continue;
      this.begun++;
      call.begin();
    }
  }
}
