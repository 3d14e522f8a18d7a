import type { FilterFactory } from '../grpc-js';
import { createFilterFactory } from '../grpc-js/filters';

/**
 * Releases what a call holds when the call ends. The host library may end one without committing it: when a
 * filter rejects it, when it is cancelled while waiting to be retried, and when it is cancelled before it
 * was sent. In that last case the host sends it nevertheless, and may commit it much later or never.
 */
export function createReleaseFilterFactory(release: () => void): FilterFactory {
  return createFilterFactory(() => ({
    receiveTrailers(status) {
      release();
      return status;
    },
  }));
}
