import { readFile } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Handle } from '../../src/util/handle';
import { EventLoopWatch, inNextTurn, systemClock } from '../../src/util/clock';

describe('systemClock', () => {
  it('fires a timer once', async () => {
    let fired = 0;
    await new Promise<void>((resolve) => {
      systemClock.setTimer(() => {
        fired++;
        resolve();
      }, -1);
    });
    expect(fired).toBe(1);
  });

  it('does not fire a released timer, nor one too far away for setTimeout', async () => {
    const fired: string[] = [];
    systemClock.setTimer(() => fired.push('released'), 0).release();
    const far = systemClock.setTimer(() => fired.push('far'), 2 ** 40);
    await new Promise((resolve) => setTimeout(resolve, 5));
    far.release();
    expect(fired).toEqual([]);
  });

  it('keeps the process alive only with a timer made to do so', () => {
    const timers = () =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    const timer = systemClock.setTimer(() => {}, 60_000);
    expect(timers()).toBe(before);
    timer.release();
    const forCall = systemClock.setTimer(() => {}, 60_000, true);
    expect(timers()).toBe(before + 1);
    forCall.release();
    expect(timers()).toBe(before);
  });

  it('runs what is for the next turn after the I/O that is due, unless it is released', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve, reject) => {
      readFile(__filename, (error) => {
        if (error !== null) reject(error);
        inNextTurn(systemClock, () => order.push('released')).release();
        inNextTurn(systemClock, () => {
          order.push('next turn');
          inNextTurn(systemClock, () => {
            order.push('the one after it');
            resolve();
          });
        });
        systemClock.soon(() => order.push('soon'));
      });
    });
    expect(order).toEqual(['soon', 'next turn', 'the one after it']);
  });

  it('keeps nothing of a turn that is over in a handle that is not released', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const begin = () => {
      const other = {};
      // Node.js links the immediates of a turn, and does not unlink those that have run.
      setImmediate((_kept: object) => undefined, other);
      return new WeakRef(other);
    };
    const other = begin();
    const handle = await new Promise<Handle>((resolve) => {
      const own: Handle = inNextTurn(systemClock, () => resolve(own));
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    gc();
    expect(other.deref()).toBeUndefined();
    handle.release();
  });

  it('runs what comes soon after the current stack and before any timer', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      systemClock.setTimer(() => {
        order.push('timer');
        resolve();
      }, 0);
      systemClock.soon(() => order.push('soon'));
      order.push('now');
    });
    expect(order).toEqual(['now', 'soon', 'timer']);
  });

  it('returns the wall-clock time, and a time that does not go back', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
    const before = systemClock.monotonicMs();
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before);
  });
});

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
