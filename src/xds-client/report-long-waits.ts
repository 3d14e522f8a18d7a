import type { Logger } from '../util/logger';
import { diagnostics } from './diagnostics';
import type { WatchedResource } from './watched-resource';
import { describePending } from './xds-errors';

/** Of many long waits that are reported together, so many have a line of their own in the log. */
const MAX_WAIT_LINES = 10;

/** Who is told, and by whom. */
export interface LongWaitsOptions {
  /** The wait in words. */
  readonly describe: (resource: WatchedResource) => string;
  readonly logger: Logger;
  readonly nodeId: string;
}

/** Says in the log, and to whoever observes the process, what has been waited for for long. */
export function reportLongWaits(
  resources: readonly WatchedResource[],
  { describe, logger, nodeId }: LongWaitsOptions,
): void {
  for (const [i, resource] of resources.entries()) {
    const text = describe(resource);
    if (i < MAX_WAIT_LINES) logger.info(() => text);
    if (!diagnostics.resourceWaiting.hasSubscribers) continue;
    const { typeUrl } = resource.type;
    const about = { nodeId, typeUrl, name: resource.name, serverUri: undefined };
    diagnostics.resourceWaiting.publish({ ...about, text });
  }
  const left = resources.length - MAX_WAIT_LINES;
  if (left > 0) logger.info(() => describePending(left));
}
