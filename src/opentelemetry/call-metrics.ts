import { CallInstruments } from '../stats/call-instruments';
import { Label, type Instrument } from '../stats/instrument';
import type { CallProgress, CallTracer, LabelValues, Series } from '../stats/stats-plugin';
import { MAX_STATUS_CODE, StatusCode, statusName } from '../util/status-code';
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
  private readonly attempts = new Map<number | string, AttemptSeries>();
  /** By status. */
  private readonly durations: (Series | undefined)[] = [];
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
    if (!(status in this.durations)) {
      const labels = { ...this.labels, [Label.STATUS]: statusName(status) };
      this.durations[status] = this.source.series(CALL_DURATION, labels);
    }
    this.durations[status]?.add(call.durationMs / 1000);
    if (call.retries > 0) this.retries?.add(call.retries);
    if (call.transparentRetries > 0) this.transparentRetries?.add(call.transparentRetries);
    if (call.retryDelayMs > 0) this.retryDelay?.add(call.retryDelayMs / 1000);
  }

  private attemptSeries({ locality, backendService }: CallProgress, code: number): AttemptSeries {
    const key = this.isKeyedByPlace ? `${code} ${locality} ${backendService}` : code;
    let series = this.attempts.get(key);
    if (series === undefined) {
      const labels = {
        ...this.labels,
        [Label.STATUS]: statusName(code),
        [Label.LOCALITY]: locality,
        [Label.BACKEND_SERVICE]: backendService,
      };
      series = {
        duration: this.source.series(ATTEMPT_DURATION, labels),
        sent: this.source.series(ATTEMPT_SENT, labels),
        received: this.source.series(ATTEMPT_RECEIVED, labels),
      };
      if (this.attempts.size < MAX_SERIES) this.attempts.set(key, series);
    }
    return series;
  }
}

/** A server can send any number as its status. */
function knownCode(code: number): number {
  const isKnown = Number.isInteger(code) && code >= 0 && code <= MAX_STATUS_CODE;
  return isKnown ? code : StatusCode.UNKNOWN;
}
