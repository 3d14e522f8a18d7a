import { ConnectivityState } from '../../../src/grpc-js';
import { PriorityOrder, type PriorityState } from '../../../src/lb/priority/choose-priority';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** `-` no child, `R` READY, `I` IDLE, `F` failed, `C` CONNECTING in time, `c` CONNECTING and out of time. */
const CHILDREN: ReadonlyMap<string, PriorityState | undefined> = new Map([
  ['-', undefined],
  ['R', { state: READY, failoverPending: false }],
  ['I', { state: IDLE, failoverPending: false }],
  ['F', { state: TRANSIENT_FAILURE, failoverPending: false }],
  ['C', { state: CONNECTING, failoverPending: true }],
  ['c', { state: CONNECTING, failoverPending: false }],
]);

function priorities(pattern: string): PriorityOrder {
  const children = new Map<string, PriorityState & { activate(): void; deactivate(): void }>();
  for (const [i, letter] of Array.from(pattern).entries()) {
    const child = CHILDREN.get(letter);
    if (child !== undefined) children.set(`${i}`, { ...child, activate() {}, deactivate() {} });
  }
  return new PriorityOrder(
    Array.from(pattern, (_, i) => `${i}`),
    children,
  );
}

describe('PriorityOrder', () => {
  it.each([
    ['-', '0', '0', '', 'creates the first'],
    ['C-', '0', '0', '', 'gives the first one time'],
    ['R-', '0', '0', '1', 'uses the first when it is ready'],
    ['I-', '0', '0', '1', 'uses the first when it is idle'],
    ['RRR', '0', '0', '12', 'deactivates all that are lower'],
    ['CR', '0', '0', '', 'does not deactivate the lower while the first is only in time'],
    ['F-', '1', '01', '', 'creates the second when the first has failed'],
    ['c-', '1', '01', '', 'creates the second when the first is out of time'],
    ['FR-', '1', '01', '2', 'uses the second when it is ready'],
    ['FCR', '1', '01', '', 'gives the second one time though the third is ready'],
    ['FcR', '2', '012', '', 'goes past the second when it is out of time'],
    ['Fc', '1', '01', '', 'waits for the one that is still connecting when none is ready'],
    ['cF', '0', '01', '', 'waits for the one that is still connecting, though it is not the last'],
    ['cc', '0', '01', '', 'waits for the first of several that are still connecting'],
    ['FF', '1', '01', '', 'is left with the last when all have failed'],
    ['FFI', '2', '012', '', 'uses an idle one when all before it have failed'],
  ])('%s: %s', (pattern, chosen, active, unneeded) => {
    const choice = priorities(pattern).choose();
    const positions = Array.from(pattern, (_, i) => `${i}`);
    expect(`${choice?.chosen}`).toBe(chosen);
    expect(positions.slice(0, choice?.activeEnd).join('')).toBe(active);
    expect(positions.slice(choice?.unneededStart).join('')).toBe(unneeded);
  });

  it('chooses nothing when there is nothing', () => {
    expect(priorities('').choose()).toBeUndefined();
  });
});
