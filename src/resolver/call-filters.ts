import { Metadata, Status, type CallCredentials, type Filter, type StatusObject } from '../grpc-js';
import { rejectWith } from '../grpc-js/host-call';
import {
  CallFailedError,
  toCallFailedError,
  toStatusObject,
  type CallAffinity,
} from '../http-filters/call-filter';
import { CallFilterChain } from '../http-filters/call-filter-chain';
import type {
  CallRouting,
  FilterStates,
  FoundMetadata,
  PreparedFilter,
} from '../http-filters/client-filter';
import type { OverrideHost } from '../lb/call-attributes';
import type { InstrumentName } from '../observe/stats/instruments';
import type { ChannelStats } from '../observe/stats/stats-plugin';
import type { ClusterResource } from '../resources/cluster/cluster';
import type { ExceededSteps, MatchMeter, MatchSteps } from '../resources/matching/match-meter';
import { isPromiseLike } from '../util/contained';
import { errorStack } from '../util/errors';
import type { Logger } from '../util/logger';
import { ok, type Result } from '../util/result';
import { explainPending, explainStage, IN_FILTERS } from './status-explanation';
import {
  findCluster,
  type CallClusters,
  type ClusterWait,
  type ClusterWaits,
} from './cluster-waits';

/** What filters see of the channel of their call. */
export interface FilterChannel {
  /** The target, for errors, and for what its channels share. */
  readonly target: string;
  readonly filterStates: FilterStates;
  /** Counts the steps of matching that the filters do. */
  readonly meter: MatchMeter;
  /** For the exceptions of filters. */
  readonly logger: Logger;
  /** The calls that wait for their clusters. */
  readonly clusterWaits: ClusterWaits;
  /** `undefined` if no plugin observes the channel. */
  readonly stats: ChannelStats | undefined;
}

/** The call of filters. */
export interface FilteredCall extends Pick<CallAffinity, 'cluster' | 'chooseCluster'> {
  /** The name of the cluster itself. */
  readonly clusterName: string;
  /** The endpoint for pickers; `undefined` unless a filter prefers one. */
  overrideHost: OverrideHost | undefined;
  /** Those of all filters; `undefined` if there are none. */
  callCredentials: CallCredentials | undefined;
  /** As `CallRouting.startChild`. */
  startChild<T>(start: (deadlineMs: number) => T): T;
}

export interface CallFiltersOptions {
  readonly filters: readonly PreparedFilter[];
  /** The full path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly headers: Metadata;
  readonly clusters: CallClusters;
}

type WriteObject = Awaited<ReturnType<Filter['sendMessage']>>;

/**
 * The HTTP filters of one call (gRFC A39), and what they have chosen for it. They are one filter of grpc-js, which
 * saves the promises between filters. Where no filter acts, the arguments are returned unchanged.
 *
 * The host starts a call that was cancelled while its headers passed the filters. The chain rejects everything after
 * the end, which prevents the start of such a call, or ends it with its first message.
 */
export class CallFilters implements CallAffinity, CallRouting, OverrideHost {
  addresses: readonly string[] = [];
  picked: readonly string[] | undefined;
  private readonly chain: CallFilterChain;
  private readonly clusters: CallClusters;
  /** The wait for the cluster of the call. */
  private late: ClusterWait | undefined;
  /** The steps of the filters; `undefined` before the first. */
  private steps: MatchSteps | undefined;

  /** Creates the filters. They may choose another cluster meanwhile, and each reads the latest. */
  constructor(
    private readonly call: FilteredCall,
    private readonly channel: FilterChannel,
    { filters, method, headers, clusters }: CallFiltersOptions,
  ) {
    this.clusters = clusters;
    this.chain = new CallFilterChain(filters, {
      method,
      headers,
      affinity: this,
      routing: this,
      get cluster() {
        return call.clusterName;
      },
    });
  }

  get cluster(): string {
    return this.call.cluster;
  }

  chooseCluster(name: string): boolean {
    return this.call.chooseCluster(name);
  }

  prefer(addresses: readonly string[]): void {
    this.addresses = addresses;
    this.call.overrideHost = this;
  }

