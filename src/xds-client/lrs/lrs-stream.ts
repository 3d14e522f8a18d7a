import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import type { Clock } from '../../util/clock';
import { inSeconds } from '../../util/duration';
import { errorStack } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import type { SerialQueue } from '../../util/serial-queue';
import { ReconnectingStream, type OpenStream } from '../reconnecting-stream';
import type { XdsTransportFactory } from '../transport';
import { describeServer } from '../xds-errors';
import {
  ServerLoads,
  type RequestedClusters,
  type ClusterId,
  type ClusterLoadReference,
} from './cluster-load';
import type { LrsResponse } from './lrs-response';
import { LrsSession } from './lrs-session';
import { parseMetricRules, type MetricRules } from './metrics';

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
      queue,
      clock,
      random,
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
      open,
      loads,
      isDone,
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
    this.loads.dropUnused();
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

/** Lists the requested clusters, at most {@link MAX_TRACED_CLUSTERS} by name. */
function describeClusters(clusters: RequestedClusters): string {
  if (clusters === 'all') return 'all clusters';
  const names = [...clusters].slice(0, MAX_TRACED_CLUSTERS).join(', ');
  const left = clusters.size - MAX_TRACED_CLUSTERS;
  return left > 0 ? `clusters ${names} and ${left} more` : `clusters ${names}`;
}
