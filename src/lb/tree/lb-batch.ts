import { Serializer } from '../../util/serializer';

/** A policy that publishes pickers. */
export interface Publisher {
  /** Decides what the policy shows, and publishes it; may create children. Called by its publication only. */
  publish(): void;
}

/**
 * Runs the tasks of one tree of policies one at a time, and publishes pickers after the last of a batch: however many
 * children changed, a parent publishes one picker. Deeper policies publish first.
 */
export class LbBatch extends Serializer {
  /** The requested publications, by depth. */
  private readonly requested: Set<Publication>[];

  /** @param onError Called with an exception of a task or of a policy. */
  constructor(onError: (error: unknown) => void) {
    const requested: Set<Publication>[] = [];
    super(onError, () => publishDeepest(requested));
    this.requested = requested;
  }

  /** Creates the publication of a policy at some depth. */
  createPublication(depth: number, publisher: Publisher): Publication {
    return new Publication(this, (this.requested[depth] ??= new Set()), publisher);
  }
}

/** Requests of a policy to publish a picker: once in a pass over the depths; publishing may request another pass. */
export class Publication {
  private isCancelled = false;

  /** @param level The requested publications of the depth. */
  constructor(
    readonly batch: LbBatch,
    private readonly level: Set<Publication>,
    readonly publisher: Publisher,
  ) {}

  /** Publishes at the end of the current batch, or now if there is none. */
  request(): void {
    if (this.isCancelled) return;
    this.level.add(this);
    this.batch.run(() => {});
  }

  /** Cancels all requests, including later ones. */
  cancel(): void {
    this.isCancelled = true;
    this.level.delete(this);
  }
}

function publishDeepest(requested: readonly (Set<Publication> | undefined)[]): void {
  for (let depth = requested.length - 1; depth >= 0; depth--) {
    const level = requested[depth];
    if (level === undefined || level.size === 0) continue;
    const due = [...level];
    level.clear();
    for (const { batch, publisher } of due) batch.run(() => publisher.publish());
    return;
  }
}
