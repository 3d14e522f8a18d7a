import type { Handle } from '../../util/handle';
import type { XdsLbContext } from '../lb-policy';
import type { CdsConfig } from './config';

interface Subscription {
  readonly cluster: string;
  readonly clusters: XdsLbContext['clusters'];
  readonly handle: Handle;
}

/** Keeps the cluster of a policy in the `XdsConfig`, if it is a dynamic one (gRFC A74). */
export class DynamicSubscription {
  private subscription: Subscription | undefined;

  /** Subscribes to the cluster of the config, and to no other. */
  update({ cluster, isDynamic }: CdsConfig, { clusters }: XdsLbContext): void {
    const { subscription } = this;
    if (isDynamic && subscription?.cluster === cluster && subscription.clusters === clusters)
      return;
    this.subscription = isDynamic
      ? { cluster, clusters, handle: clusters.subscribeCluster(cluster) }
      : undefined;
    // Afterwards, so that a cluster that stays in use never leaves the config.
    subscription?.handle.release();
  }

  release(): void {
    this.subscription?.handle.release();
  }
}
