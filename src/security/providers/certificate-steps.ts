import type { Clock } from '../../util/clock';
import { errorStack } from '../../util/errors';
import type { Logger } from '../../util/logger';
import { TimeSlices } from '../../util/time-slices';

/** How certificates are parsed, and TLS contexts made, without stopping the process. */
export interface CertificateSteps {
  /** What a step throws is logged: it is a mistake of this package or of a watcher, and ends nothing else. */
  readonly batch: { run(task: () => void): void };
  readonly timeSlices: TimeSlices;
}

const slicesOfClock = new WeakMap<Clock, TimeSlices>();

/** Returns the steps of a process: those of all providers share one slice of time in each turn of the event loop. */
export function certificateSteps({
  clock,
  logger,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
}): CertificateSteps {
  const timeSlices = slicesOfClock.get(clock) ?? new TimeSlices(clock);
  slicesOfClock.set(clock, timeSlices);
  return {
    timeSlices,
    batch: {
      run(task) {
        try {
          task();
        } catch (error) {
          logger.error(() => `unexpected error while certificates are read: ${errorStack(error)}`);
        }
      },
    },
  };
}

/** Takes milliseconds of work from the time of the source that caused it. */
export type PayForWork = (durationMs: number) => void;

const payers = new WeakMap<object, PayForWork>();

/** Records what pays for the work that certificates cause after they were received, such as TLS contexts that are made of them. */
export function setPayer(certificates: object, pay: PayForWork): void {
  payers.set(certificates, pay);
}

/** @returns `undefined` for certificates whose source has no bounded time. */
export function payerOf(certificates: object): PayForWork | undefined {
  return payers.get(certificates);
}
