import { SteppedUpdates } from '../../src/util/time-slices';
import type { Steps } from '../../src/util/steps';
import { LbHarness } from '../support/lb-harness';

/** Each step takes a turn of the event loop. */
function setUp(steps = 3) {
  const { batch, clock, environment, errors } = new LbHarness();
  let timeMs = 0;
  jest.spyOn(clock, 'monotonicMs').mockImplementation(() => (timeMs += 10));
  const log: string[] = [];
  function* apply(update: string): Steps<void> {
    log.push(`${update} begins`);
    for (let i = 1; i < steps; i++) yield;
    if (update === 'broken') throw new Error('bug');
    log.push(`${update} ends`);
  }
  const updates = new SteppedUpdates({ environment, apply });
  const add = (update: string) => batch.run(() => updates.add(update));
  return { add, clock, errors, log, updates };
}

describe('SteppedUpdates', () => {
  it('applies an update of one step at once', () => {
    const { add, log } = setUp(1);
    for (const update of ['a', 'b']) add(update);
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  it('finishes an update before the newest of those that arrived meanwhile', () => {
    const { add, clock, log } = setUp();
    for (const update of ['a', 'b', 'c']) add(update);
    expect(log).toEqual(['a begins']);
    clock.advance(10);
    expect(log).toEqual(['a begins', 'a ends', 'c begins', 'c ends']);
    add('d');
    clock.advance(10);
    expect(log.slice(4)).toEqual(['d begins', 'd ends']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('drops what is left when it is cancelled', () => {
    const { add, clock, log, updates } = setUp();
    add('a');
    add('b');
    updates.cancel();
    expect(clock.pendingTimers).toBe(0);
    clock.advance(10);
    expect(log).toEqual(['a begins']);
  });

  it('applies updates after one that threw', () => {
    const { add, clock, errors, log } = setUp();
    add('broken');
    clock.advance(10);
    add('a');
    clock.advance(10);
    expect(log).toEqual(['broken begins', 'a begins', 'a ends']);
    expect(errors).toEqual([new Error('bug')]);
  });
});
