import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import {
  LoadStatsRequest,
  LoadStatsResponse,
} from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import { inNextTurn, type Clock } from '../../util/clock';
import { errorMessage, errorStack } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { err, ok, type Result } from '../../util/result';
import type { SerialQueue } from '../../util/serial-queue';
import { StatusCode, statusName } from '../../util/status-code';
import type { Steps } from '../../util/steps';
import {
  ReconnectingStream,
  type NextStream,
  type OpenStream,
  type StreamSession,
} from '../reconnecting-stream';
import type { StreamStatus, XdsTransportFactory } from '../transport';
import { describeServer } from '../xds-errors';
import { DRAIN_TIMEOUT_MS } from '../limits';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import {
  ServerLoads,
  toClusterStats,
  type RequestedClusters,
  type ClusterId,
  type ClusterLoadReference,
  type TakenClusterCounts,
} from './cluster-load';
import { parseMetricRules, type MetricRules } from './metrics';
import { durationToMs, inSeconds } from '../../util/duration';
import { MESSAGE_LIMIT, ReadBudget, ReadLimitError } from '../../util/read-budget';
import { Violations } from '../../util/violations';

/** A stream of load reports in use. */
export interface EndableStream {
  /** Sends what can be reported now, calls in progress included, and ends the stream for good. */
  finish(): void;
  /** Ends the stream for good, and drops what was not reported. */
  close(): void;
}

/** The streams of load reports of a process that are in use. */
export interface StreamSet {
  /** Adds a stream until the handle is released. */
  add(stream: EndableStream): Handle;
}

/** Constructor options of an LRS stream. */
export interface LrsStreamOptions {
  readonly server: ServerConfig;
  /** Identifies this process. */
  readonly node: Node;
  readonly transportFactory: XdsTransportFactory;
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Whether clusters choose which metrics of backends are reported (gRFC A85); if not, gRFC A64 applies. */
  readonly choosesMetrics: boolean;
  /** Called with each response of a server. Default: nothing happens. */
  readonly onRequested?: ((server: ServerConfig, response: LrsResponse) => void) | undefined;
  /** Has the streams that are in use. Default: nothing does. */
  readonly streams?: StreamSet | undefined;
}

/** The client feature that lets a server request all clusters without a list (gRFC A27). */
const ALL_CLUSTERS_FEATURE = 'envoy.lrs.supports_send_all_clusters';

const LRS_METHOD = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const TRACER = 'xds_client';
const MAX_TRACED_CLUSTERS = 20;

/** Milliseconds between responses that are read. Servers send one at the start, and when what they request changes. */
const MIN_READ_INTERVAL_MS = 100;
/**
 * How long the next response is not read, and the next report not made: so many times as long as the last one took, whatever
 * the server requests.
 */
const PAUSE_FACTOR = 4;
/** A shorter interval of reports is raised to this: a server must not be able to keep the process busy with them. */
const MIN_INTERVAL_MS = 100;
/** Milliseconds for which a report is made without a break. */
const REPORT_SLICE_MS = 1;

/**
 * The load that is reported to one server, its LRS stream, and the streams that replace it (gRFCs A27, A57). One exists
 * while calls are counted; after that the load reports are drained. What was not sent when a stream ended is part of the
 * next report. What was sent is not repeated, because it may have arrived.
 */
export class LrsStream implements EndableStream {
  private readonly loads: ServerLoads;
  private readonly stream: ReconnectingStream<LrsSession>;
  /** Names the server and the node in messages. */
  private readonly description: string;
  /** The failure last logged, so that each is logged once. */
  private loggedFailure: string | undefined;
  /** Released when the stream is not in use. */
  private use: Handle | undefined;
  /** Whether the last report is sent although calls are in progress. */
  private isFinishing = false;

  constructor(private readonly options: LrsStreamOptions) {
    const { server, node, transportFactory, queue, clock, random, logger } = options;
    this.description = describeServer(server, node.id);
    this.loads = new ServerLoads(
      () => clock.monotonicMs(),
      () => queue.run(() => this.update()),
    );
    this.stream = new ReconnectingStream({
      ...{ queue, clock, random },
      connect: () => transportFactory.create(server),
      method: () => LRS_METHOD,
      createSession: (open) => this.createSession(open),
      onFailed: (reason, retryInMs) => this.onFailed(reason, retryInMs),
      onError: (error) =>
        logger.error(
          () => `unexpected error on the LRS stream to ${this.description}: ${errorStack(error)}`,
        ),
    });
  }

