import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import { LoadStatsRequest } from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import { inSeconds } from '../../util/duration';
import { errorStack } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Result } from '../../util/result';
import { StatusCode, statusName } from '../../util/status-code';
import { DRAIN_TIMEOUT_MS } from '../limits';
import {
  ReconnectingStream,
  type NextStream,
  type OpenStream,
  type StreamContext,
  type StreamSession,
} from '../reconnecting-stream';
import type { UnsteadyCause } from '../stream-ends';
import type { StreamStatus, XdsTransport, XdsTransportFactory } from '../transport';
import { describeServer } from '../xds-errors';
import {
  ServerLoads,
  toClusterStats,
  type ClusterId,
  type ClusterLoadReference,
  type RequestedClusters,
  type TakenClusterCounts,
} from './cluster-load';
import { parseLrsResponse, type LrsResponse } from './lrs-response';
import { parseMetricRules, type MetricRules } from './metrics';
import { joinFirst } from '../../util/text';

/** Constructor options of an LRS stream. */
export interface LrsStreamOptions extends StreamContext {
  readonly server: ServerConfig;
  /** Identifies this process. */
  readonly node: Node;
  readonly transportFactory: XdsTransportFactory;
  readonly logger: Logger;
  /** Whether clusters choose which metrics of backends are reported (gRFC A85); if not, gRFC A64 applies. */
  readonly choosesMetrics: boolean;
  /** Called with each response of a server. Default: nothing happens. */
  readonly onRequested?: ((server: ServerConfig, response: LrsResponse) => void) | undefined;
  /** Has the streams that are in use. Default: nothing does. */
  readonly streams?: { add(stream: LrsStream): Handle } | undefined;
}

/** The client feature that lets a server request all clusters without a list (gRFC A27). */
const ALL_CLUSTERS_FEATURE = 'envoy.lrs.supports_send_all_clusters';

const LRS_METHOD = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const TRACER = 'xds_client';

/**
 * The load that is reported to one server, its LRS stream, and the streams that replace it (gRFCs A27, A57). One exists
 * while calls are counted; after that the load reports are drained. What was not sent when a stream ended is part of the
 * next report. What was sent is not repeated, because it may have arrived.
 */
export class LrsStream extends ReconnectingStream<LrsSession> {
  readonly loads: ServerLoads;
  /** Names the server and the node in messages. */
  private readonly description: string;
  /** The failure last logged, so that each is logged once. */
  private loggedFailure: string | undefined;
  /** Released when the stream is not in use. */
  private use: Handle | undefined;
  /** Whether the last report is sent although calls are in progress. */
  private isFinishing = false;

  constructor(private readonly options: LrsStreamOptions) {
    super(options);
    const { server, node, serializer, clock } = options;
    this.description = describeServer(server, node.id);
    this.loads = new ServerLoads(
      () => clock.monotonicMs(),
      () => serializer.run(() => this.update()),
    );
  }

  /** Whether there is nothing more to report. */
  get isDone(): boolean {
    return this.isFinishing || !this.loads.isInUse;
  }

  /** Acquires the load of a cluster. @param metrics `lrs_report_endpoint_metrics` of the cluster. */
  acquire(
    id: ClusterId,
    metrics: readonly string[],
  ): ClusterLoadReference & { readonly metrics: MetricRules | undefined } {
    const rules = parseMetricRules(metrics, this.options.choosesMetrics);
    return { ...this.loads.acquire(id), metrics: rules };
  }

  /** Sends what can be reported now, calls in progress included, and ends the stream for good. */
  finish(): void {
    this.options.serializer.run(() => {
      const { session } = this;
      this.isFinishing = true;
      if (session?.hasAnswered === true) session.drain();
      else this.stop();
    });
  }

  /** Ends the stream for good, and drops what was not reported. */
  override close(): void {
    this.isFinishing = true;
    this.options.serializer.run(() => this.stop());
  }

  /** Handles that a drained stream has ended, or that the server has not ended it in time. */
  onDrained(): void {
    if (this.isDone) this.stop();
    else this.replace();
  }

  /** Handles what the server requests. */
  onResponse(response: LrsResponse): void {
    const { description } = this;
    const { logger, onRequested, server } = this.options;
    const { clusters, intervalMs } = response;
    onRequested?.(server, response);
    this.trace(() => `requests ${describeClusters(clusters)} every ${intervalMs} ms`);
    if (this.loggedFailure === undefined) return;
    this.loggedFailure = undefined;
    logger.info(() => `Load reports: ${description} takes them again`, { event: 'recovered' });
  }

  trace(text: () => string): void {
    const { description } = this;
    const { logger } = this.options;
    logger.trace(TRACER, () => `load reports: ${description}: ${text()}`);
  }

  protected override connect(): Result<XdsTransport, string> {
    return this.options.transportFactory.create(this.options.server);
  }

  protected override nextMethod(): string {
    return LRS_METHOD;
  }

