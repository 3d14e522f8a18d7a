import { EventLoopWatch } from '../../src/util/event-loop-watch';

/** A clock whose timers run when the event loop does, like those of Node.js. */
class Loop {
  nowMs = 0;
  wakeUps = 0;
  private due: { readonly callback: () => void; readonly atMs: number } | undefined;
  readonly watch = new EventLoopWatch({
    monotonicMs: () => this.nowMs,
    setTimer: (callback, delayMs) => {
      this.due = { callback, atMs: this.nowMs + delayMs };
      return { release: () => (this.due = undefined) };
    },
  });

  get isWatching(): boolean {
    return this.due !== undefined;
  }

  /** Idle time, in which each timer is punctual. */
  idle(ms: number): void {
    const endMs = this.nowMs + ms;
    while (this.due !== undefined && this.due.atMs <= endMs) {
      this.nowMs = this.due.atMs;
      this.runTimer();
    }
    this.nowMs = endMs;
  }

  /** Time without the event loop. */
  block(ms: number): void {
    this.nowMs += ms;
  }

  runTimer(): void {
    const { due } = this;
    this.due = undefined;
    this.wakeUps++;
    due?.callback();
  }
}

describe('EventLoopWatch', () => {
  it('describes the longest block since a time, before and after the next timer', () => {
    const loop = new Loop();
    const { watch } = loop;
    watch.onCall();
    loop.idle(250);
    loop.block(2550);
    expect(watch.describeBlock(3000)).toBe('this process was blocked for 2.3 s');
    loop.runTimer();
    expect(watch.describeBlock(3000)).toBe('this process was blocked for 2.3 s');
    loop.idle(1000);
    loop.block(1500);
    loop.runTimer();
    expect(watch.describeBlock(6000)).toBe('this process was blocked for 2.3 s');
    expect(watch.describeBlock(2000)).toBe('this process was blocked for 1.3 s');
    loop.idle(5000);
    expect(watch.describeBlock(5000)).toBeUndefined();
  });

  it('describes no delay of up to a second', () => {
    const loop = new Loop();
    const { watch } = loop;
    watch.onCall();
    loop.idle(250);
    loop.block(1250);
    expect(watch.describeBlock(10_000)).toBeUndefined();
    loop.runTimer();
    expect(watch.describeBlock(10_000)).toBeUndefined();
  });

  it('has no timer without calls, one for all of them, and none half a minute later', () => {
    const loop = new Loop();
    const { watch } = loop;
    expect(loop.isWatching).toBe(false);
    for (let i = 0; i < 1000; i++) watch.onCall();
    loop.idle(60_000);
    expect(loop.isWatching).toBe(false);
    expect(loop.wakeUps).toBeLessThanOrEqual(122);
    loop.block(60_000);
    expect(watch.describeBlock(60_000)).toBeUndefined();
    watch.onCall();
    loop.idle(1000);
    expect(watch.describeBlock(60_000)).toBeUndefined();
  });

  it('remembers a bounded number of blocks', () => {
    const loop = new Loop();
    const { watch } = loop;
    watch.onCall();
    loop.block(9250);
    loop.runTimer();
    for (let i = 0; i < 16; i++) {
      loop.block(1750);
      loop.runTimer();
    }
    expect(watch.describeBlock(100_000)).toBe('this process was blocked for 1.5 s');
  });
});
