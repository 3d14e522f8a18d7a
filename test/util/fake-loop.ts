import type { EventLoop } from '../../src/util/clock';

/** An event loop whose turns a test runs. */
export class FakeLoop implements EventLoop {
  private cpu = 0;
  private active = 0;
  private readonly callbacks: (() => void)[] = [];

  cpuMs(): number {
    return this.cpu;
  }

  activeMs(): number {
    return this.active;
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
    this.cpu += cpuMs;
    this.active += activeMs;
  }

  /** Spends time, and ends the I/O of the turn. */
  runTurn(cpuMs = 0, activeMs = cpuMs): void {
    this.spend(cpuMs, activeMs);
    for (const callback of this.callbacks.splice(0)) callback();
  }
}
