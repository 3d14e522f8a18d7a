import type { Node } from '../generated/envoy/config/core/v3/base';
import { LoadStatsRequest } from '../generated/envoy/service/load_stats/v3/lrs';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../util/backoff';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { SerialQueue } from '../util/serial-queue';
import { StatusCode, statusName } from '../util/status-code';
import type { StreamStatus, XdsStream, XdsTransport } from '../xds-client/transport';
import type { TakenClusterCounts } from './cluster-load';
import { toClusterStats } from './load-report';
import { parseLrsOrder, type LrsOrder } from './lrs-order';
import type { ServerLoads } from './server-loads';

/** What a stream is made of. */
export interface LrsStreamOptions {
  readonly loads: ServerLoads;
  /** Makes a connection to the server. */
  readonly connect: () => Result<XdsTransport, string>;
  /** Names the server and the node in messages. */
  readonly description: string;
  readonly node: Node;
  /** Every method is to be called from it. */
  readonly queue: SerialQueue;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface BackoffState {
  readonly kind: 'backoff';
  readonly timer: Handle;
}

/** What lives exactly as long as one stream. */
interface OpenState {
  readonly kind: 'open';
  readonly transport: XdsTransport;
  readonly stream: XdsStream;
  /** On the monotonic clock. */
  readonly openedAtMs: number;
  /** How long to wait if this stream, too, ends without an answer. */
  readonly backoff: BackoffStep;
  /** `undefined` until the server has said what it wants. */
  order: LrsOrder | undefined;
  /** Until the next report; absent before there is an order. */
  tick: Handle | undefined;
  /** What the message holds that was given to the transport and has not been sent yet. */
  inFlight: readonly TakenClusterCounts[] | undefined;
  reportDue: boolean;
  /** Set when nobody has anything to report any more; ends the stream if the server does not. */
  farewell: Handle | undefined;
  /** The server has been told that nothing follows. */
  halfClosed: boolean;
}

type LrsState = { readonly kind: 'idle' } | BackoffState | OpenState;

const LRS_METHOD = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const IDLE: LrsState = { kind: 'idle' };
const TRACER = 'xds_client';

/** As for ADS streams: a server that answers and closes must not be asked again as fast as both sides can run. */
const MIN_STREAM_INTERVAL_MS = 1000;

/** How long a server may take to receive the last report before the connection is closed under it. */
const FAREWELL_MS = 1000;

/**
 * The LRS stream to one server, and its replacement when it ends (gRFCs A27, A57). There is one while anybody counts
 * calls; then a last report is sent, and nothing is left. What was not sent when a stream ended is part of the
 * next report. What was sent is not repeated, for nothing tells whether it has arrived.
 */
export class LrsStream {
  private state: LrsState = IDLE;
  /** The failure last logged, so that each is logged once. */
  private loggedFailure: string | undefined;

  constructor(private readonly options: LrsStreamOptions) {}

  /** Whether there is something to report may have changed. */
  update(): void {
    const { state } = this;
    if (!this.options.loads.isInUse) {
      if (state.kind === 'open') this.sayFarewell(state);
      else this.stop();
    } else if (state.kind === 'idle') {
      this.open(this.firstBackoff());
    } else if (state.kind === 'open' && !state.halfClosed) {
      state.farewell?.release();
      state.farewell = undefined;
    }
  }

  private setState(next: LrsState): void {
    const { state } = this;
    this.state = next;
    if (state.kind === 'backoff') state.timer.release();
    if (state.kind !== 'open') return;
    state.tick?.release();
    state.farewell?.release();
    state.stream.close();
    state.transport.close();
    for (const taken of state.inFlight ?? []) taken.putBack();
  }

  /** Nobody uses anything any more: what could not be reported until now will never be. */
  private stop(): void {
    this.setState(IDLE);
    this.options.loads.forgetUnused();
  }

  private open(backoff: BackoffStep): void {
    const { connect, clock, node } = this.options;
    const made = connect();
    if (!made.ok) {
      this.fail(`cannot be used: ${made.error}`, backoff);
      return;
    }
    const transport = made.value;
    const stream = transport.openStream(LRS_METHOD, {
      onSent: () => this.whileOpen(stream, (open) => this.onSent(open)),
      onMessage: (bytes) => this.whileOpen(stream, (open) => this.onMessage(open, bytes)),
      onClosed: (status) => this.whileOpen(stream, (open) => this.onClosed(open, status)),
    });
    this.setState({
      kind: 'open',
      transport,
      stream,
      openedAtMs: clock.monotonicMs(),
      backoff,
      order: undefined,
      tick: undefined,
      inFlight: [],
      reportDue: false,
      farewell: undefined,
      halfClosed: false,
    });
    // The first message only says who is asking.
    stream.send(LoadStatsRequest.encode({ node, clusterStats: [] }).finish());
    stream.read();
  }

  /** Runs an event of a stream in the queue, unless the stream has been replaced by then. */
  private whileOpen(stream: XdsStream, task: (open: OpenState) => void): void {
    this.options.queue.run(() => {
      if (this.state.kind === 'open' && this.state.stream === stream) task(this.state);
    });
  }

