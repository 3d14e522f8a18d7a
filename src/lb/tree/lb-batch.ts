import { SerialQueue } from '../../util/serial-queue';
import { inSteps } from '../../util/steps';
import type { TimeSlices } from '../../util/time-slices';

/** Requests of a policy to publish a picker, at most once a batch. */
export interface Publication {
  /** Publishes at the end of the current batch, or now if there is none. */
  request(): void;
  /** Cancels all requests, including later ones. */
  cancel(): void;
}

/** A policy that publishes pickers. */
export interface Publisher {
  /** Creates and publishes a picker. Called by its publication only. */
  publish(): void;
}

/**
 * Runs the tasks of one tree of policies one at a time, and publishes pickers after the last of a batch: however many
 * children changed, a parent publishes one picker. Deeper policies publish first.
 */
export class LbBatch {
  private readonly queue: SerialQueue;
  /** The requested publications, by depth. */
  private readonly requested: Set<Publisher>[] = [];

  /** @param onError Called with an exception of a task or of a policy. */
  constructor(readonly onError: (error: unknown) => void) {
    this.queue = new SerialQueue(onError, () => this.publishDeepest());
  }

  /** Runs the task as part of the current batch, or as a batch of its own. */
  run(task: () => void): void {
    this.queue.run(task);
  }

  /** Creates the publication of a policy at some depth. */
  createPublication(depth: number, publisher: Publisher): Publication {
    const level = (this.requested[depth] ??= new Set());
    return new LevelPublication(this.queue, level, publisher);
  }

  private publishDeepest(): void {
    for (let depth = this.requested.length - 1; depth >= 0; depth--) {
      const level = this.requested[depth];
      if (level === undefined || level.size === 0) continue;
      const due = [...level];
      level.clear();
      for (const publisher of due) this.queue.run(() => publisher.publish());
      return;
    }
  }
}

/** A publication of a policy at some depth. */
class LevelPublication implements Publication {
  private isCancelled = false;

  /** @param level The requested publications of the depth. */
  constructor(
    private readonly queue: SerialQueue,
    private readonly level: Set<Publisher>,
    private readonly publisher: Publisher,
  ) {}

  request(): void {
    if (this.isCancelled) return;
    this.level.add(this.publisher);
    this.queue.run(() => {});
  }

  cancel(): void {
    this.isCancelled = true;
    this.level.delete(this.publisher);
  }
}

/** The number of small operations that take as long as to release a connection. */
export const OPERATIONS_OF_A_CONNECTION = 4;

/** The number of small operations that take as long as to create, update or destroy a policy, which may be a tree. */
export const OPERATIONS_OF_A_POLICY = 32;

/** Something that holds connections, or policies with connections. */
interface Destroyable {
  destroy(): void;
}

/**
 * Destroys what a policy no longer uses. Each may be a tree with connections: many take several turns of the event loop, also
 * when the policy itself is destroyed meanwhile. What they report until then, the policy has to ignore. Must be called in the
 * batch of the tree.
 *
 * @param operations The number of small operations that take as long as to destroy one of them.
 */
export function destroyInSteps(
  { batch, timeSlices }: { readonly batch: LbBatch; readonly timeSlices: TimeSlices },
  all: readonly Destroyable[],
  operations: number,
): void {
  const destroy = (each: Destroyable) => {
    each.destroy();
  };
  timeSlices.start({ batch, steps: inSteps(all, destroy, () => operations) });
}
