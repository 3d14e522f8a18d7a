/**
 * A re-entrancy queue: a task runs at once when the queue is idle, and after the current one when it is
 * called from inside a task. Tasks are synchronous, so everything a task set off has happened when the
 * outermost `run` returns.
 */
export class SerialQueue {
  private readonly tasks: (() => void)[] = [];
  /** Index of the next task: taking it off the front would move all others, time and again. */
  private next = 0;
  private draining = false;

  /**
   * @param onError Told of an exception a task threw. It never stops the drain.
   * @param onDrained Called each time the queue has become empty; may call `run` again.
   * @param onStarted Called before the first task of an idle queue runs.
   */
  constructor(
    private readonly onError: (error: unknown) => void,
    private readonly onDrained: () => void = () => {},
    private readonly onStarted: () => void = () => {},
  ) {}

  /** Runs the task now, or after those already waiting. */
  run(task: () => void): void {
    this.tasks.push(task);
    if (this.draining) return;
    this.draining = true;
    this.onStarted();
    try {
      this.drain();
    } finally {
      this.draining = false;
    }
  }

  private drain(): void {
    do {
      for (let task = this.take(); task !== undefined; task = this.take()) this.guard(task);
      this.guard(this.onDrained);
    } while (this.tasks.length > 0);
  }

  private take(): (() => void) | undefined {
    const task = this.tasks[this.next++];
    if (task === undefined) {
      this.tasks.length = 0;
      this.next = 0;
    }
    return task;
  }

  private guard(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.onError(error);
    }
  }
}
