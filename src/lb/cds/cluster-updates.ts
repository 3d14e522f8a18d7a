import type { TimeSlices } from '../../util/time-slices';
import type { LbBatch } from '../tree/lb-batch';

/** A policy whose cluster has changed. */
export interface ClusterUser {
  /** Applies the cluster as it is now. */
  applyCluster(): void;
}

/**
 * The changed clusters of one channel: they are applied one after the other, many of them in several turns of the event loop.
 * Each may be a tree of policies with connections.
 */
export class ClusterUpdates {
  private readonly due = new Set<ClusterUser>();
  private isApplying = false;

  constructor(
    private readonly batch: LbBatch,
    private readonly timeSlices: TimeSlices,
  ) {}

  /** Applies the cluster of a policy after the current task of the batch, with those that this task adds as well. */
  add(user: ClusterUser): void {
    this.due.add(user);
    if (this.isApplying) return;
    this.isApplying = true;
    this.batch.run(() => {
      this.timeSlices.each({
        batch: this.batch,
        items: this.due,
        atOnce: 1,
        act: (each) => this.apply(each),
        onDone: () => (this.isApplying = false),
      });
    });
  }

  /** Leaves out a policy that is destroyed. */
  delete(user: ClusterUser): void {
    this.due.delete(user);
  }

  private apply(user: ClusterUser): void {
    // One that was destroyed while the list paused is not due any more.
    if (!this.due.delete(user)) return;
    try {
      user.applyCluster();
    } catch (error) {
      this.batch.onError(error);
    }
  }
}
