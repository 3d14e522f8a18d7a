import {
  Metadata,
  PickResultType,
  Status,
  type PickResult,
  type StatusObject,
  type Subchannel,
} from '../grpc-js';
import type { CallStatus } from '../grpc-js/handed-over';
import { ContainedListener } from '../grpc-js/host-call';
import {
  InterceptedSubchannel,
  type CallListener,
  type CreateCall,
} from '../grpc-js/subchannel-wrappers';
import { createDropResult } from '../lb/connectivity';
import type { RetryPolicy } from '../resources/route-config/route-config';
import type { Clock } from '../util/clock';
import { BACKOFF_MULTIPLIER } from './compiled-route';
import { IN_PICK_QUEUE, ROUTE_TIMEOUT } from './status-explanation';

type Attempt = ReturnType<CreateCall>;

const TIMEOUT_HEADER = 'grpc-timeout';
const PUSHBACK_HEADER = 'grpc-retry-pushback-ms';

/** grpc-js varies the backoff of a retry by up to this factor (gRFC A6). */
const MAX_JITTER = 1.2;

export interface RouteDeadlineOptions {
  readonly clock: Clock;
  /** The start of the call, on the monotonic clock. */
  readonly startMs: number;
  /** The timeout of the route. */
  readonly timeoutMs: number;
  readonly retryPolicy: RetryPolicy | undefined;
  /** Called when the timeout has passed, after every attempt was cancelled. */
  readonly onPassed: () => void;
}

/**
 * The deadline of a call whose route became known only after grpc-js had read the call's timeout: the timeout
 * counts from the start of the call (gRFC A31), and is enforced here. Wherever the call is then, it ends with
 * DEADLINE_EXCEEDED: in the filters, in a pick, on a connection, or before a retry.
 */
export class RouteDeadline {
  /** The attempts on a connection. */
  private readonly attempts = new Set<Attempt>();
  private readonly timer;
  private readonly dueMs: number;
  /** Attempts that failed since the server last set the delay of a retry. */
  private failures = 0;
  private hasLimitedRetry = false;
  private isDue = false;

  constructor(private readonly options: RouteDeadlineOptions) {
    const { clock, startMs, timeoutMs } = options;
    this.dueMs = startMs + timeoutMs;
    this.timer = clock.setTimer(() => this.onDue(), this.remainingMs, true);
  }

  /** Returns the status of the call. @param stage What the call was waiting for, as grpc-js writes it. */
  status(stage: string): StatusObject {
    const { clock, startMs } = this.options;
    const seconds = ((clock.monotonicMs() - startMs) / 1000).toFixed(3);
    return {
      code: Status.DEADLINE_EXCEEDED,
      details: `Deadline exceeded after ${seconds}s,${ROUTE_TIMEOUT},${stage}`,
      metadata: new Metadata(),
    };
  }

  /** The result of every pick from now on, if the deadline has passed. */
  get endedPick(): PickResult | undefined {
    if (!this.isDue) return undefined;
    const { code, details } = this.status(IN_PICK_QUEUE);
    return createDropResult(code, details);
  }

  /** Returns a pick whose attempt, or whose failure, takes account of the deadline. */
  limit(result: PickResult): PickResult {
    const { pickResultType: type, subchannel, status } = result;
    if (type === PickResultType.COMPLETE && subchannel !== null) {
      return { ...result, subchannel: this.limitSubchannel(subchannel) };
    }
    if (type !== PickResultType.TRANSIENT_FAILURE || status === null) return result;
    // Failures share their status.
    const own = { ...status, metadata: status.metadata.clone() };
    this.limitRetry(own);
    return { ...result, status: own };
  }

  /** Ends the enforcement. @returns the status for the application. */
  end(status: StatusObject): StatusObject {
    this.timer.release();
    if (!this.hasLimitedRetry) return status;
    const metadata = status.metadata.clone();
    metadata.remove(PUSHBACK_HEADER);
    return { ...status, metadata };
  }

  /** Milliseconds until the deadline. */
  get remainingMs(): number {
    return Math.max(0, Math.ceil(this.dueMs - this.options.clock.monotonicMs()));
  }

