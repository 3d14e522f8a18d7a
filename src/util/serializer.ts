/**
 * Runs tasks one after the other: immediately if the queue is idle, and after the current task if called inside one.
 * Tasks are synchronous: unless they take longer than a turn, all have run when the outermost `run` returns.
 */
export class Serializer {
  private readonly tasks: (() => void)[] = [];
  /** How many of the tasks have run. */
  private done = 0;
  private draining = false;
  /** The first exception of `onError`. */
  private unreported: { readonly error: unknown } | undefined;

  /**
   * @param onError Called with an exception of a task; the next tasks run nevertheless. What it throws itself, the
   * outermost `run`, or the last turn, throws when all of them have run.
   * @param onDrained Called each time the queue has become empty; may call `run` again.
   * @param onStarted Called before the first task of an idle queue, or of a turn, runs.
   * @param defer Called while tasks are left. @returns whether it calls back in another turn, for these.
   */
  constructor(
    readonly onError: (error: unknown) => void,
    private readonly onDrained: () => void = () => {},
    private readonly onStarted: () => void = () => {},
    private readonly defer: (drain: () => void) => boolean = () => false,
  ) {}

  /** Runs the task now, or after the queued ones. */
  run(task: () => void): void {
    this.tasks.push(task);
    if (this.draining) return;
    this.draining = true;
    this.drain();
  }

  private readonly drain = (): void => {
    const { tasks } = this;
    this.guard(this.onStarted);
    do {
      for (let next = tasks[this.done]; next !== undefined; next = tasks[this.done]) {
        this.done++;
        this.guard(next);
        if (this.done < tasks.length && this.defer(this.drain)) return;
      }
      tasks.length = 0;
      this.done = 0;
      this.guard(this.onDrained);
    } while (tasks.length > 0);
    this.draining = false;
    const { unreported } = this;
    this.unreported = undefined;
    if (unreported !== undefined) throw unreported.error;
  };

  private guard(task: () => void): void {
    try {
      task();
    } catch (error) {
      try {
        this.onError(error);
      } catch (unreported) {
        this.unreported ??= { error: unreported };
      }
    }
  }
}
