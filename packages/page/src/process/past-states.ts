import { errorMessage } from '../../../../src/util/errors';
import { err, type Result } from '../../../../src/util/result';
import type { PastState } from './history-state';

/** Each may be as large as the config of a target. A page has as many connections, and the stream of a reader needs one. */
const MAX_STATES = 8;
/** States that are being computed. */
const MAX_PENDING = 4;

/** An earlier state of a target: known at once if it was requested before. */
interface Requested {
  known: Result<PastState, string> | undefined;
  readonly ready: Promise<Result<PastState, string>>;
}

/** The earlier states that were requested last: a page requests the same one again and again, and it does not change. */
export class PastStates {
  private readonly states = new Map<string, Requested>();
  private pending = 0;

  /** Returns the state with a key. */
  of(key: string, compute: () => Promise<Result<PastState, string>>): Readonly<Requested> {
    const state = this.states.get(key) ?? this.start(compute);
    this.states.delete(key);
    // What failed may be possible later.
    if (state.known?.ok !== false) this.states.set(key, state);
    const [oldest = key] = this.states.keys();
    if (this.states.size > MAX_STATES) this.states.delete(oldest);
    return state;
  }

  clear(): void {
    this.states.clear();
  }

  private start(compute: () => Promise<Result<PastState, string>>): Requested {
    if (this.pending === MAX_PENDING) {
      const known = err('several earlier times are being computed: try again');
      return { known, ready: Promise.resolve(known) };
    }
    this.pending++;
    const ready = compute()
      .catch((error: unknown) => err(errorMessage(error)))
      .then((known) => {
        this.pending--;
        requested.known = known;
        return known;
      });
    const requested: Requested = { known: undefined, ready };
    return requested;
  }
}