  private onDue(): void {
    this.isDue = true;
    for (const attempt of this.attempts) this.cancel(attempt);
    this.options.onPassed();
  }

  private cancel(attempt: Attempt): void {
    const { code, details } = this.status(attempt.getDeadlineInfo().join(','));
    attempt.cancelWithStatus(code, details);
  }

  private limitSubchannel(subchannel: Subchannel): Subchannel {
    return new InterceptedSubchannel(subchannel, (metadata, host, method, listener, id) => {
      this.limitTimeout(metadata);
      const watched = new AttemptListener(listener, (status) => {
        this.attempts.delete(attempt);
        this.limitRetry(status);
      });
      const attempt = subchannel
        .getRealSubchannel()
        .createCall(metadata, host, method, watched, id);
      this.attempts.add(attempt);
      // grpc-js does not expect a call to end while it is created.
      if (this.isDue) this.options.clock.soon(() => this.cancel(attempt));
      return attempt;
    });
  }

  /**
   * The server applies the lesser timeout. The deadline of the application is known from its header only: grpc-js
   * does not pass it on.
   */
  private limitTimeout(metadata: Metadata): void {
    const { remainingMs } = this;
    const [existing] = metadata.get(TIMEOUT_HEADER);
    if (typeof existing === 'string' && parseTimeout(existing) <= remainingMs) return;
    metadata.set(TIMEOUT_HEADER, formatTimeout(remainingMs));
  }

  /**
   * A retry must not be later than the deadline. grpc-js does not say when it will be, but takes a delay from
   * the server (gRFC A6): if the retry may be too late, it comes with the deadline, which ends it.
   */
  private limitRetry({ code, metadata }: StatusObject): void {
    const { retryPolicy } = this.options;
    if (retryPolicy === undefined || code === Status.OK) return;
    const [pushback] = metadata.get(PUSHBACK_HEADER);
    const delayMs =
      pushback === undefined ? maxBackoffMs(retryPolicy, this.failures) : Number(pushback);
    this.failures = pushback === undefined ? this.failures + 1 : 0;
    if (!this.isDue && delayMs <= this.remainingMs) return;
    this.hasLimitedRetry = true;
    metadata.set(PUSHBACK_HEADER, this.isDue ? '-1' : String(this.remainingMs));
  }
}

/** Notifies of the status of an attempt before grpc-js. */
class AttemptListener extends ContainedListener {
  constructor(
    next: CallListener,
    private readonly onEnded: (status: StatusObject) => void,
  ) {
    super(next);
  }

  protected override get place(): string {
    return 'the timeout of a route';
  }

  protected override onStatus(status: CallStatus): CallStatus {
    this.onEnded(status);
    return status;
  }
}

/** The units of `grpc-timeout` in milliseconds. */
const UNITS: readonly (readonly [string, number])[] = [
  ['m', 1],
  ['S', 1000],
  ['M', 60_000],
  ['H', 3_600_000],
];

/** At most eight digits. */
const MAX_AMOUNT = 1e8;

/** Writes a `grpc-timeout`, not less than the given milliseconds. */
export function formatTimeout(ms: number): string {
  for (const [unit, factor] of UNITS) {
    const amount = Math.ceil(ms / factor);
    if (amount < MAX_AMOUNT) return `${amount}${unit}`;
  }
  return `${MAX_AMOUNT - 1}H`;
}

/** Reads a `grpc-timeout` as grpc-js writes it, in milliseconds; infinite if it is of another form. */
export function parseTimeout(header: string): number {
  const factor = UNITS.find(([unit]) => header.endsWith(unit))?.[1];
  const amount = /^\d{1,8}.$/.test(header) ? parseInt(header, 10) : NaN;
  return factor === undefined || Number.isNaN(amount) ? Infinity : amount * factor;
}

/** Returns the longest backoff before a retry, after a number of failures without a delay from the server. */
function maxBackoffMs({ baseIntervalMs, maxIntervalMs }: RetryPolicy, failures: number): number {
  const nominal = baseIntervalMs * BACKOFF_MULTIPLIER ** failures;
  // grpc-js does not limit the first backoff.
  return (failures === 0 ? nominal : Math.min(nominal, maxIntervalMs)) * MAX_JITTER;
}
