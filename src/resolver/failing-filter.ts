import { Metadata, Status, type FilterFactory } from '../grpc-js';
import { createFilterFactory } from '../grpc-js/filters';

/**
 * Fails every call with UNAVAILABLE and a reason. A config selector's own status would reach the
 * application with a fixed text instead.
 */
export function createFailingFilterFactory(details: string): FilterFactory {
  return createFilterFactory(() => ({
    sendMetadata: () =>
      // The host library ends the call with whatever status object a filter rejects with.
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- see above
      Promise.reject({ code: Status.UNAVAILABLE, details, metadata: new Metadata() }),
  }));
}
