import { createHandle, type Handle } from '../util/handle';
import type { Steps } from '../util/steps';
import { SLICE_MS, type TimeSlices } from '../util/time-slices';
import type { ResourceSource } from '../xds-client/resource-watcher';

/** The constructor options of an update schedule. */
export interface UpdateScheduleOptions {
  /** The source of the changes; see `ResourceSource`. */
  readonly source: Pick<ResourceSource, 'run' | 'holdRequests' | 'runMs'>;
  readonly timeSlices: TimeSlices;
  /** Whether there is a config in use, so that calls may be due. */
  readonly isInUse: () => boolean;
  /** Applies all changes. Called from the queue of the source. */
  readonly update: () => void;
}

/**
 * Decides when changes are applied: all those of one run of the source's queue together, in the same run or, if it took long to
 * read them, in the next turn of the event loop. Until then the source sends no requests, as if the run had not ended.
 */
export class UpdateSchedule {
  /** Whether there are changes that were not applied yet. */
  private isDirty = false;
  private isQueued = false;
  /** The changes have been put off to the present turn. */
  private isDeferred = false;
  private isClosed = false;
  /** Work in other turns. Changes are applied after it. */
  private readonly slices = new Set<Handle>();

  constructor(private readonly options: UpdateScheduleOptions) {}

  /** Applies a change when the current run of the queue has no more. */
  onChange(): void {
    this.isDirty = true;
    this.queueUpdate();
  }

  /**
   * Runs steps in slices of the next turns, and applies changes only after the last.
   * @returns drops the steps that are left.
   */
  runInSlices(steps: Steps<void>): Handle {
    const { source, timeSlices } = this.options;
    const hold = source.holdRequests();
    const work = createHandle(() => {
      this.slices.delete(work);
      task.release();
      this.queueUpdate();
      hold.release();
    });
    this.slices.add(work);
    const task = timeSlices.startLater({ batch: source, steps: endWith(steps, work) });
    return work;
  }

  /** Drops what is left. Called in the queue of the source. */
  close(): void {
    this.isClosed = true;
    for (const work of this.slices) work.release();
  }

  private queueUpdate(): void {
    if (this.isQueued || this.isClosed) return;
    this.isQueued = true;
    this.options.source.run(() => this.applyChanges());
  }

  private applyChanges(): void {
    this.isQueued = false;
    if (this.isClosed || !this.isDirty || this.slices.size > 0) return;
    if (this.isTurnOver()) {
      this.isDeferred = true;
      this.runInSlices(untilNextTurn());
      return;
    }
    this.isDirty = false;
    this.isDeferred = false;
    this.options.update();
  }

  /** Whether this turn has taken so long that calls would be delayed by more. Before the first config, none can be. */
  private isTurnOver(): boolean {
    const { source, isInUse } = this.options;
    return !this.isDeferred && isInUse() && source.runMs() >= SLICE_MS;
  }
}

function* untilNextTurn(): Steps<void> {
  yield;
}

function* endWith(steps: Steps<void>, work: Handle): Steps<void> {
  try {
    yield* steps;
  } finally {
    work.release();
  }
}
