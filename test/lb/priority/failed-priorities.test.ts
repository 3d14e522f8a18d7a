import { queuePicker, WaitPicker } from '../../../src/lb/connectivity';
import { describeFailed, type FailedPriority } from '../../../src/lb/priority/failed-priorities';

/** Priorities that have failed for these reasons. */
function failed(...reasons: readonly (string | null)[]): readonly FailedPriority[] {
  return reasons.map((errorMessage, position) => ({
    text: `priority ${position} (p${position})`,
    policy: { errorMessage, picker: queuePicker },
  }));
}

function describeAll(first: readonly FailedPriority[], count = first.length): string {
  return describeFailed(first, count);
}

describe('the causes of the priorities before the last', () => {
  it('are each shown once, with the number of priorities', () => {
    expect(describeAll(failed('refused', 'timed out', 'refused', 'refused'))).toBe(
      '; before it failed priority 0 (p0) and 2 more: refused; priority 1 (p1): timed out',
    );
  });

  it('are none where there is one priority', () => {
    expect(describeAll([])).toBe('');
  });

  it('are bounded in number, and in length', () => {
    expect(describeAll(failed('a', 'b', 'c', 'd', 'a'), 2000)).toBe(
      '; before it failed priority 0 (p0) and 1 more: a; priority 1 (p1): b; ' +
        'priority 2 (p2): c; and 1996 more',
    );
    expect(describeAll(failed('x'.repeat(100_000))).length).toBeLessThan(3010);
  });

  it('are what a priority without an error waits for', () => {
    const picker = new WaitPicker(() => 'it connects');
    const waiting = { text: 'priority 0 (p0)', policy: { errorMessage: null, picker } };
    expect(describeAll([waiting])).toBe('; before it failed priority 0 (p0): it connects');
    expect(describeAll(failed(null))).toBe(
      '; before it failed priority 0 (p0): it is not connected',
    );
  });
});
