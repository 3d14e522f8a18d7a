import { Metadata, type FilterFactory } from '../grpc-js';
import { createFilterFactory, type FilterParts } from '../grpc-js/filters';
import type { CallInfo } from '../http-filters/call-filter';
import { CallFilterChain } from '../http-filters/call-filter-chain';
import { toCallFailedError, toStatusObject } from '../http-filters/filter-failure';
import type { PreparedFilter } from '../http-filters/http-filter';
import { isPromiseLike } from '../http-filters/promise-like';
import { createReleaseFilterFactory } from './release-filter';

/**
 * The filters of the host library that run the HTTP filters for one call (gRFC A39). To be called when the call's
 * route is chosen: the host always goes on to use what it is given.
 *
 * @param release Runs once, when the call has ended and every filter was told.
 */
export function createCallFilterFactories(
  filters: readonly PreparedFilter[],
  call: CallInfo,
  release: () => void,
): FilterFactory[] {
  if (filters.length === 0) return [createReleaseFilterFactory(release)];
  const chain = new CallFilterChain(filters, call);
  if (chain.isIdle) return [createReleaseFilterFactory(release)];
  return [createFilterFactory(() => toFilterParts(chain, release))];
}

/**
 * The whole chain as one filter of the host library, which saves the promises between filters. Where no filter
 * acts, what the host gives is handed on as it is.
 *
 * The host starts a call that was cancelled while its headers were on their way through the filters, as if
 * nothing had happened. The chain refuses whatever comes through after the end; that keeps such a call from
 * being started, or ends it with its first message.
 */
function toFilterParts(chain: CallFilterChain, release: () => void): FilterParts {
  return {
    sendMetadata: (pending) =>
      chain.acts('onRequestHeaders')
        ? pending.then((headers) => orStatus(() => chain.onRequestHeaders(headers)))
        : pending,
    sendMessage: (pending) =>
      chain.acts('onRequestMessage')
        ? pending.then((write) =>
            orStatus(() => {
              const message = chain.onRequestMessage(write.message);
              return isPromiseLike(message)
                ? message.then((settled) => ({ ...write, message: settled }))
                : { ...write, message };
            }),
          )
        : pending,
    receiveMetadata(headers) {
      try {
        return chain.acts('onResponseHeaders') ? chain.onResponseHeaders(headers) : headers;
      } catch {
        // The host cannot end the call from here. The chain remembers the failure and refuses what comes next.
        return new Metadata();
      }
    },
    receiveMessage: (pending) =>
      chain.acts('onResponseMessage')
        ? pending.then((message) => orStatus(() => chain.onResponseMessage(message)))
        : pending,
    receiveTrailers(status) {
      const final = chain.onStatus(status);
      release();
      return final;
    },
  };
}

/** The result, or a rejection as the host wants it. */
function orStatus<T>(run: () => T | Promise<T>): T | Promise<T> {
  try {
    const result = run();
    return isPromiseLike(result) ? result.then(undefined, rejectWithStatus) : result;
  } catch (error) {
    return rejectWithStatus(error);
  }
}

function rejectWithStatus(error: unknown): Promise<never> {
  const { failure } = toCallFailedError(error, 'HTTP filters');
  // The host library ends the call with whatever status object a filter rejects with.
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- see above
  return Promise.reject(toStatusObject(failure));
}
