import type { OrcaLoadReport } from '../../wire/generated/xds/data/orca/v3/orca_load_report';
import { ConnectivityState, type Subchannel } from '../../grpc-js';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { connectionBackoff, firstBackoffStep, type BackoffStep } from '../../util/backoff';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { StatusCode, statusName } from '../../util/status-code';
import { describeUnusable } from './call-load-report';
import type { OobStreamListener, OobStreamStatus, OpenOobStream } from './oob-stream';

export interface OobReportsOptions {
  readonly openStream: OpenOobStream;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

type ReportListener = (report: OrcaLoadReport) => void;
type Connection = ReturnType<Subchannel['getRealSubchannel']>;

/**
 * The out-of-band load reports of backends (gRFC A51). All policies and channels share one stream per connection. A
 * stream that fails is reopened, after a backoff unless it has received a report; if the backend does not implement the
 * service, no other stream is opened on the same connection.
 */
export class OobReports {
  private readonly producers = new Map<Connection, OobProducer>();

  constructor(private readonly options: OobReportsOptions) {}

  /**
   * Subscribes to the reports of the backend of a READY connection. The handle must be released when the connection is
   * not READY any more.
   *
   * @param intervalMs Requested time between reports. Of several subscribers, the shortest interval applies.
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

  /** The number of connections with a subscriber, or without the service. */
  get size(): number {
    return this.producers.size;
  }
}

interface Subscriber {
  readonly intervalMs: number;
  readonly onReport: ReportListener;
}

/** The state of a producer, with its stream, its timer or its watch of the connection. */
type ProducerState =
  | { readonly kind: 'idle'; readonly handle?: undefined }
  | { readonly kind: 'open'; readonly intervalMs: number; readonly handle: Handle }
  | { readonly kind: 'backoff'; readonly handle: Handle }
  /** The backend has no such service: nothing is requested until the connection is lost. */
  | { readonly kind: 'unsupported'; readonly handle: Handle };

const IDLE: ProducerState = { kind: 'idle' };
const TRACER = 'orca_client';
/** How streams end that nothing is wrong with: with the backend or its connection, or by this client. */
const ORDINARY: readonly number[] = [StatusCode.OK, StatusCode.CANCELLED, StatusCode.UNAVAILABLE];

/** The reports of one connection. */
class OobProducer {
  private readonly subscribers = new Set<Subscriber>();
  private state: ProducerState = IDLE;
  /** The backoff after the next failure; `undefined` if there was a report since the last one. */
  private backoff: BackoffStep | undefined;
  /** The failure that was logged last, until there is a report. */
  private loggedFailure: string | undefined;

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

  /** Opens, replaces or closes the stream, as the subscribers require. */
  private adjust(): void {
    const { state } = this;
    if (this.subscribers.size === 0) {
      if (state.kind === 'unsupported') return;
      this.setState(IDLE);
      this.onUnused();
      return;
    }
    if (state.kind === 'idle') this.open();
    else if (state.kind === 'open' && state.intervalMs !== this.requestedIntervalMs()) this.open();
  }

  private requestedIntervalMs(): number {
    let shortest = Infinity;
    for (const { intervalMs } of this.subscribers) shortest = Math.min(shortest, intervalMs);
    return shortest;
  }

  /** Opens a stream, replacing the open one: the interval of a stream cannot change. */
  private open(): void {
    const intervalMs = this.requestedIntervalMs();
    const { clock, openStream } = this.options;
    const openedAtMs = clock.monotonicMs();
    const listener: OobStreamListener = {
      onReport: (report) => {
        this.backoff = undefined;
        this.loggedFailure = undefined;
        for (const { onReport } of [...this.subscribers]) onReport(report);
      },
      onUnusable: (reason) =>
        this.logFailure(describeUnusable(this.subchannel.getAddress(), reason)),
      onEnd: (status) => this.onEnd(status, openedAtMs),
    };
    const handle = openStream(this.subchannel, intervalMs, listener, clock);
    this.setState({ kind: 'open', intervalMs, handle });
  }

  private onEnd(status: OobStreamStatus, openedAtMs: number): void {
    const { clock, random, logger } = this.options;
    if (status.code === StatusCode.UNIMPLEMENTED) {
      logger.error(
        () =>
          `Backend ${this.subchannel.getAddress()} does not report its load out of band, so its load is unknown: ${status.details}`,
      );
      this.setState({ kind: 'unsupported', handle: this.watchForLoss() });
      return;
    }
    if (!ORDINARY.includes(status.code)) {
      const end = `${statusName(status.code)}: ${status.details}`;
      const address = this.subchannel.getAddress();
      this.logFailure(`Backend ${address} ended the stream of its load reports with ${end}`);
    }
    const step = this.backoff ?? firstBackoffStep(connectionBackoff, random);
    this.backoff = step.next();
    const delayMs = Math.max(0, step.delayMs - (clock.monotonicMs() - openedAtMs));
    logger.trace(
      TRACER,
      () =>
        `${this.subchannel.getAddress()}: stream ended with ${status.code} ${status.details}; next in ${delayMs} ms`,
    );
    this.setState({ kind: 'backoff', handle: clock.setTimer(() => this.open(), delayMs) });
  }

  private logFailure(failure: string): void {
    if (failure === this.loggedFailure) return;
    this.loggedFailure = failure;
    this.options.logger.error(() => failure);
  }

  private watchForLoss(): Handle {
    const { subchannel } = this;
    const listener: Parameters<Subchannel['addConnectivityStateListener']>[0] = containedCallback(
      'the load reports of a backend',
      (_, __, state) => {
        if (state === ConnectivityState.READY) return;
        // The subscribers release their handles now, too, and subscribe to the next connection.
        this.setState(IDLE);
        if (this.subscribers.size === 0) this.onUnused();
      },
    );
    subchannel.addConnectivityStateListener(listener);
    return createHandle(() => subchannel.removeConnectivityStateListener(listener));
  }

  private setState(state: ProducerState): void {
    const before = this.state;
    this.state = state;
    before.handle?.release();
  }
}
