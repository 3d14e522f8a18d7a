import type { ClusterResult } from '../dependency-manager/xds-config';
import {
  Status,
  type CallCredentials,
  type Metadata,
  type PickResult,
  type StatusObject,
} from '../grpc-js';
import { CallFailedError, type CallAffinity } from '../http-filters/call-filter';
import type { FilterStates } from '../http-filters/filter-states';
import type { CallRouting, FilterCall } from '../http-filters/http-filter';
import type { AuthorityRewrite, CallAttributes, OverrideHost } from '../lb/call-attributes';
import type { ExceededSteps, MatchMeter, MatchSteps } from '../resources/matching/match-meter';
import type { ResourceMetadata } from '../resources/cluster/cluster';
import { errorStack } from '../util/error-message';
import type { EventLoopWatch } from '../util/event-loop-watch';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import type { ClusterChoice, RouteCluster } from './cluster-choice';
import type { ClusterRef } from './cluster-refs';
import { explainDeadline } from './deadline-status';
import type { PendingHash } from './request-hash';
import type { CompiledRoute } from './route-table';

/** What filters see of the channel of their call. */
export interface FilterChannel {
  readonly states: FilterStates;
  /** Returns a cluster of the config in use; `undefined` if it is not part of the config. */
  cluster(name: string): ClusterResult | undefined;
  /** For the exceptions of filters. Default: none. */
  readonly logger?: Logger;
  /** For calls whose deadline passes. Default: nothing is known of it. */
  readonly eventLoop?: EventLoopWatch | undefined;
}

interface FilteredCallOptions extends Pick<CompiledRoute, 'authorityRewrite'> {
  /** All clusters of the route. */
  readonly choice: ClusterChoice;
  /** The drawn cluster, which a filter may replace. */
  readonly drawn: RouteCluster;
  readonly hash: PendingHash;
  readonly channel: FilterChannel;
  /** Counts the steps of matching that the filters do. */
  readonly meter: MatchMeter;
}

/**
 * One call with HTTP filters: the attributes for pickers, the choices of filters, and the reference to its cluster.
 * Filters and pickers of a call communicate through this object.
 */
export class FilteredCall
  implements CallAttributes, CallAffinity, CallRouting, OverrideHost, Handle
{
  cluster: string;
  overrideHost?: OverrideHost;
  addresses: readonly string[] = [];
  picked: readonly string[] | undefined;
  callCredentials?: CallCredentials;
  readonly authorityRewrite: AuthorityRewrite | undefined;
  private readonly choice: ClusterChoice;
  private readonly pendingHash: PendingHash;
  private readonly channel: FilterChannel;
  private readonly meter: MatchMeter;
  /** Those of the filters; `undefined` before the first. */
  private steps: MatchSteps | undefined;
  private ref: ClusterRef;
  private hash: bigint | undefined;
  /** The last pick without a connection. */
  private notPicked: PickResult | undefined;

  /** Acquires a reference to the cluster. */
  constructor({ choice, drawn, hash, authorityRewrite, channel, meter }: FilteredCallOptions) {
    this.choice = choice;
    this.pendingHash = hash;
    this.authorityRewrite = authorityRewrite;
    this.channel = channel;
    this.meter = meter;
    this.ref = drawn.ref.acquire();
    this.cluster = this.ref.childName;
  }

  get states(): FilterStates {
    return this.channel.states;
  }

  requestHash(): bigint {
    return (this.hash ??= this.pendingHash.compute());
  }

  /** Returns the call for filters. The cluster may change while they are created, and each reads the latest. */
  toCallInfo(method: string, headers: Metadata): FilterCall {
    const currentCluster = () => this.ref.cluster;
    return {
      method,
      headers,
      get cluster() {
        return currentCluster();
      },
      affinity: this,
      routing: this,
    };
  }

  clusterMetadata(): Result<ResourceMetadata | undefined, string> {
    const cluster = this.channel.cluster(this.ref.cluster);
    if (cluster === undefined) return err('not part of the xDS config');
    return cluster.ok ? ok(cluster.value.resource.metadata) : cluster;
  }

  match<T>(find: (meter: MatchMeter) => T): T {
    const { meter } = this;
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

  reportError(where: string, error: unknown): void {
    this.channel.logger?.error(() => `${where}: unexpected error: ${errorStack(error)}`);
  }

  addCallCredentials(credentials: CallCredentials): void {
    this.callCredentials = this.callCredentials?.compose(credentials) ?? credentials;
  }

  chooseCluster(name: string): boolean {
    if (name === this.cluster) return true;
    const other = this.choice.find(name)?.ref;
    // The route may have been removed before the filter's choice, and the cluster with it.
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

  /** The next attempts of the call prefer the same endpoint (gRFC A55). */
  onPicked(addresses: readonly string[]): void {
    this.picked = addresses;
    this.addresses = addresses;
  }

  onNotPicked(result: PickResult): void {
    this.notPicked = result;
  }

  release(): void {
    this.ref.release();
  }

  /** Handles the end of the call, after every filter. @returns the status for the application. */
  end(status: StatusObject): StatusObject {
    const { cluster } = this.ref;
    this.release();
    const { eventLoop } = this.channel;
    return explainDeadline(status, { cluster, notPicked: this.notPicked, eventLoop });
  }
}