  private onSent(open: OpenState): void {
    open.inFlight = undefined;
    this.sendNext(open);
  }

  private sendNext(open: OpenState): void {
    if (open.inFlight !== undefined || open.halfClosed) return;
    if (open.reportDue && open.order !== undefined) {
      open.reportDue = false;
      open.inFlight = this.options.loads.take(open.order.clusters);
      const clusterStats = open.inFlight.map(({ counts }) => toClusterStats(counts));
      open.stream.send(LoadStatsRequest.encode({ node: undefined, clusterStats }).finish());
    } else if (open.farewell !== undefined) {
      open.halfClosed = true;
      open.stream.halfClose();
    }
  }

  private onMessage(open: OpenState, bytes: Uint8Array): void {
    const order = parseLrsOrder(bytes);
    if (!order.ok) {
      // A server that has been of use before is given the short wait again.
      this.fail(order.error, open.order === undefined ? open.backoff : this.firstBackoff());
      return;
    }
    const before = open.order;
    open.order = order.value;
    open.stream.read();
    this.recover(order.value);
    if (before?.intervalMs !== order.value.intervalMs) this.setTick(open, order.value);
  }

  private setTick(open: OpenState, { intervalMs }: LrsOrder): void {
    const { clock, queue } = this.options;
    open.tick?.release();
    open.tick = clock.setTimer(() => {
      queue.run(() => {
        if (this.state !== open || open.order === undefined) return;
        this.setTick(open, open.order);
        open.reportDue = true;
        this.sendNext(open);
      });
    }, intervalMs);
  }

  private onClosed(open: OpenState, status: StreamStatus): void {
    const { loads, clock } = this.options;
    if (!loads.isInUse) {
      this.stop();
    } else if (open.order === undefined) {
      this.fail(describeEnd(status), open.backoff);
    } else {
      const ageMs = clock.monotonicMs() - open.openedAtMs;
      this.trace(() => describeEnd(status));
      this.waitAndOpen(Math.max(0, MIN_STREAM_INTERVAL_MS - ageMs), this.firstBackoff());
    }
  }

  /** Sends what there is left to report, if the server wants it, and then leaves. */
  private sayFarewell(open: OpenState): void {
    if (open.farewell !== undefined) return;
    if (open.order === undefined) {
      this.stop();
      return;
    }
    const { clock, queue } = this.options;
    open.reportDue = true;
    // The connection itself does not keep the process alive until the last report is sent.
    const keepsAlive = true;
    open.farewell = clock.setTimer(
      () => {
        queue.run(() => {
          if (this.state !== open) return;
          if (this.options.loads.isInUse) this.waitAndOpen(0, this.firstBackoff());
          else this.stop();
        });
      },
      FAREWELL_MS,
      keepsAlive,
    );
    this.sendNext(open);
  }

  private fail(reason: string, backoff: BackoffStep): void {
    const { description, logger } = this.options;
    this.waitAndOpen(backoff.delayMs, backoff.next());
    const outlook = `next attempt in ${(backoff.delayMs / 1000).toFixed(1)} s`;
    this.trace(() => `${reason}; ${outlook}`);
    if (reason === this.loggedFailure) return;
    this.loggedFailure = reason;
    logger.error(() => `Load reports: ${description} ${reason}; ${outlook}`);
  }

  private recover({ clusters, intervalMs }: LrsOrder): void {
    const { description, logger } = this.options;
    this.trace(() => {
      const wanted = clusters === 'all' ? 'all clusters' : `clusters ${[...clusters].join(', ')}`;
      return `wants ${wanted} every ${intervalMs} ms`;
    });
    if (this.loggedFailure === undefined) return;
    this.loggedFailure = undefined;
    logger.info(() => `Load reports: ${description} takes them again`);
  }

  /** @param backoff How long to wait after the attempt that follows. */
  private waitAndOpen(delayMs: number, backoff: BackoffStep): void {
    const { clock, queue } = this.options;
    const waiting: BackoffState = {
      kind: 'backoff',
      timer: clock.setTimer(() => {
        queue.run(() => {
          if (this.state === waiting) this.open(backoff);
        });
      }, delayMs),
    };
    this.setState(waiting);
  }

  private firstBackoff(): BackoffStep {
    return firstBackoffStep(connectionBackoff, this.options.random);
  }

  private trace(text: () => string): void {
    const { logger, description } = this.options;
    logger.trace(TRACER, () => `load reports: ${description}: ${text()}`);
  }
}

/** Why a stream ended, to follow the name of the server. */
function describeEnd({ code, details }: StreamStatus): string {
  if (code === StatusCode.OK) return 'closed the LRS stream';
  if (code === StatusCode.UNAVAILABLE) return `cannot be reached: ${details}`;
  if (code === StatusCode.UNIMPLEMENTED) {
    return `takes no load reports, though it sets lrs_server in its clusters: ${details}`;
  }
  return `ended the LRS stream with ${statusName(code)}: ${details}`;
}
