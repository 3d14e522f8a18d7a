/**
 * Runs tasks one after the other: immediately if the queue is idle, and after the current task if called inside one.
 * Tasks are synchronous, so all tasks have run when the outermost `run` returns.
 */
export class Serializer {
  private readonly tasks: (() => void)[] = [];
  private draining = false;
  /** The first exception of `onError`. */
  private unreported: { readonly error: unknown } | undefined;

  /**
   * @param onError Called with an exception of a task; the next tasks run nevertheless. What it throws itself, the
   * outermost `run` throws when all of them have run.
   * @param onDrained Called each time the queue has become empty; may call `run` again.
   * @param onStarted Called before the first task of an idle queue runs.
   */
  constructor(
    readonly onError: (error: unknown) => void,
    private readonly onDrained: () => void = () => {},
    private readonly onStarted: () => void = () => {},
  ) {}

  /** Runs the task now, or after the queued ones. */
  run(task: () => void): void {
    this.tasks.push(task);
    if (this.draining) return;
    this.draining = true;
    this.guard(this.onStarted);
    do {
      // Goes on to those that are added meanwhile; `shift` would move all others.
      for (const next of this.tasks) this.guard(next);
      this.tasks.length = 0;
      this.guard(this.onDrained);
    } while (this.tasks.length > 0);
    this.draining = false;
    const { unreported } = this;
    this.unreported = undefined;
    if (unreported !== undefined) throw unreported.error;
  }

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
