import type { Clock } from '../util/clock';
import { createHandle, type Handle } from '../util/handle';
import type { Steps } from '../util/steps';
import type { LbBatch } from './lb-batch';

/** How long steps run without a break. */
const SLICE_MS = 8;
/** The shortest time a timer takes. */
const BREAK_MS = 1;

/** Work that takes too long for one turn of the event loop. */
export interface SlicedTask {
  /** What the steps run in. */
  readonly batch: LbBatch;
  readonly steps: Steps<void>;
}

/**
 * Runs the steps of large updates, for all channels of the process: all of them together take some milliseconds of a turn
 * of the event loop, so that calls are not delayed for longer. Tasks take turns.
 */
export class TimeSlices {
  /** Tasks with steps left; the one whose turn is next comes first. */
  private readonly tasks = new Set<SlicedTask>();
  private timer: Handle | undefined;
  /** The work since the last break, and when it ended. */
  private workedMs = 0;
  private workEndMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  /**
   * Runs the first step now, and more steps while there is time left in this turn; the others run later. To be called
   * from the batch of the task.
   *
   * @returns a handle whose release drops the steps that are left.
   */
  start(task: SlicedTask): Handle {
    const startMs = this.clock.monotonicMs();
    if (startMs - this.workEndMs >= BREAK_MS) this.workedMs = 0;
    this.advance(task, startMs);
    this.count(startMs);
    this.schedule();
    return createHandle(() => this.delete(task));
  }

  private advance(task: SlicedTask, startMs: number): void {
    this.tasks.delete(task);
    let step = task.steps.next();
    while (step.done !== true && this.workedMs + this.clock.monotonicMs() - startMs < SLICE_MS) {
      step = task.steps.next();
    }
    if (step.done !== true) this.tasks.add(task);
  }

  private runSlice(): void {
    this.timer = undefined;
    this.workedMs = 0;
    while (this.workedMs < SLICE_MS) {
      const [task] = this.tasks;
      if (task === undefined) return;
      const startMs = this.clock.monotonicMs();
      task.batch.run(() => this.advance(task, startMs));
      this.count(startMs);
    }
    this.schedule();
  }

  private count(startMs: number): void {
    this.workEndMs = this.clock.monotonicMs();
    this.workedMs += this.workEndMs - startMs;
  }

  private schedule(): void {
    if (this.tasks.size > 0) this.timer ??= this.clock.setTimer(() => this.runSlice(), BREAK_MS);
  }

  private delete(task: SlicedTask): void {
    this.tasks.delete(task);
    if (this.tasks.size > 0) return;
    this.timer?.release();
    this.timer = undefined;
  }
}
