import { inNextTurn, type Clock } from './clock';
import { createHandle, type Handle } from './handle';

/**
 * The time for which steps run without a break. A call takes several turns of the event loop, and waits for a slice in each
 * of them.
 */
export const SLICE_MS = 0.25;
/** Work that begins so long after other work is in another turn of the event loop. */
const BREAK_MS = 1;

/** Interruptible work: other work may run between two steps. A step takes a fraction of a millisecond. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** A queue in which steps run. */
interface StepQueue {
  run(task: () => void): void;
}

/** A task that takes too long for one turn of the event loop. */
export interface SlicedTask {
  /** The batch or the queue in which the steps run. */
  readonly batch: StepQueue;
  readonly steps: Steps<void>;
}

/** A function that is called with each item of a long list. */
export interface SlicedList<T> {
  /** The batch or the queue in which it is called. */
  readonly batch: StepQueue;
  readonly items: Iterable<T>;
  /** The number of items without a break. */
  readonly atOnce: number;
  readonly act: (item: T) => void;
  /** Called after the last item. */
  readonly onDone?: () => void;
}

function* eachInSteps<T>({ items, atOnce, act, onDone }: SlicedList<T>): Steps<void> {
  let count = 0;
  for (const item of items) {
    if (count++ === atOnce) {
      yield;
      count = 1;
    }
    act(item);
  }
  onDone?.();
}

/**
 * Runs the steps of large updates, for all channels of the process: together they take about a slice of time in a
 * turn of the event loop, so that calls are not delayed for longer. Tasks take turns.
 */
export class TimeSlices {
  /** The tasks with steps left, in the order of their turns, but for those that run. */
  private readonly tasks = new Set<SlicedTask>();
  /** Those whose steps run: one may start another. */
  private readonly running = new Set<SlicedTask>();
  private turn: Handle | undefined;
  private isLater = false;
  private readonly onIdle: (() => void)[] = [];
  /** When the work began that runs now, also for what it starts itself; `undefined` if none does. */
  private startedMs: number | undefined;
  /** The duration of the work since the last break, before that which runs now, and its end. */
  private workedMs = 0;
  private workEndMs = -Infinity;

  /**
   * @param onLaterWork Called with the milliseconds of work in a turn of its own, which nothing else measures.
   * @param sliceMs Milliseconds of work in a turn.
   */
  constructor(
    private readonly clock: Clock,
    private readonly onLaterWork: (durationMs: number) => void = () => {},
    private readonly sliceMs = SLICE_MS,
  ) {}

  /** Whether tasks have steps left for later turns, or run in one. */
  get isBusy(): boolean {
    return this.isLater || this.tasks.size > 0;
  }

  /**
   * Runs the first step now, and more steps while there is time left in this turn; the others run later. Must be called
   * in the batch of the task.
   *
   * @returns A handle that cancels the remaining steps.
   */
  start(task: SlicedTask): Handle {
    this.work(() => this.advance(task));
    return createHandle(() => this.delete(task));
  }

  /** Calls a function with each item, as {@link start} runs steps. Must be called in the batch. */
  each<T>(list: SlicedList<T>): Handle {
    return this.start({ batch: list.batch, steps: eachInSteps(list) });
  }

  /**
   * Runs the steps from the next turn of the event loop on.
   *
   * @returns a handle whose release drops the steps that are left.
   */
  startLater(task: SlicedTask): Handle {
    this.tasks.add(task);
    this.schedule();
    return createHandle(() => this.delete(task));
  }

  /** Calls back when no task has steps left: before this returns if there is none. */
  whenIdle(callback: () => void): void {
    this.onIdle.push(callback);
    this.schedule();
  }

  /** Runs work, and counts its time. */
  private work(run: () => void): void {
    if (this.startedMs !== undefined) {
      run();
      return;
    }
    const startMs = this.clock.monotonicMs();
    if (startMs - this.workEndMs >= BREAK_MS) this.workedMs = 0;
    this.startedMs = startMs;
    try {
      run();
    } finally {
      this.startedMs = undefined;
      this.workEndMs = this.clock.monotonicMs();
      this.workedMs += this.workEndMs - startMs;
      this.schedule();
    }
  }

  private hasTime(): boolean {
    const { startedMs = 0 } = this;
    return this.workedMs + this.clock.monotonicMs() - startedMs < this.sliceMs;
  }

  private advance(task: SlicedTask): void {
    const { tasks, running } = this;
    tasks.delete(task);
    running.add(task);
    try {
      let isLeft = true;
      do isLeft = task.steps.next().done !== true && running.has(task);
      while (isLeft && this.hasTime());
      if (isLeft) tasks.add(task);
    } finally {
      running.delete(task);
    }
  }

  private runSlice(): void {
    this.turn = undefined;
    this.isLater = true;
    this.workedMs = 0;
    try {
      while (this.workedMs < this.sliceMs) {
        const [task] = this.tasks;
        if (task === undefined) break;
        const step = { hasRun: false };
        const next = () => {
          step.hasRun = true;
          if (this.tasks.has(task)) this.work(() => this.advance(task));
        };
        this.work(() => task.batch.run(next));
        // The queue waits for a turn of its own.
        if (!step.hasRun) break;
      }
    } finally {
      this.isLater = false;
      this.onLaterWork(this.workedMs);
      this.schedule();
    }
  }

  private schedule(): void {
    if (this.startedMs !== undefined || this.isLater) return;
    if (this.tasks.size > 0) this.turn ??= inNextTurn(this.clock, () => this.runSlice());
    else for (const callback of this.onIdle.splice(0)) callback();
  }

  private delete(task: SlicedTask): void {
    this.running.delete(task);
    this.tasks.delete(task);
    if (this.tasks.size > 0) return;
    this.turn?.release();
    this.turn = undefined;
    this.schedule();
  }
}
