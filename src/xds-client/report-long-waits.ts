import type { Logger } from '../util/logger';
import { diagnostics } from './diagnostics';
import type { LongWait } from './wait-reports';
import { describePending } from './xds-errors';

/** Of many long waits that are reported together, so many have a line of their own in the log. */
const MAX_WAIT_LINES = 10;

/** Where long waits are reported. */
export interface LongWaitsOptions {
  readonly logger: Logger;
  readonly nodeId: string;
}

/**
 * Reports resources that have been pending for long in the log, once each however many targets watch them, and on the
 * diagnostics channel for each target.
 */
export function reportLongWaits(
  waits: readonly LongWait[],
  { logger, nodeId }: LongWaitsOptions,
): void {
  const { resourceWaiting } = diagnostics;
  const logged = new Set<string>();
  for (const { resource, target, describe } of waits) {
    const { name, type } = resource;
    const { typeUrl } = type;
    const key = `${typeUrl} ${name}`;
    if (!logged.has(key) && logged.size < MAX_WAIT_LINES) logger.info(describe);
    logged.add(key);
    if (!resourceWaiting.hasSubscribers) continue;
    resourceWaiting.publish({
      ...{ nodeId, target, typeUrl, name },
      ...{ serverUri: undefined, text: describe() },
    });
  }
  const left = logged.size - MAX_WAIT_LINES;
  if (left > 0) logger.info(() => describePending(left));
}
