import type { Handle } from '../../util/handle';
import type { InstrumentName } from './instruments';

/** The values of labels, by label. One that is missing counts as empty. */
export type LabelValues = Readonly<Record<string, string>>;

/** The values of one instrument with one set of labels. */
export interface Series {
  /** Adds to a counter, or records a value of a histogram. */
  add(value: number): void;
}

/** Receives the present values of gauges. */
export type ReportGauge = (instrument: InstrumentName, value: number, labels: LabelValues) => void;

/** What a plugin observes of one channel, or of the xDS client of one target. */
export interface ChannelStats {
  /** The label `grpc.target`. */
  readonly target: string;
  /** Whether a plugin enables an instrument. */
  isEnabled(instrument: InstrumentName): boolean;
  /**
   * Returns the series of an instrument for this target; `undefined` if no plugin enables the instrument.
   * @param labels Without the target. Optional labels that no plugin enables are ignored.
   */
  series(instrument: InstrumentName, labels: LabelValues): Series | undefined;
  /** Whether a plugin enables an optional label. */
  usesLabel(label: string): boolean;
  /** Reads gauges, until the handle is released, whenever metrics are collected. Default: no plugin enables them. */
  observeGauges(
    instruments: readonly InstrumentName[],
    read: (report: ReportGauge) => void,
  ): Handle | undefined;
  /** Begins to observe a call; `undefined` if no plugin does. @param method Such as `/package.Service/Method`. */
  startCall(method: string): CallTracer | undefined;
}

/** A plugin, such as that for OpenTelemetry (gRFC A79). */
export interface StatsPlugin {
  /** Returns the part for one channel; `undefined` if the plugin does not observe it. */
  forChannel(target: string): ChannelStats | undefined;
  /**
   * Begins to observe a call of a server; `undefined` if the plugin does not.
   * @param method Such as `/package.Service/Method`.
   * @param headers Those of the client; `undefined` for a method that the server does not have.
   */
  startServerCall(
    method: string,
    headers: RequestHeaders | undefined,
  ): ServerCallTracer | undefined;
}

/** The headers of a call of a server. */
export interface RequestHeaders {
  get(key: string): readonly (string | Buffer)[];
  getMap(): Readonly<Record<string, string | Buffer>>;
}

/** Observes one call of a server. */
export interface ServerCallTracer {
  /** @param size Bytes as sent, compressed or not. */
  onMessageSent?(size: number, isCompressed: boolean): void;
  /** @param size Bytes as received, compressed or not. */
  onMessageReceived?(size: number, isCompressed: boolean): void;
  /** The status is sent, or the client or the connection has ended the call before. */
  onEnded(call: ServerCallTotals, code: number, details: string): void;
  /** Runs what the application does for the call. Default: it is run. */
  run?(task: () => void): void;
}

/** What is known of a call of a server when it has ended. */
export interface ServerCallTotals {
  /** Milliseconds from its headers to its status. */
  readonly durationMs: number;
  /** Bytes of messages, compressed, without headers and framing. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** The headers of an attempt. */
export interface AttemptHeaders {
  set(key: string, value: string | Buffer): void;
}

/** Observes one call. The methods are called in the order of the list, but `run` at any time, those of an attempt once for each attempt. */
export interface CallTracer {
  /** An attempt has started: it will be picked next. */
  onAttemptStarted(call: CallProgress): void;
  /** An endpoint was picked. Headers that are set go with this attempt only. Possibly called again, for the same attempt. */
  onPicked?(call: CallProgress, headers: AttemptHeaders): void;
  /** The attempt is on a connection. */
  onSent?(call: CallProgress): void;
  /** @param size Bytes as sent, compressed or not. */
  onMessageSent?(call: CallProgress, size: number, isCompressed: boolean): void;
  /** @param size Bytes as received, compressed or not. */
  onMessageReceived?(call: CallProgress, size: number, isCompressed: boolean): void;
  /** @param details Those of the status of the attempt; empty if it is not known. */
  onAttemptEnded(call: CallProgress, code: number, details: string): void;
  /** @param details Those of the status that the application receives. */
  onCallEnded(call: CallProgress, code: number, details: string): void;
  /** Runs a function that starts child calls of this call, such as a check by an authorization server. Default: runs it. */
  run?<T>(start: () => T): T;
}

/** The state of an observed call, as of now. Of attempts, it is about the latest. */
export interface CallProgress {
  /** Whether the call waited for the first config of its channel. */
  readonly wasResolutionDelayed: boolean;
  /** Milliseconds from the start of the call to its end. */
  readonly durationMs: number;
  /** The number of retries, transparent ones excluded. */
  readonly retries: number;
  readonly transparentRetries: number;
  /** Milliseconds without an active attempt since the first. */
  readonly retryDelayMs: number;
  /** Milliseconds from the start of the attempt to its end. */
  readonly attemptDurationMs: number;
  /** Whether the attempt repeats one that no server has processed. */
  readonly isTransparentRetry: boolean;
  /** The attempts before this one that a server may have processed. */
  readonly previousAttempts: number;
  /** Whether the attempt waited for an endpoint. */
  readonly wasPickDelayed: boolean;
  /** Bytes of messages, compressed, without headers and framing. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** The label `grpc.lb.locality`. */
  readonly locality: string;
  /** The label `grpc.lb.backend_service`. */
  readonly backendService: string;
}
