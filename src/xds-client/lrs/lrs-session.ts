import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { LoadStatsRequest } from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import type { Handle } from '../../util/handle';
import { StatusCode, statusName } from '../../util/status-code';
import { DRAIN_TIMEOUT_MS } from '../limits';
import type { NextStream, OpenStream, StreamSession } from '../reconnecting-stream';
import type { StreamStatus } from '../transport';
import { toClusterStats, type ServerLoads, type TakenClusterCounts } from './cluster-load';
import { parseLrsResponse, type LrsResponse } from './lrs-response';

/** Milliseconds between responses that are read. Servers send one at the start, and when what they request changes. */
const MIN_READ_INTERVAL_MS = 100;
/**
 * How long the next response is not read, and the next report not made: so many times as long as the last one took, whatever
 * the server requests.
 */
const PAUSE_FACTOR = 4;

/** Constructor options of a session. */
interface LrsSessionOptions {
  readonly open: OpenStream;
  readonly loads: ServerLoads;
  readonly node: Node;
  readonly onResponse: (response: LrsResponse) => void;
  /** Returns whether there is nothing more to report. */
  readonly isDone: () => boolean;
  /** Called when a drained stream has ended, or the server has not ended it in time. */
  readonly onDrained: () => void;
  readonly trace: (text: () => string) => void;
}

/** One LRS stream, on a connection of its own. */
export class LrsSession implements StreamSession {
  /** What the server requests; `undefined` until there is a response. */
  private response: LrsResponse | undefined;
  /** Runs until the next response may be read. */
  private readTimer: Handle | undefined;
  /** Runs until the next report. */
  private reportTimer: Handle | undefined;
  /** When the time of the next report began, on the monotonic clock. */
  private periodStartMs = 0;
  /** How long it took to make the last report. */
  private reportCostMs = 0;
  /** The content of the message that was given to the transport and has not been sent yet. */
  private inFlight: TakenClusterCounts[] | undefined = [];
  private reportDue = false;
  /** Runs while the load reports are drained. */
  private drainTimer: Handle | undefined;
  private isHalfClosed = false;

  constructor(private readonly options: LrsSessionOptions) {
    const { open, node } = options;
    // The first message only identifies the node.
    open.stream.send(LoadStatsRequest.encode({ node, clusterStats: [] }).finish());
    open.stream.read();
  }

  get hasAnswered(): boolean {
    return this.response !== undefined;
  }

  onSent(): void {
    this.inFlight = undefined;
    this.sendNext();
  }

  onMessage(bytes: Uint8Array): NextStream | undefined {
    const { clock } = this.options.open;
    const startMs = clock.monotonicMs();
    const parsed = parseLrsResponse(bytes);
    if (!parsed.ok) return { kind: 'after-backoff', reason: parsed.error };
    const isFirst = this.response === undefined;
    this.onRequested(parsed.value, startMs);
    const costMs = clock.monotonicMs() - startMs;
    const pauseMs = Math.max(MIN_READ_INTERVAL_MS, PAUSE_FACTOR * costMs);
    this.readTimer = clock.setTimer(() => this.options.open.stream.read(), pauseMs);
    if (isFirst) this.sendNext();
    return undefined;
  }

  onClosed(status: StreamStatus): NextStream | undefined {
    const { isDone, trace, onDrained } = this.options;
    if (isDone()) {
      onDrained();
      return undefined;
    }
    const reason = describeEnd(status);
    if (this.hasAnswered) trace(() => reason);
    return { kind: 'after-end', status, isAwaited: !this.hasAnswered, reason };
  }

  /** Sends what is left to report, and then ends the stream. */
  drain(): void {
    if (this.drainTimer !== undefined) return;
    this.reportDue = true;
    const { open, onDrained } = this.options;
    // The connection itself does not keep the process alive until the last report is sent.
    const keepsAlive = true;
    this.drainTimer = open.clock.setTimer(onDrained, DRAIN_TIMEOUT_MS, keepsAlive);
    this.sendNext();
  }

  /** Continues with reports, unless the last one has been sent. */
  cancelDrain(): void {
    if (this.isHalfClosed) return;
    this.drainTimer?.release();
    this.drainTimer = undefined;
  }

  release(): void {
    this.readTimer?.release();
    this.reportTimer?.release();
    this.drainTimer?.release();
    this.options.open.transport.close();
    for (const taken of this.inFlight ?? []) taken.putBack();
  }

  private onRequested(response: LrsResponse, startMs: number): void {
    if (this.response === undefined) this.periodStartMs = startMs;
    const isNewInterval = this.response?.intervalMs !== response.intervalMs;
    this.response = response;
    this.options.onResponse(response);
    if (isNewInterval) this.startReportTimer(response);
  }

  private sendNext(): void {
    if (this.inFlight !== undefined || this.isHalfClosed) return;
    const { open, loads } = this.options;
    if (this.reportDue && this.response !== undefined) {
      this.reportDue = false;
      const startMs = open.clock.monotonicMs();
      this.inFlight = loads.take(this.response.clusters);
      open.stream.send(encodeReport(this.inFlight));
      this.reportCostMs = open.clock.monotonicMs() - startMs;
    } else if (this.drainTimer !== undefined) {
      this.isHalfClosed = true;
      open.stream.halfClose();
    }
  }

  private startReportTimer({ intervalMs }: LrsResponse): void {
    const { clock } = this.options.open;
    const pauseMs = Math.max(intervalMs, PAUSE_FACTOR * this.reportCostMs);
    this.reportTimer?.release();
    this.reportTimer = clock.setTimer(
      () => {
        this.periodStartMs = clock.monotonicMs();
        if (this.response !== undefined) this.startReportTimer(this.response);
        this.reportDue = true;
        this.sendNext();
      },
      this.periodStartMs + pauseMs - clock.monotonicMs(),
    );
  }
}

function encodeReport(taken: readonly TakenClusterCounts[]): Uint8Array {
  const clusterStats = taken.map(({ counts }) => toClusterStats(counts));
  return LoadStatsRequest.encode({ node: undefined, clusterStats }).finish();
}

/** Describes why a stream ended, to follow the name of the server. */
function describeEnd({ code, details, hasAnswered }: StreamStatus): string {
  if (code === StatusCode.OK) return 'closed the LRS stream';
  if (code === StatusCode.UNAVAILABLE && hasAnswered !== true)
    return `cannot be reached: ${details}`;
  if (code === StatusCode.UNIMPLEMENTED) {
    return `takes no load reports, though it sets lrs_server in its clusters: ${details}`;
  }
  return `ended the LRS stream with ${statusName(code)}: ${details}`;
}
