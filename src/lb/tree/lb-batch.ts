import { SerialQueue } from '../../util/serial-queue';

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
