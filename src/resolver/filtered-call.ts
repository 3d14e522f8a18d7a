import type { CallAffinity, CallInfo } from '../http-filters/call-filter';
import type { Metadata } from '../grpc-js';
import type { CallAttributes, OverrideHost } from '../lb/call-attributes';
import type { ClusterChoice, RouteCluster } from './cluster-choice';
import type { ClusterRef } from './cluster-refs';
import type { PendingHash } from './request-hash';

/**
 * One call that HTTP filters see: what the pickers are told of it, what filters may ask for, and the hold on its
 * cluster. Being one object, it is how the filters and the pickers of a call get to know of each other.
 */
export class FilteredCall implements CallAttributes, CallAffinity, OverrideHost {
  cluster: string;
  overrideHost?: OverrideHost;
  addresses: readonly string[] = [];
  picked: readonly string[] | undefined;
  private ref: ClusterRef;
  private hash: bigint | undefined;
  private held = true;

  /**
   * Takes a reference on the cluster.
   * @param choice All clusters of the route.
   * @param drawn The cluster the call goes to, unless a filter chooses another one.
   */
  constructor(
    private readonly choice: ClusterChoice,
    { ref }: RouteCluster,
    private readonly pendingHash: PendingHash,
  ) {
    this.ref = ref;
    this.cluster = ref.childName;
    ref.hold();
  }

  requestHash(): bigint {
    return (this.hash ??= this.pendingHash.compute());
  }

  /** What the filters are told. The cluster may change while they are made, and each sees the latest. */
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
    // A filter may ask so late that the route is gone, and the cluster with it.
    if (!this.held || other?.isHeld !== true) return false;
    other.hold();
    this.ref.letGo();
    this.ref = other;
    this.cluster = other.childName;
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

  /** Lets go of the cluster, once. */
  release(): void {
    if (!this.held) return;
    this.held = false;
    this.ref.letGo();
  }
}
