import type { Result } from '../../../util/result';
import type { PastState } from './history-state';

/** Each may be as large as the config of a target. A reader looks at one. */
const MAX_STATES = 4;

/** The earlier states that were requested last: a page requests the same one again and again, and it does not change. */
export class PastStates {
  private readonly states = new Map<string, Result<PastState, string>>();

  /** Returns the state with a key. */
  of(key: string, compute: () => Result<PastState, string>): Result<PastState, string> {
    const state = this.states.get(key) ?? compute();
    this.states.delete(key);
    this.states.set(key, state);
    const [oldest = key] = this.states.keys();
    if (this.states.size > MAX_STATES) this.states.delete(oldest);
    return state;
  }

  clear(): void {
    this.states.clear();
  }
}

/** Whether an earlier state is known, and what is missing of it. */
export function describePast(state: Result<PastState, string>): {
  readonly isKnown: boolean;
  readonly note: string;
} {
  return state.ok
    ? { isKnown: true, note: state.value.note }
    : { isKnown: false, note: state.error };
}
