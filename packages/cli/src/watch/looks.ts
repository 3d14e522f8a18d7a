import type { Handle } from '../../../../src/util/handle';
import { untilInterrupted, type CliIo } from '../io';

/** The looks of a command at what it watches, until it is interrupted or ends by itself. */
export class Looks {
  /** Ends the command. */
  readonly end: () => void;
  private readonly over: Promise<unknown>;

  constructor(
    private readonly intervalMs: number,
    private readonly io: CliIo,
  ) {
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.end = end;
    this.over = untilInterrupted(io, ended);
  }

  /** Waits for the time between two looks. @returns whether there is another one. */
  async next(): Promise<boolean> {
    const waiting: { timer?: Handle } = {};
    const passed = new Promise<boolean>((resolve) => {
      // Keeps the process alive: connections to management servers do not.
      waiting.timer = this.io.clock.setTimer(() => resolve(true), this.intervalMs, true);
    });
    const isNext = await Promise.race([this.over.then(() => false), passed]);
    waiting.timer?.release();
    return isNext;
  }
}
