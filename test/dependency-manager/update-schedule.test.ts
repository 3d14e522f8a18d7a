import { UpdateSchedule } from '../../src/dependency-manager/update-schedule';
import { createHandle } from '../../src/util/handle';
import { SerialQueue } from '../../src/util/serial-queue';
import type { Steps } from '../../src/util/steps';
import { SLICE_MS, TimeSlices } from '../../src/util/time-slices';
import { SlowClock } from '../support/slow-clock';

function setUp() {
  const clock = new SlowClock();
  const log: string[] = [];
  const errors: unknown[] = [];
  let holds = 0;
  let startedAtMs = 0;
  const queue = new SerialQueue(
    (error) => errors.push(error),
    () => log.push(holds > 0 ? 'drained, held' : 'drained'),
    () => (startedAtMs = clock.monotonicMs()),
  );
  const source = {
    run: (task: () => void) => queue.run(task),
    runMs: () => clock.monotonicMs() - startedAtMs,
    holdRequests() {
      holds++;
      return createHandle(() => holds--);
    },
  };
  const timeSlices = new TimeSlices(clock);
  const update = () => log.push('update');
  let isInUse = true;
  const schedule = new UpdateSchedule({ source, timeSlices, isInUse: () => isInUse, update });
  const change = (times: number) =>
    queue.run(() => {
      for (let i = 0; i < times; i++) schedule.onChange();
    });
  /** A change that is known after so much work, and whether calls are under way meanwhile. */
  const changeAfter = (ms: number, inUse = true) => {
    isInUse = inUse;
    source.run(() => {
      clock.spentMs += ms;
      schedule.onChange();
    });
  };
  /** Each step takes a turn. */
  function* steps(count: number): Steps<void> {
    for (let i = 1; i <= count; i++) {
      log.push(`step ${i}`);
      clock.spentMs += 10;
      yield;
    }
  }
  return { change, changeAfter, clock, errors, log, queue, schedule, steps };
}

describe('UpdateSchedule', () => {
  it('applies all changes of a run of the queue once, in the same run', () => {
    const { change, clock, log } = setUp();
    change(1000);
    expect(log).toEqual(['update', 'drained']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('applies a change in the next turn if it took long to read', () => {
    const { changeAfter, clock, log } = setUp();
    changeAfter(SLICE_MS);
    expect(log.splice(0)).toEqual(['drained, held']);
    clock.advance(1);
    expect(log.splice(0)).toEqual(['update', 'drained']);
    changeAfter(SLICE_MS / 2);
    expect(log).toEqual(['update', 'drained']);
  });

  it('applies the first config in the turn in which its last part is read', () => {
    const { changeAfter, log } = setUp();
    changeAfter(10 * SLICE_MS, false);
    expect(log).toEqual(['update', 'drained']);
  });

  it('applies changes in the next turn although those that follow took long to read, too', () => {
    const { changeAfter, clock, log } = setUp();
    changeAfter(SLICE_MS);
    changeAfter(SLICE_MS);
    log.length = 0;
    clock.advance(1);
    expect(log).toEqual(['update', 'drained']);
  });

  it('applies changes after the last step of sliced work, and holds requests until then', () => {
    const { change, clock, log, queue, schedule, steps } = setUp();
    queue.run(() => schedule.runInSlices(steps(2)));
    change(1);
    expect(log.splice(0)).toEqual(['drained, held', 'drained, held']);
    clock.advance(1);
    expect(log.splice(0)).toEqual(['step 1', 'drained, held']);
    clock.advance(1);
    expect(log.splice(0)).toEqual(['step 2', 'drained, held']);
    clock.advance(1);
    expect(log).toEqual(['update', 'drained']);
  });

  it('applies changes at once when sliced work is released', () => {
    const { change, clock, log, queue, schedule, steps } = setUp();
    let work = createHandle(() => {});
    queue.run(() => (work = schedule.runInSlices(steps(2))));
    change(1);
    log.length = 0;
    queue.run(() => work.release());
    expect(log).toEqual(['update', 'drained']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('holds requests no longer when sliced work throws', () => {
    const { clock, errors, log, queue, schedule } = setUp();
    function* failing(): Steps<void> {
      yield;
      throw new Error('bug');
    }
    queue.run(() => schedule.runInSlices(failing()));
    clock.advance(1);
    expect(errors).toEqual([new Error('bug')]);
    expect(log.at(-1)).toBe('drained');
  });

  it('applies nothing and holds nothing once closed', () => {
    const { change, clock, log, queue, schedule, steps } = setUp();
    queue.run(() => schedule.runInSlices(steps(2)));
    change(1);
    log.length = 0;
    queue.run(() => schedule.close());
    change(1);
    expect(log).toEqual(['drained', 'drained']);
    expect(clock.pendingTimers).toBe(0);
  });
});