  protected override createSession(open: OpenStream): LrsSession {
    const { node } = this.options;
    return new LrsSession(this, open, {
      ...node,
      clientFeatures: [...node.clientFeatures, ALL_CLUSTERS_FEATURE],
    });
  }

  /** Ends the stream. What was not reported is dropped. */
  protected override stop(): void {
    super.stop();
    this.loads.dropUnused();
    this.use?.release();
    this.use = undefined;
  }

  protected override onFailed(reason: string, retryInMs: number): void {
    const { description } = this;
    const { logger } = this.options;
    const outlook = `next attempt in ${inSeconds(retryInMs)}`;
    this.trace(() => `${reason}; ${outlook}`);
    if (reason === this.loggedFailure) return;
    this.loggedFailure = reason;
    logger.error(() => `Load reports: ${description} ${reason}; ${outlook}`);
  }

  protected override onUnsteady(cause: UnsteadyCause | undefined): void {
    const { description, lastError } = this;
    if (cause !== 'errors') return;
    const text = () => `Load reports: ${description} ${lastError}; so did the two streams before`;
    this.options.logger.error(text, { event: 'streams-failing' });
  }

  protected override onError(error: unknown): void {
    this.options.logger.error(
      () => `unexpected error on the LRS stream to ${this.description}: ${errorStack(error)}`,
    );
  }

  /** Starts, drains or stops the stream after `ServerLoads.isInUse` may have changed. */
  private update(): void {
    const { session } = this;
    if (this.isFinishing) return;
    if (this.loads.isInUse) {
      this.use ??= this.options.streams?.add(this);
      this.start();
      session?.cancelDrain();
    } else if (session?.hasAnswered === true) {
      session.drain();
    } else {
      this.stop();
    }
  }
}

/** Lists the requested clusters. */
function describeClusters(clusters: RequestedClusters): string {
  if (clusters === 'all') return 'all clusters';
  return `clusters ${joinFirst([...clusters])}`;
}

/** Milliseconds between responses that are read. Servers send one at the start, and when what they request changes. */
const MIN_READ_INTERVAL_MS = 100;
/**
 * How long the next response is not read, and the next report not made: so many times as long as the last one took, whatever
 * the server requests.
 */
const PAUSE_FACTOR = 4;

/** One LRS stream, on a connection of its own. */
class LrsSession implements StreamSession {
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

  constructor(
    private readonly owner: LrsStream,
    private readonly open: OpenStream,
    node: Node,
  ) {
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
    const { clock } = this.open;
    const startMs = clock.monotonicMs();
    const parsed = parseLrsResponse(bytes);
    if (!parsed.ok) return { kind: 'after-backoff', reason: parsed.error };
    const isFirst = this.response === undefined;
    this.onRequested(parsed.value, startMs);
    const costMs = clock.monotonicMs() - startMs;
    const pauseMs = Math.max(MIN_READ_INTERVAL_MS, PAUSE_FACTOR * costMs);
    this.readTimer = clock.setTimer(() => this.open.stream.read(), pauseMs);
    if (isFirst) this.sendNext();
    return undefined;
  }

  onClosed(status: StreamStatus): NextStream | undefined {
    const { owner } = this;
    if (owner.isDone) {
      owner.onDrained();
      return undefined;
    }
    const reason = describeEnd(status);
    if (this.hasAnswered) owner.trace(() => reason);
    return { kind: 'after-end', status, isAwaited: !this.hasAnswered, reason };
  }

  /** Sends what is left to report, and then ends the stream. */
  drain(): void {
    if (this.drainTimer !== undefined) return;
    this.reportDue = true;
    const { owner, open } = this;
    // The connection itself does not keep the process alive until the last report is sent.
    const keepsAlive = true;
    this.drainTimer = open.clock.setTimer(() => owner.onDrained(), DRAIN_TIMEOUT_MS, keepsAlive);
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
    this.open.transport.close();
    for (const taken of this.inFlight ?? []) taken.putBack();
  }

  private onRequested(response: LrsResponse, startMs: number): void {
    if (this.response === undefined) this.periodStartMs = startMs;
    const isNewInterval = this.response?.intervalMs !== response.intervalMs;
    this.response = response;
    this.owner.onResponse(response);
    if (isNewInterval) this.startReportTimer(response);
  }

  private sendNext(): void {
    if (this.inFlight !== undefined || this.isHalfClosed) return;
    const { open } = this;
    if (this.reportDue && this.response !== undefined) {
      this.reportDue = false;
      const startMs = open.clock.monotonicMs();
      this.inFlight = this.owner.loads.take(this.response.clusters);
      open.stream.send(encodeReport(this.inFlight));
      this.reportCostMs = open.clock.monotonicMs() - startMs;
    } else if (this.drainTimer !== undefined) {
      this.isHalfClosed = true;
      open.stream.halfClose();
    }
  }

  private startReportTimer({ intervalMs }: LrsResponse): void {
    const { clock } = this.open;
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
