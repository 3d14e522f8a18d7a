import {
  Metadata,
  Status,
  toPickInformation,
  type CallConfig,
  type Filter,
  type FilterFactory,
  type MethodConfig,
  type PickResult,
  type StatusObject,
} from '../grpc-js';
import { createFilterFactory, type FilterParts } from '../grpc-js/host-adapters';
import { toCallFailedError, toStatusObject } from '../http-filters/call-filter';
import { CallFilterChain } from '../http-filters/call-filter-chain';
import type { FilterCall, PreparedFilter } from '../http-filters/http-filter';
import type { AuthorityRewrite, CallAttributes } from '../lb/call-attributes';
import type { CallStats } from '../observe/stats/call-stats';
import { isPromiseLike } from '../util/contained';
import type { EventLoopWatch } from '../util/event-loop-watch';
import type { ClusterRef, ReferencedCluster } from './cluster-refs';
import { explainDeadline, explainStage, IN_FILTERS } from './deadline-status';
import type { PendingHash } from './request-hash';
import type { CompiledRoute } from './route-table';

const CANCELLED = {
  code: Status.CANCELLED,
  details: 'The call has ended',
  metadata: new Metadata(),
};

/**
 * The config of a call without HTTP filters. The call config, the factory it names, the filter that factory creates and
 * the attributes that pickers read are this one object, because a call that costs a few microseconds should not leave a
 * dozen objects behind.
 *
 * The reference to its cluster is released when the call is committed, or else when it has ended: the host library ends
 * calls without committing them when they are cancelled early, or while they wait to be retried (gRFC A31).
 */
export class RoutedCall implements CallConfig, FilterFactory, Filter, CallAttributes {
  readonly dynamicFilterFactories: FilterFactory[] = [this];
  readonly methodConfig: MethodConfig;
  readonly authorityRewrite: AuthorityRewrite | undefined;
  /** `undefined` if no plugin observes the call. It is notified of the end here, which saves a filter. */
  stats: CallStats | undefined = undefined;
  private readonly target: ReferencedCluster;
  private isReferencing = true;
  private hash: bigint | undefined = undefined;
  private ended = false;
  /** The last pick without a connection. */
  private notPicked: PickResult | undefined = undefined;

  /** Acquires a reference to the cluster. */
  constructor(
    { target }: ClusterRef,
    { methodConfig, authorityRewrite }: Pick<CompiledRoute, 'methodConfig' | 'authorityRewrite'>,
    private readonly pendingHash: PendingHash,
    private readonly eventLoop: EventLoopWatch | undefined,
  ) {
    this.target = target;
    target.acquire();
    this.methodConfig = methodConfig;
    this.authorityRewrite = authorityRewrite;
  }

  get status(): Status {
    return Status.OK;
  }

  get pickInformation(): CallConfig['pickInformation'] {
    return toPickInformation(this);
  }

  get cluster(): string {
    return this.target.childName;
  }

  requestHash(): bigint {
    return (this.hash ??= this.pendingHash.compute());
  }

  onNotPicked(result: PickResult): void {
    this.notPicked = result;
  }

  /** Called when the call is committed, and by the end of the call, which may come without it. */
  onCommitted(): void {
    if (!this.isReferencing) return;
    this.isReferencing = false;
    this.target.release();
  }

  createFilter(): Filter {
    return this;
  }

  sendMetadata<T>(metadata: T): T {
    return metadata;
  }

  receiveMetadata<T>(metadata: T): T {
    return metadata;
  }

  /** The host goes on to send a call that was cancelled before it was sent; its first message ends it here. */
  sendMessage<T>(message: Promise<T>): Promise<T> {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the host ends the call with whatever status object a filter rejects with
    return this.ended ? Promise.reject(CANCELLED) : message;
  }

  receiveMessage<T>(message: T): T {
    return message;
  }

  receiveTrailers(status: StatusObject): StatusObject {
    this.ended = true;
    this.onCommitted();
    const shown = status.code === Status.OK ? status : this.explain(status);
    this.stats?.end(shown.code, shown.details);
    return shown;
  }

  private explain(status: StatusObject): StatusObject {
    const { eventLoop, notPicked, target } = this;
    return explainDeadline(status, { cluster: target.cluster, notPicked, eventLoop });
  }
}

/** Handles the end of a call. @returns the status for the application. */
type EndCall = (status: StatusObject) => StatusObject;

/**
 * Creates the filters of the host library that run the HTTP filters for one call (gRFC A39). Called when the call's route
 * is chosen: the host always uses the result.
 *
 * @param end Called when the call has ended and every filter was called, with the status of the call.
 */
export function createCallFilterFactories(
  filters: readonly PreparedFilter[],
  call: FilterCall,
  end: EndCall,
): FilterFactory[] {
  if (filters.length === 0) return [createEndFilterFactory(end)];
  const chain = new CallFilterChain(filters, call);
  if (chain.isIdle) return [createEndFilterFactory(end)];
  return [createFilterFactory(() => toFilterParts(chain, end))];
}

/**
 * Calls `end` when the call ends. The host library may end one without committing it: when a filter rejects it, when
 * it is cancelled while waiting to be retried, and when it is cancelled before it was sent. In that last case the host
 * sends it nevertheless, and may commit it much later or never.
 */
function createEndFilterFactory(end: EndCall): FilterFactory {
  return createFilterFactory(() => ({ receiveTrailers: end }));
}

/**
 * Converts the chain to one filter of the host library, which saves the promises between filters. Where no filter acts,
 * the arguments are returned unchanged.
 *
 * The host starts a call that was cancelled while its headers passed the filters. The chain rejects everything after
 * the end, which prevents the start of such a call, or ends it with its first message.
 */
function toFilterParts(chain: CallFilterChain, end: EndCall): FilterParts {
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
        // The host cannot end the call here. The chain keeps the failure and rejects the next message.
        return new Metadata();
      }
    },
    receiveMessage: (pending) =>
      chain.acts('onResponseMessage')
        ? pending.then((message) => orStatus(() => chain.onResponseMessage(message)))
        : pending,
    receiveTrailers(status) {
      const { delayedBy } = chain;
      const shown =
        delayedBy === undefined ? status : explainStage(status, IN_FILTERS, () => [delayedBy]);
      return end(chain.onStatus(shown));
    },
  };
}

/** Returns the result, or a promise rejected with a status of the host library. */
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