  /** The next attempts of the call prefer the same endpoint (gRFC A55). */
  onPicked(addresses: readonly string[]): void {
    this.picked = addresses;
    this.addresses = addresses;
  }

  get target(): string {
    return this.channel.target;
  }

  get states(): FilterStates {
    return this.channel.filterStates;
  }

  clusterMetadata(): FoundMetadata | Promise<FoundMetadata> {
    const { clusters, call } = this;
    // The cluster of a plugin is known only when the call is picked for (gRFC A83).
    if (call.clusterName === call.cluster) return ok(undefined);
    const found = findCluster(clusters, call.clusterName);
    if (found !== undefined) return metadataOf(found);
    this.late?.release();
    const late = this.channel.clusterWaits.wait(clusters, call.clusterName);
    this.late = late;
    return late.resource.then((cluster) => {
      if (this.late === late) this.late = undefined;
      return metadataOf(cluster);
    });
  }

  match<T>(find: (meter: MatchMeter) => T): T {
    const { meter } = this.channel;
    meter.begin((this.steps ??= meter.createSteps()));
    let found: T;
    let exceeded: ExceededSteps | undefined;
    try {
      found = find(meter);
    } finally {
      exceeded = meter.end();
    }
    if (exceeded === undefined) return found;
    const details = `HTTP filters cannot match the headers of the call: ${meter.describe(exceeded)}`;
    throw new CallFailedError({ code: Status.UNAVAILABLE, details });
  }

  startChild<T>(start: (deadlineMs: number) => T): T {
    return this.call.startChild(start);
  }

  reportError(where: string, error: unknown): void {
    this.channel.logger.error(() => `${where}: unexpected error: ${errorStack(error)}`);
  }

  count(instrument: InstrumentName): void {
    this.channel.stats?.series(instrument, {})?.add(1);
  }

  addCallCredentials(credentials: CallCredentials): void {
    const { call } = this;
    call.callCredentials = call.callCredentials?.compose(credentials) ?? credentials;
  }

  sendMetadata(pending: Promise<Metadata>): Promise<Metadata> {
    const { chain } = this;
    return chain.acts('onRequestHeaders')
      ? pending.then((headers) => orStatus(() => chain.onRequestHeaders(headers)))
      : pending;
  }

  sendMessage(pending: Promise<WriteObject>): Promise<WriteObject> {
    const { chain } = this;
    if (!chain.acts('onRequestMessage')) return pending;
    return pending.then((write) =>
      orStatus(() => {
        const message = chain.onRequestMessage(write.message);
        return isPromiseLike(message)
          ? message.then((settled) => ({ ...write, message: settled }))
          : { ...write, message };
      }),
    );
  }

  receiveMetadata(headers: Metadata): Metadata {
    const { chain } = this;
    try {
      return chain.acts('onResponseHeaders') ? chain.onResponseHeaders(headers) : headers;
    } catch {
      // The host cannot end the call here. The chain keeps the failure and rejects the next message.
      return new Metadata();
    }
  }

  receiveMessage(pending: Promise<Buffer>): Promise<Buffer> {
    const { chain } = this;
    return chain.acts('onResponseMessage')
      ? pending.then((message) => orStatus(() => chain.onResponseMessage(message)))
      : pending;
  }

  /** Passes the status of the call through the filters. @returns the status for the application. */
  end(status: StatusObject): StatusObject {
    const shown = this.explainDelay(status);
    this.late?.release();
    return this.chain.onStatus(shown);
  }

  private explainDelay(status: StatusObject): StatusObject {
    const { delayedBy } = this.chain;
    if (delayedBy === undefined) return status;
    const wait = this.late?.describe();
    return wait === undefined
      ? explainStage(status, IN_FILTERS, () => [delayedBy])
      : explainPending(status, () => [wait]);
  }
}

function metadataOf(cluster: Result<ClusterResource, string>): FoundMetadata {
  return cluster.ok ? ok(cluster.value.metadata) : cluster;
}

/** Returns the result, or a promise rejected with a status of grpc-js. */
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
  return rejectWith(toStatusObject(failure));
}
