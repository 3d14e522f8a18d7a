import type { EventLoop } from '../../src/util/clock';

/** An event loop whose turns a test runs. */
export class FakeLoop implements EventLoop {
  private cpuMs = 0;
  private activeMs = 0;
  private readonly callbacks: (() => void)[] = [];

  spent() {
    return { cpuMs: this.cpuMs, activeMs: this.activeMs };
  }

  afterIo(callback: () => void): void {
    this.callbacks.push(callback);
  }

  /** Whether something waits for the end of the I/O of a turn. */
  get isWatched(): boolean {
    return this.callbacks.length > 0;
  }

  /** Spends time in the turn that goes on. */
  spend(cpuMs: number, activeMs = cpuMs): void {
    this.cpuMs += cpuMs;
    this.activeMs += activeMs;
  }

  /** Spends time, and ends the I/O of the turn. */
  runTurn(cpuMs = 0, activeMs = cpuMs): void {
    this.spend(cpuMs, activeMs);
    for (const callback of this.callbacks.splice(0)) callback();
  }
}
