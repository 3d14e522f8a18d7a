import type { OrcaLoadReport } from '../../generated/xds/data/orca/v3/orca_load_report';
import { ConnectivityState } from '../../grpc-js';
import type { Subchannel } from '../../grpc-js';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../../util/backoff';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { StatusCode } from '../../util/status-code';
import type { OobStreamStatus, OpenOobStream } from './oob-stream';

/** What out-of-band reports need. */
export interface OobReportsOptions {
  readonly openStream: OpenOobStream;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

type ReportListener = (report: OrcaLoadReport) => void;
type Connection = ReturnType<Subchannel['getRealSubchannel']>;

/**
 * The load that backends report on streams of their own (gRFC A51). There is at most one stream on a
 * connection, however many policies and channels ask. A stream that fails is opened anew, after a backoff
 * unless it has been of use; one that the backend does not offer is not tried again on the same connection.
 */
export class OobReports {
  private readonly producers = new Map<Connection, OobProducer>();

  constructor(private readonly options: OobReportsOptions) {}

  /**
   * Asks for reports. To be called when the connection is READY, and the handle to be released when it is so
   * no longer, or when reports are not wanted any more.
   *
   * @param intervalMs Wanted time between reports. With several that ask, the shortest counts.
   */
  subscribe(subchannel: Subchannel, intervalMs: number, onReport: ReportListener): Handle {
    const connection = subchannel.getRealSubchannel();
    let producer = this.producers.get(connection);
    if (producer === undefined) {
      producer = new OobProducer(subchannel, this.options, () => this.producers.delete(connection));
      this.producers.set(connection, producer);
    }
    return producer.subscribe({ intervalMs, onReport });
  }

  /** How many connections there are that somebody wants reports from, or that are known to offer none. */
  get size(): number {
    return this.producers.size;
  }
}

interface Subscriber {
  readonly intervalMs: number;
  readonly onReport: ReportListener;
}

type ProducerState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'open'; readonly intervalMs: number; readonly stream: Handle }
  | { readonly kind: 'backoff'; readonly timer: Handle }
  /** Until the connection is lost. */
  | { readonly kind: 'unsupported'; readonly connectivity: Handle };

const IDLE: ProducerState = { kind: 'idle' };
const TRACER = 'orca_client';

/** The reports that come over one connection. */
class OobProducer {
  private readonly subscribers = new Set<Subscriber>();
  private state: ProducerState = IDLE;
  /** What to wait for after the next failure. `undefined`: there has been a report since the last one. */
  private backoff: BackoffStep | undefined;

  constructor(
    private readonly subchannel: Subchannel,
    private readonly options: OobReportsOptions,
    private readonly onUnused: () => void,
  ) {}

  subscribe(subscriber: Subscriber): Handle {
    this.subscribers.add(subscriber);
    this.adjust();
    return createHandle(() => {
      this.subscribers.delete(subscriber);
      this.adjust();
    });
  }

  /** Brings the stream in line with what is wanted. */
  private adjust(): void {
    const { state } = this;
    if (this.subscribers.size === 0) {
      if (state.kind === 'unsupported') return;
      this.setState(IDLE);
      this.onUnused();
      return;
    }
    if (state.kind === 'idle') this.open();
    else if (state.kind === 'open' && state.intervalMs !== this.wantedIntervalMs()) this.open();
  }

  private wantedIntervalMs(): number {
    let shortest = Infinity;
    for (const { intervalMs } of this.subscribers) shortest = Math.min(shortest, intervalMs);
    return shortest;
  }

  /** In place of the stream there is, if any: the interval is settled when a stream is opened. */
  private open(): void {
    const intervalMs = this.wantedIntervalMs();
    const openedAtMs = this.options.clock.monotonicMs();
    const stream = this.options.openStream(this.subchannel, intervalMs, {
      onReport: (report) => {
        this.backoff = undefined;
        for (const { onReport } of [...this.subscribers]) onReport(report);
      },
      onEnd: (status) => this.onEnd(status, openedAtMs),
    });
    this.setState({ kind: 'open', intervalMs, stream });
  }

  private onEnd(status: OobStreamStatus, openedAtMs: number): void {
    const { clock, random, logger } = this.options;
    if (status.code === StatusCode.UNIMPLEMENTED) {
      logger.error(
        () =>
          `Backend ${this.subchannel.getAddress()} does not report its load out of band, so its load is unknown: ${status.details}`,
      );
      this.setState({ kind: 'unsupported', connectivity: this.watchForLoss() });
      return;
    }
    const step = this.backoff ?? firstBackoffStep(connectionBackoff, random);
    this.backoff = step.next();
    const delayMs = Math.max(0, step.delayMs - (clock.monotonicMs() - openedAtMs));
    logger.trace(
      TRACER,
      () =>
        `${this.subchannel.getAddress()}: stream ended with ${status.code} ${status.details}; next in ${delayMs} ms`,
    );
    this.setState({ kind: 'backoff', timer: clock.setTimer(() => this.open(), delayMs) });
  }

  private watchForLoss(): Handle {
    const { subchannel } = this;
    const listener: Parameters<Subchannel['addConnectivityStateListener']>[0] = (_, __, state) => {
      if (state === ConnectivityState.READY) return;
      // Whoever subscribed lets go at the same moment, and subscribes anew to the next connection.
      this.setState(IDLE);
      if (this.subscribers.size === 0) this.onUnused();
    };
    subchannel.addConnectivityStateListener(listener);
    return createHandle(() => subchannel.removeConnectivityStateListener(listener));
  }

  private setState(state: ProducerState): void {
    const before = this.state;
    this.state = state;
    switch (before.kind) {
      case 'open':
        before.stream.release();
        break;
      case 'backoff':
        before.timer.release();
        break;
      case 'unsupported':
        before.connectivity.release();
        break;
      case 'idle':
        break;
    }
  }
}
