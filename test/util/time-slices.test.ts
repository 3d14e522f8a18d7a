import { LbBatch } from '../../src/lb/tree/lb-batch';
import { SLICE_MS, TimeSlices, type Steps } from '../../src/util/time-slices';
import { SlowClock } from '../support/slow-clock';

function setUp() {
  const clock = new SlowClock();
  const later: number[] = [];
  const slices = new TimeSlices(clock, (durationMs) => later.push(durationMs));
  const errors: unknown[] = [];
  const log: string[] = [];
  /** Steps that take so many eighths of a slice. */
  function* steps(name: string, count: number, eighths: number): Steps<void> {
    for (let i = 1; i <= count; i++) {
      log.push(`${name}${i}`);
      clock.spentMs += (eighths * SLICE_MS) / 8;
      if (i < count) yield;
    }
  }
  /** Tasks of different channels. */
  const start = (work: Steps<void>) =>
    slices.start({ batch: new LbBatch((error) => errors.push(error)), steps: work });
  /** What ran in the next turn of the event loop. */
  const turn = () => {
    log.length = 0;
    clock.advance(1);
    return log.join(' ');
  };
  const batch = new LbBatch((error) => errors.push(error));
  return { batch, clock, errors, later, log, slices, start, steps, turn };
}

describe('TimeSlices', () => {
  it('runs little work at once', () => {
    const { clock, log, start, steps } = setUp();
    start(steps('a', 3, 2));
    expect(log.join(' ')).toBe('a1 a2 a3');
    expect(clock.pendingTimers).toBe(0);
  });

  it('runs about a slice of work in a turn', () => {
    const { clock, log, start, steps, turn } = setUp();
    start(steps('a', 7, 3));
    expect(log.join(' ')).toBe('a1 a2 a3');
    expect(turn()).toBe('a4 a5 a6');
    expect(turn()).toBe('a7');
    expect(clock.pendingTimers).toBe(0);
  });

  it('reports the work of later turns, which is measured nowhere else', () => {
    const { later, start, steps, turn } = setUp();
    start(steps('a', 3, 8));
    expect(later).toEqual([]);
    turn();
    turn();
    expect(later).toEqual([SLICE_MS, SLICE_MS]);
  });

  it('runs no step in this turn if the task is to start later', () => {
    const { batch, clock, log, slices, steps, turn } = setUp();
    const task = slices.startLater({ batch, steps: steps('a', 7, 3) });
    slices.startLater({ batch, steps: steps('b', 9, 3) }).release();
    expect(log).toEqual([]);
    expect(turn()).toBe('a1 a2 a3');
    expect(turn()).toBe('a4 a5 a6');
    task.release();
    expect(turn()).toBe('');
    expect(clock.pendingTimers).toBe(0);
  });

  it('runs the first step of each task at once, and one task in a turn after that', () => {
    const { log, start, steps, turn } = setUp();
    for (const name of ['a', 'b', 'c', 'd', 'e']) start(steps(name, 6, 4));
    expect(log.join(' ')).toBe('a1 a2 b1 c1 d1 e1');
    const turns = Array.from({ length: 10 }, turn);
    expect(turns.slice(0, 5)).toEqual(['a3 a4', 'b2 b3', 'c2 c3', 'd2 d3', 'e2 e3']);
    expect(turns.slice(5)).toEqual(['a5 a6', 'b4 b5', 'c4 c5', 'd4 d5', 'e4 e5']);
    expect(Array.from({ length: 3 }, turn)).toEqual(['b6 c6', 'd6 e6', '']);
  });

  it('does not let a task wait behind those that are larger', () => {
    const { start, steps, turn } = setUp();
    start(steps('a', 100, 4));
    start(steps('b', 3, 4));
    const turns = Array.from({ length: 3 }, turn);
    expect(turns).toEqual(['a3 a4', 'b2 b3', 'a5 a6']);
  });

  it('drops the steps that are left of a task that is released', () => {
    const { clock, start, steps, turn } = setUp();
    const [a, b] = [start(steps('a', 9, 8)), start(steps('b', 3, 8))];
    a.release();
    expect(turn()).toBe('b2');
    b.release();
    expect(clock.pendingTimers).toBe(0);
    expect(turn()).toBe('');
  });

  it('drops a task that throws, and reports that to its batch', () => {
    const { errors, start, steps, turn } = setUp();
    function* failing(): Steps<void> {
      yield* steps('a', 2, 8);
      yield;
      throw new Error('bug');
    }
    start(failing());
    start(steps('b', 3, 8));
    const turns = Array.from({ length: 5 }, turn);
    expect(turns).toEqual(['a2', 'b2', 'b3', '', '']);
    expect(errors).toEqual([new Error('bug')]);
  });

  it('asks a queue that waits for a turn of its own once in a turn, and drops a task that is released meanwhile', () => {
    const { clock, log, slices, steps, turn } = setUp();
    const waiting: (() => void)[] = [];
    const batch = {
      run(task: () => void) {
        clock.spentMs += SLICE_MS / 8;
        waiting.push(task);
      },
    };
    const task = slices.startLater({ batch, steps: steps('a', 7, 3) });
    expect(turn()).toBe('');
    expect(waiting).toHaveLength(1);
    waiting.shift()?.();
    expect(log.join(' ')).toContain('a1');
    turn();
    expect(waiting).toHaveLength(1);
    task.release();
    log.length = 0;
    waiting.shift()?.();
    expect(log).toEqual([]);
    expect(slices.isBusy).toBe(false);
  });

  it('counts the work of a turn anew after a break', () => {
    const { clock, log, start, steps } = setUp();
    start(steps('a', 1, 8));
    clock.advance(1);
    start(steps('b', 2, 4));
    expect(log.join(' ')).toBe('a1 b1 b2');
  });

  it('is idle after the steps that start others', () => {
    const { clock, log, slices, start, steps, turn } = setUp();
    function* outer(): Steps<void> {
      start(steps('inner', 1, 1));
      slices.whenIdle(() => log.push('idle'));
      yield;
      yield* steps('a', 2, 8);
    }
    start(outer());
    expect(log.join(' ')).toBe('inner1 a1');
    expect(turn()).toBe('a2 idle');
    expect(clock.pendingTimers).toBe(0);
  });

  it('counts the work of steps once that others start', () => {
    const { log, start, steps } = setUp();
    function* outer(): Steps<void> {
      start(steps('inner', 1, 4));
      yield;
      yield* steps('a', 2, 2);
    }
    start(outer());
    expect(log.join(' ')).toBe('inner1 a1 a2');
  });

  it('is busy with steps of later turns, while they run as well', () => {
    const { clock, slices, start, steps } = setUp();
    const seen: boolean[] = [];
    function* looking(): Steps<void> {
      for (const step of steps('a', 3, 8)) {
        seen.push(slices.isBusy);
        yield step;
      }
      seen.push(slices.isBusy);
    }
    start(looking());
    clock.advance(1);
    clock.advance(1);
    expect(seen).toEqual([false, true, true]);
    expect(slices.isBusy).toBe(false);
  });

  it('drops the rest of a task that a step of its own releases', () => {
    const { clock, log, start, steps, turn } = setUp();
    const task: { handle?: ReturnType<typeof start> } = {};
    function* own(): Steps<void> {
      yield* steps('a', 2, 8);
      task.handle?.release();
      yield;
      yield* steps('b', 2, 8);
    }
    task.handle = start(own());
    expect(log.join(' ')).toBe('a1');
    expect(turn()).toBe('a2');
    expect(turn()).toBe('');
    expect(clock.pendingTimers).toBe(0);
  });
});