  /** Acquires the load of a cluster. @param metrics `lrs_report_endpoint_metrics` of the cluster. */
  acquire(
    id: ClusterId,
    metrics: readonly string[],
  ): ClusterLoadReference & { readonly metrics: MetricRules | undefined } {
    const rules = parseMetricRules(metrics, this.options.choosesMetrics);
    return { ...this.loads.acquire(id), metrics: rules };
  }

  finish(): void {
    this.options.queue.run(() => {
      const { session } = this.stream;
      this.isFinishing = true;
      if (session?.hasAnswered === true) session.drain();
      else this.stop();
    });
  }

  close(): void {
    this.isFinishing = true;
    this.options.queue.run(() => this.stop());
  }

  private createSession(open: OpenStream): LrsSession {
    const { loads } = this;
    const { node } = this.options;
    const isDone = () => this.isFinishing || !loads.isInUse;
    return new LrsSession({
      ...{ open, loads, isDone },
      node: { ...node, clientFeatures: [...node.clientFeatures, ALL_CLUSTERS_FEATURE] },
      onResponse: (response) => this.onResponse(response),
      onDrained: () => {
        if (isDone()) this.stop();
        else this.stream.replace();
      },
      trace: (text) => this.trace(text),
    });
  }

  /** Starts, drains or stops the stream after `ServerLoads.isInUse` may have changed. */
  private update(): void {
    const { session } = this.stream;
    if (this.isFinishing) return;
    if (this.loads.isInUse) {
      this.use ??= this.options.streams?.add(this);
      this.stream.start();
      session?.cancelDrain();
    } else if (session?.hasAnswered === true) {
      session.drain();
    } else {
      this.stop();
    }
  }

  /** Ends the stream. What was not reported is dropped. */
  private stop(): void {
    this.stream.stop();
    this.loads.removeUnused();
    this.use?.release();
    this.use = undefined;
  }

  private onFailed(reason: string, retryInMs: number): void {
    const { description } = this;
    const { logger } = this.options;
    const outlook = `next attempt in ${inSeconds(retryInMs)}`;
    this.trace(() => `${reason}; ${outlook}`);
    if (reason === this.loggedFailure) return;
    this.loggedFailure = reason;
    logger.error(() => `Load reports: ${description} ${reason}; ${outlook}`);
  }

  private onResponse(response: LrsResponse): void {
    const { description } = this;
    const { logger, onRequested, server } = this.options;
    const { clusters, intervalMs } = response;
    onRequested?.(server, response);
    this.trace(() => `requests ${describeClusters(clusters)} every ${intervalMs} ms`);
    if (this.loggedFailure === undefined) return;
    this.loggedFailure = undefined;
    logger.info(() => `Load reports: ${description} takes them again`, { event: 'recovered' });
  }

