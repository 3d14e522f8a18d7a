import { ConnectivityState, Metadata, PickResultType, Status, UnavailablePicker } from '../grpc-js';
import type { PickResult, Picker } from '../grpc-js';
import type { Clock } from '../util/clock';
import { sanitizeText } from '../util/sanitize-text';

/**
 * The state of a policy that uses several children: READY if any child is, else CONNECTING, else IDLE.
 * When all have failed, or there are none, TRANSIENT_FAILURE.
 */
export function aggregateConnectivity(states: Iterable<ConnectivityState>): ConnectivityState {
  const tally = new ConnectivityTally();
  for (const state of states) tally.add(state);
  return tally.aggregate();
}

/** Counts children by state, so that one change among many costs nothing to aggregate. */
export class ConnectivityTally {
  /** By the number of the state. */
  private readonly counts: number[] = [0, 0, 0, 0, 0];

  /** Counts a child in. */
  add(state: ConnectivityState): void {
    this.counts[state] = this.count(state) + 1;
  }

  /** Counts out a child that was in the given state. */
  remove(state: ConnectivityState): void {
    this.counts[state] = this.count(state) - 1;
  }

  /** How many children are in the state. */
  count(state: ConnectivityState): number {
    return this.counts[state] ?? 0;
  }

  /** The state of the whole; see {@link aggregateConnectivity}. */
  aggregate(): ConnectivityState {
    return (
      AGGREGATION_ORDER.find((state) => this.count(state) > 0) ??
      ConnectivityState.TRANSIENT_FAILURE
    );
  }
}

const AGGREGATION_ORDER = [
  ConnectivityState.READY,
  ConnectivityState.CONNECTING,
  ConnectivityState.IDLE,
] as const;

const QUEUED: PickResult = {
  pickResultType: PickResultType.QUEUE,
  subchannel: null,
  status: null,
  onCallStarted: null,
  onCallEnded: null,
};

/** Makes calls wait for the next picker. */
export const queuePicker: Picker = { pick: () => QUEUED };

/**
 * Makes calls wait for the next picker, and has the first of them start a connection.
 *
 * @param connect Runs once the pick is over: it may well replace the picker.
 */
export function createIdlePicker(clock: Clock, connect: () => void): Picker {
  let asked = false;
  return {
    pick() {
      if (!asked) {
        asked = true;
        clock.soon(connect);
      }
      return QUEUED;
    },
  };
}

/** Fails calls that do not wait for ready, with UNAVAILABLE and the given text. */
export function createFailurePicker(details: string): Picker {
  return new UnavailablePicker({ code: Status.UNAVAILABLE, details: sanitizeText(details) });
}

/** The text of a failed pick: what went wrong, and what name resolution had to say (gRFC A61). */
export function failureText(reason: string, resolutionNote: string): string {
  return resolutionNote === '' ? reason : `${reason}. Resolution note: ${resolutionNote}`;
}

/** Fails a call for good: it is neither retried nor, if it waits for ready, kept waiting. */
export function createDropResult(code: Status, details: string): PickResult {
  return {
    pickResultType: PickResultType.DROP,
    subchannel: null,
    status: { code, details, metadata: new Metadata() },
    onCallStarted: null,
    onCallEnded: null,
  };
}

const EMPTY_NOTE = '. Resolution note: ';

/**
 * An error of grpc-js's pick_first without the resolution note. It is given none to add, because it would
 * keep it for as long as it tries the same addresses; the policy above adds the one that is current.
 */
export function withoutResolutionNote(errorMessage: string): string {
  return errorMessage.endsWith(EMPTY_NOTE)
    ? errorMessage.slice(0, -EMPTY_NOTE.length)
    : errorMessage;
}
