import type { Metadata } from '../../grpc-js';
import type { CallExplanation } from '../../resolver/explain-call';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import { processRates } from '../rates/process-rates';
import { ReadRates } from '../rates/read-rates';
import type { InspectedProcess } from './inspected-process';
import { processServers } from './process-servers';

/** The process as its registration knows it. */
interface RegisteredProcess {
  /** Returns `undefined` while there has been no channel for an xds: target. */
  readonly inspected: () => InspectedProcess | undefined;
  /** @param of The target of a channel, and which client of the inspected process it uses. Default: any client. */
  readonly explainCall: (
    of: { readonly scope: string; readonly xdsClient?: object },
    method: string,
    headers: Metadata,
  ) => CallExplanation;
  /** Keeps more of the values that resources had, until the handle is released. */
  readonly keepMoreValues: () => Handle;
  /** Closes something at `shutdown()`, unless it has been closed before. @returns what closes it. */
  readonly closeAtShutdown: (close: () => Promise<void>) => () => Promise<void>;
}

/** The process whose state a page shows. */
export interface ObservedProcess extends RegisteredProcess {
  /** Counts calls, those of servers too, and keeps more values, until the handle is released. */
  count(clock: Pick<Clock, 'monotonicMs'>): Handle;
  /**
   * Returns the rates of a target; `undefined` if nothing is counted of it.
   *
   * @param nowMs By the monotonic clock.
   * @param epochMs The time of day at which the monotonic clock was 0.
   */
  ratesOf(target: string, nowMs: number, epochMs: number): ReadRates | undefined;
}

/** Adds what is counted in a process while a page is served. */
export function observe(registered: RegisteredProcess): ObservedProcess {
  return {
    ...registered,
    count(clock) {
      const counting = [
        registered.keepMoreValues(),
        processRates.acquire(clock),
        processServers.countCalls(),
      ];
      return createHandle(() => {
        for (const each of counting) each.release();
      });
    },
    ratesOf(target, nowMs, epochMs) {
      const found = processRates.counting?.get(target);
      return found && new ReadRates(found, nowMs, epochMs);
    },
  };
}
