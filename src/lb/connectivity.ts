import {
  ConnectivityState,
  Metadata,
  PickResultType,
  Status,
  UnavailablePicker,
  type PickArgs,
  type Picker,
  type PickResult,
} from '../grpc-js';
import { withSince } from '../util/since';
import { quoteName, sanitizeText } from '../util/text';
import type { LbEnvironment } from './lb-policy';

/** Counts children by state, so that a change of one child among many is aggregated in constant time. */
export class ConnectivityTally {
  /** By the number of the state. */
  private readonly counts: number[] = [0, 0, 0, 0, 0];

  add(state: ConnectivityState): void {
    this.counts[state] = (this.counts[state] ?? 0) + 1;
  }

  /** Counts out a child that was in the given state. */
  remove(state: ConnectivityState): void {
    this.counts[state] = (this.counts[state] ?? 0) - 1;
  }

  count(state: ConnectivityState): number {
    return this.counts[state] ?? 0;
  }

  /** Returns the state of a policy with these children: READY if any is, else CONNECTING, else IDLE, else TRANSIENT_FAILURE. */
  aggregate(): ConnectivityState {
    for (const state of AGGREGATION_ORDER) if ((this.counts[state] ?? 0) > 0) return state;
    return ConnectivityState.TRANSIENT_FAILURE;
  }
}

const AGGREGATION_ORDER = [
  ConnectivityState.READY,
  ConnectivityState.CONNECTING,
  ConnectivityState.IDLE,
] as const;

/** Queues a call until the next picker. */
export const QUEUED: PickResult = {
  pickResultType: PickResultType.QUEUE,
  subchannel: null,
  status: null,
  onCallStarted: null,
  onCallEnded: null,
};

/** Queues calls until the next picker. */
export const queuePicker: Picker = { pick: () => QUEUED };

/** A pick result of a queued call that can say why. */
interface WaitResult extends PickResult {
  readonly describeWait: () => string;
}

/** A picker that can say why calls are queued. */
export interface DescribedPicker extends Picker {
  /** Returns why there is no connection, as a sentence; `undefined` if the policy does not say. */
  describeWait(): string | undefined;
}

/** Returns why a picker queues calls, as a sentence; `undefined` if it does not say. */
export function describeWait(picker: Picker): string | undefined {
  return isDescribed(picker) ? picker.describeWait() : undefined;
}

function isDescribed(picker: Picker): picker is DescribedPicker {
  return 'describeWait' in picker;
}

/** A picker of a policy above another one, which adds to the errors of calls that fail for want of a connection. */
export class ExplainingPicker implements DescribedPicker {
  /** @param explain Returns the error of a call, from that of the child. */
  constructor(
    private readonly child: Picker,
    private readonly explain: (details: string) => string,
  ) {}

  pick(args: PickArgs): PickResult {
    const result = this.child.pick(args);
    const { pickResultType, status } = result;
    if (pickResultType !== PickResultType.TRANSIENT_FAILURE || status === null) return result;
    return { ...result, status: { ...status, details: this.explain(status.details) } };
  }

  describeWait(): string | undefined {
    return describeWait(this.child);
  }
}

/** Queues a call until the next picker. @param describeWait Returns why, as a sentence. Called at the deadline of the call. */
export function createWait(describeWait: () => string): WaitResult {
  return { ...QUEUED, describeWait };
}

/** A picker that queues calls until the next picker, and can say why. */
export class WaitPicker implements DescribedPicker {
  private readonly result: WaitResult;

  /** @param describeWait Returns why there is no connection, as a sentence. Called at the deadline of a call. */
  constructor(readonly describeWait: () => string) {
    this.result = createWait(describeWait);
  }

  pick(): PickResult {
    return this.result;
  }
}

/** Returns why a call was queued, as a sentence; `undefined` if the policy does not say. */
export function waitOf(result: PickResult): string | undefined {
  return isWaitResult(result) ? result.describeWait() : undefined;
}

/** Returns a pick without a connection with the name of the cluster in the error, or in what the call waits for. */
export function withClusterName(result: PickResult, cluster: string): PickResult {
  const { status } = result;
  const prefix = `Cluster ${quoteName(cluster)}: `;
  if (status !== null) {
    return { ...result, status: { ...status, details: prefix + status.details } };
  }
  if (!isWaitResult(result)) return result;
  const described: WaitResult = {
    ...result,
    describeWait: () => prefix + result.describeWait(),
  };
  return described;
}

function isWaitResult(result: PickResult): result is WaitResult {
  return 'describeWait' in result;
}

/**
 * Creates a picker that queues calls until the next picker, the first of which starts a connection.
 *
 * @param connect Runs in the batch after the first pick, since it may replace the picker.
 */
export function createIdlePicker(
  { batch, clock }: Pick<LbEnvironment, 'batch' | 'clock'>,
  connect: () => void,
): Picker {
  let requested = false;
  return {
    pick() {
      if (!requested) {
        requested = true;
        clock.soon(() => batch.run(connect));
      }
      return QUEUED;
    },
  };
}

/** The error of picks of a policy that has no endpoints. */
export const NO_ENDPOINTS = 'No endpoints to connect to';

/** Creates a picker that fails calls with UNAVAILABLE and the given text, except those that wait for ready. */
export function createFailurePicker(details: string): Picker {
  return new UnavailablePicker({ code: Status.UNAVAILABLE, details: sanitizeText(details) });
}

/** Returns the error of a pick: the reason, with the resolution note (gRFC A61). */
export function failureText(reason: string, resolutionNote: string): string {
  return resolutionNote === '' ? reason : `${reason}. Resolution note: ${resolutionNote}`;
}

/** What a policy publishes besides its connectivity state. */
export interface PublishedPicker {
  readonly picker: Picker;
  /** Why picks fail; `null` unless they do. */
  readonly errorMessage: string | null;
}

/**
 * Adds to the errors of a policy since when it fails, in those of calls, and the resolution note (gRFC A61): of a cluster, or of a
 * channel without clusters. The policies below do not know them.
 *
 * @param sinceMs Milliseconds since the epoch. Default: it is not said.
 */
export function explainFailure(
  published: PublishedPicker,
  note: string,
  sinceMs?: number,
): PublishedPicker {
  if (note === '' && sinceMs === undefined) return published;
  const { picker, errorMessage } = published;
  const explain = (details: string) => {
    const reason = sinceMs === undefined ? details : withSince(details, sinceMs);
    return sanitizeText(failureText(reason, note));
  };
  return {
    picker: new ExplainingPicker(picker, explain),
    errorMessage: errorMessage && failureText(errorMessage, note),
  };
}

/** Returns a pick result that fails the call: it is neither retried nor queued, even if it waits for ready. */
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

/** Removes the empty resolution note from an error of a policy of grpc-js, which adds it to all of them. */
export function withoutResolutionNote(errorMessage: string): string {
  return errorMessage.endsWith(EMPTY_NOTE)
    ? errorMessage.slice(0, -EMPTY_NOTE.length)
    : errorMessage;
}