  private trace(text: () => string): void {
    const { description } = this;
    const { logger } = this.options;
    logger.trace(TRACER, () => `load reports: ${description}: ${text()}`);
  }
}

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
class LrsSession implements StreamSession {
  /** The last response; `undefined` until there is one. */
  private response: LrsResponse | undefined;
  /** Runs until the next response may be read. */
  private readTimer: Handle | undefined;
  /** Runs until more of the report is made. */
  private reportBreak: Handle | undefined;
  /** Runs until the next report. */
  private reportTimer: Handle | undefined;
  /** When the time of the next report began, on the monotonic clock. */
  private periodStartMs = 0;
  /** How long it took to make the last report. */
  private reportCostMs = 0;
  /** The content of the message that is being made, or was given to the transport and has not been sent yet. */
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
    const { stream, clock } = this.options.open;
    const startMs = clock.monotonicMs();
    const parsed = parseLrsResponse(bytes);
    if (!parsed.ok) return { kind: 'after-backoff', reason: parsed.error };
    const response = parsed.value;
    if (this.response === undefined) this.periodStartMs = startMs;
    const isNewInterval = this.response?.intervalMs !== response.intervalMs;
    this.response = response;
    this.options.onResponse(response);
    if (isNewInterval) this.startReportTimer(response);
    const costMs = clock.monotonicMs() - startMs;
    const pauseMs = Math.max(MIN_READ_INTERVAL_MS, PAUSE_FACTOR * costMs);
    this.readTimer = clock.setTimer(() => stream.read(), pauseMs);
    return undefined;
  }

  onClosed(status: StreamStatus): NextStream | undefined {
    const { isDone, trace, onDrained } = this.options;
    if (isDone()) {
      onDrained();
      return undefined;
    }
    if (!this.hasAnswered) return { kind: 'after-backoff', reason: describeEnd(status) };
    trace(() => describeEnd(status));
    return { kind: 'after-interval', isAwaited: false, status };
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
    this.reportBreak?.release();
    this.reportTimer?.release();
    this.drainTimer?.release();
    this.options.open.transport.close();
    for (const taken of this.inFlight ?? []) taken.putBack();
  }

  private sendNext(): void {
    if (this.inFlight !== undefined || this.isHalfClosed) return;
    const { open, loads } = this.options;
    if (this.reportDue && this.response !== undefined) {
      this.reportDue = false;
      this.reportCostMs = 0;
      this.proceed(this.makeReport(loads.take(this.response.clusters)));
    } else if (this.drainTimer !== undefined) {
      this.isHalfClosed = true;
      open.stream.halfClose();
    }
  }

  /** Makes a report and sends it, in steps. What has been taken so far is in `inFlight`. */
  private *makeReport(clusters: Iterable<TakenClusterCounts | undefined>): Steps<void> {
    const inFlight: TakenClusterCounts[] = [];
    const parts: Uint8Array[] = [];
    this.inFlight = inFlight;
    for (const taken of clusters) {
      if (taken !== undefined) {
        inFlight.push(taken);
        const clusterStats = [toClusterStats(taken.counts)];
        // Encoded messages that follow each other are one message with the elements of both.
        parts.push(LoadStatsRequest.encode({ node: undefined, clusterStats }).finish());
      }
      yield;
    }
    this.options.open.stream.send(Buffer.concat(parts));
  }

  /** Runs steps for a slice of time, and the others in the next turns of the event loop. */
  private proceed(steps: Steps<void>): void {
    const { clock } = this.options.open;
    const startMs = clock.monotonicMs();
    let costMs = 0;
    let isDone = false;
    while (!isDone && costMs < REPORT_SLICE_MS) {
      isDone = steps.next().done === true;
      costMs = clock.monotonicMs() - startMs;
    }
    this.reportCostMs += costMs;
    if (!isDone) this.reportBreak = inNextTurn(clock, () => this.proceed(steps));
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

/** Lists the requested clusters, at most {@link MAX_TRACED_CLUSTERS} by name. */
function describeClusters(clusters: RequestedClusters): string {
  if (clusters === 'all') return 'all clusters';
  const names = [...clusters].slice(0, MAX_TRACED_CLUSTERS).join(', ');
  const left = clusters.size - MAX_TRACED_CLUSTERS;
  return left > 0 ? `clusters ${names} and ${left} more` : `clusters ${names}`;
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

/** A valid LRS response: the clusters to report, and how often. */
export interface LrsResponse {
  readonly clusters: RequestedClusters;
  /** Milliseconds between two reports. */
  readonly intervalMs: number;
}

/** Parses an LRS response (gRFC A27). The interval is required. */
export function parseLrsResponse(bytes: Uint8Array): Result<LrsResponse, string> {
  let response: LoadStatsResponse;
  try {
    response = LoadStatsResponse.decode(bytes, undefined, new ReadBudget(MESSAGE_LIMIT));
  } catch (error) {
    if (error instanceof ReadLimitError) {
      return err(`sent a response that is too large: ${error.message}`);
    }
    return err(`sent something that is no LoadStatsResponse: ${errorMessage(error)}`);
  }
  const interval = response.loadReportingInterval;
  if (interval === undefined) return err('sent no load_reporting_interval');
  const violations = Violations.root();
  const intervalMs = durationToMs(interval, violations.at('load_reporting_interval'));
  if (intervalMs === undefined) return err(`sent a bad interval: ${violations.all.join('; ')}`);
  if (intervalMs === 0) return err('sent a load_reporting_interval of 0');
  return ok({
    clusters: response.sendAllClusters ? 'all' : new Set(response.clusters),
    intervalMs: Math.max(MIN_INTERVAL_MS, intervalMs),
  });
}
