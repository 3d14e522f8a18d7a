import { Metadata, type FilterFactory } from '../grpc-js';
import { createFilterFactory, type FilterParts } from '../grpc-js/host-adapters';
import {
  type CallAffinity,
  type CallInfo,
  toCallFailedError,
  toStatusObject,
  isPromiseLike,
} from '../http-filters/call-filter';
import { CallFilterChain } from '../http-filters/call-filter-chain';
import type { PreparedFilter } from '../http-filters/http-filter';
import type { CallAttributes, OverrideHost } from '../lb/call-attributes';
import type { Handle } from '../util/handle';
import type { ClusterChoice, RouteCluster } from './cluster-choice';
import type { ClusterRef } from './cluster-refs';
import type { PendingHash } from './request-hash';

/**
 * One call that HTTP filters see: the attributes for pickers, the requests of filters, and the reference to its cluster.
 * Filters and pickers of a call communicate through this object.
 */
export class FilteredCall implements CallAttributes, CallAffinity, OverrideHost, Handle {
  cluster: string;
  overrideHost?: OverrideHost;
  addresses: readonly string[] = [];
  picked: readonly string[] | undefined;
  private ref: ClusterRef;
  private hash: bigint | undefined;

  /**
   * Acquires a reference to the cluster.
   * @param choice All clusters of the route.
   * @param drawn The cluster the call goes to, unless a filter chooses another one.
   */
  constructor(
    private readonly choice: ClusterChoice,
    { ref }: RouteCluster,
    private readonly pendingHash: PendingHash,
  ) {
    this.ref = ref.acquire();
    this.cluster = ref.childName;
  }

  requestHash(): bigint {
    return (this.hash ??= this.pendingHash.compute());
  }

  /** Returns what filters read of the call. The cluster may change while they are created, and each reads the latest. */
  toCallInfo(method: string, headers: Metadata): CallInfo {
    const currentCluster = () => this.ref.cluster;
    return {
      method,
      headers,
      get cluster() {
        return currentCluster();
      },
      affinity: this,
    };
  }

  chooseCluster(name: string): boolean {
    if (name === this.cluster) return true;
    const other = this.choice.find(name)?.ref;
    // A filter may choose so late that the route is gone, and the cluster with it.
    if (this.ref.isReleased || other === undefined || other.isReleased) return false;
    const before = this.ref;
    this.ref = other.acquire();
    this.cluster = other.childName;
    before.release();
    return true;
  }

  prefer(addresses: readonly string[]): void {
    this.addresses = addresses;
    this.overrideHost = this;
  }

  /** All attempts of a call go to the same endpoint, so the next ones look for this one (gRFC A55). */
  onPicked(addresses: readonly string[]): void {
    this.picked = addresses;
    this.addresses = addresses;
  }

  release(): void {
    this.ref.release();
  }
}

/**
 * Creates the filters of the host library that run the HTTP filters for one call (gRFC A39). To be called when the call's
 * route is chosen: the host always uses the result.
 *
 * @param release Called when the call has ended and every filter was called.
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
 * Calls `release` when the call ends. The host library may end one without committing it: when a filter rejects it, when
 * it is cancelled while waiting to be retried, and when it is cancelled before it was sent. In that last case the host
 * sends it nevertheless, and may commit it much later or never.
 */
function createReleaseFilterFactory(release: () => void): FilterFactory {
  return createFilterFactory(() => ({
    receiveTrailers(status) {
      release();
      return status;
    },
  }));
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
