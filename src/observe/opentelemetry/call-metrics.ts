import { CallInstruments } from '../stats/call-instruments';
import { Label, type Instrument } from '../stats/instrument';
import type { CallProgress, CallTracer, LabelValues, Series } from '../stats/stats-plugin';
import { MAX_STATUS_CODE, StatusCode, statusName } from '../../util/status-code';
import { MAX_SERIES } from './flat-backend';

/** Finds the series of a target. */
interface SeriesSource {
  series(instrument: Instrument, labels: LabelValues): Series | undefined;
  usesLabel(label: string): boolean;
}

/** The series of the attempts that ended with one status, in one locality of one cluster. */
interface AttemptSeries {
  readonly duration: Series | undefined;
  readonly sent: Series | undefined;
  readonly received: Series | undefined;
}

/** The series of the calls that ended with one status. */
type Ending = Pick<AttemptSeries, 'duration'>;

const {
  ATTEMPT_STARTED,
  ATTEMPT_DURATION,
  ATTEMPT_SENT,
  ATTEMPT_RECEIVED,
  CALL_DURATION,
  CALL_RETRIES,
  CALL_TRANSPARENT_RETRIES,
  CALL_RETRY_DELAY,
} = CallInstruments;

/**
 * Records the calls of one method of a target (gRFCs A66, A96). It keeps nothing of a call, and so serves all of them; the
 * series are found once for each status.
 */
export class MethodMetrics implements CallTracer {
  private readonly started: Series | undefined;
  /** By status, of all places if the labels do not tell them apart. */
  private readonly attempts: AttemptSeries[] = [];
  /** The same by cluster and locality, if a label tells them apart. */
  private readonly attemptsByPlace = new Map<string, Map<string, AttemptSeries[]>>();
  private places = 0;
  /** By status. */
  private readonly durations: Ending[] = [];
  private readonly retries: Series | undefined;
  private readonly transparentRetries: Series | undefined;
  private readonly retryDelay: Series | undefined;
  private readonly isKeyedByPlace: boolean;

  /** @param labels The method, and the custom label. */
  constructor(
    private readonly source: SeriesSource,
    private readonly labels: LabelValues,
  ) {
    this.started = source.series(ATTEMPT_STARTED, labels);
    this.retries = source.series(CALL_RETRIES, labels);
    this.transparentRetries = source.series(CALL_TRANSPARENT_RETRIES, labels);
    this.retryDelay = source.series(CALL_RETRY_DELAY, labels);
    this.isKeyedByPlace =
      source.usesLabel(Label.LOCALITY) || source.usesLabel(Label.BACKEND_SERVICE);
  }

  onAttemptStarted(): void {
    this.started?.add(1);
  }

  onAttemptEnded(call: CallProgress, code: number): void {
    const { duration, sent, received } = this.attemptSeries(call, knownCode(code));
    duration?.add(call.attemptDurationMs / 1000);
    sent?.add(call.sentBytes);
    received?.add(call.receivedBytes);
  }

  onCallEnded(call: CallProgress, code: number): void {
    const status = knownCode(code);
    const ending = (this.durations[status] ??= this.createEnding(status));
    ending.duration?.add(call.durationMs / 1000);
    if (call.retries > 0) this.retries?.add(call.retries);
    if (call.transparentRetries > 0) this.transparentRetries?.add(call.transparentRetries);
    if (call.retryDelayMs > 0) this.retryDelay?.add(call.retryDelayMs / 1000);
  }

  private attemptSeries(call: CallProgress, code: number): AttemptSeries {
    const byStatus = this.isKeyedByPlace ? this.attemptsAt(call) : this.attempts;
    return (byStatus[code] ??= this.createAttemptSeries(call, code));
  }

  /** Returns the series of a place by status; beyond `MAX_SERIES` places, they are found anew each time. */
  private attemptsAt({ locality, backendService }: CallProgress): AttemptSeries[] {
    const known = this.attemptsByPlace.get(backendService)?.get(locality);
    if (known !== undefined) return known;
    const created: AttemptSeries[] = [];
    if (this.places >= MAX_SERIES) return created;
    this.places++;
    const ofCluster =
      this.attemptsByPlace.get(backendService) ?? new Map<string, AttemptSeries[]>();
    this.attemptsByPlace.set(backendService, ofCluster.set(locality, created));
    return created;
  }

  private createAttemptSeries(call: CallProgress, code: number): AttemptSeries {
    const labels = {
      ...this.labels,
      [Label.STATUS]: statusName(code),
      [Label.LOCALITY]: call.locality,
      [Label.BACKEND_SERVICE]: call.backendService,
    };
    return {
      duration: this.source.series(ATTEMPT_DURATION, labels),
      sent: this.source.series(ATTEMPT_SENT, labels),
      received: this.source.series(ATTEMPT_RECEIVED, labels),
    };
  }

  private createEnding(code: number): Ending {
    const labels = { ...this.labels, [Label.STATUS]: statusName(code) };
    return { duration: this.source.series(CALL_DURATION, labels) };
  }
}

/** A server can send any number as its status. */
function knownCode(code: number): number {
  const isKnown = Number.isInteger(code) && code >= 0 && code <= MAX_STATUS_CODE;
  return isKnown ? code : StatusCode.UNKNOWN;
}
