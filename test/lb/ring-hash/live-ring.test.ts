import { ColumnPool } from '../../../src/lb/ring-hash/column-pool';
import { ConnectivityState } from '../../../src/grpc-js';
import { LiveRing } from '../../../src/lb/ring-hash/live-ring';
import { Ring } from '../../../src/lb/ring-hash/ring';
import { runSteps } from '../../../src/util/steps';
import { ringEntriesOf } from '../../support/ring-entries';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** Endpoints by slot. */
const [a, b, c, d] = [0, 1, 2, 17] as const;

/** A ring with the owners in that order. */
function ringOf(...owners: readonly number[]): Ring {
  const additions = ringEntriesOf(
    owners.map((owner, ordinal) => ({ hash: BigInt(ordinal), owner, ordinal })),
  );
  const compareOwners = () => 0;
  const { size } = additions;
  const keeps = () => true;
  return runSteps(Ring.empty(new ColumnPool()).change({ keeps, additions, size, compareOwners }));
}

function setUp() {
  const live = new LiveRing(Ring.empty(new ColumnPool()));
  live.replace(ringOf(a, b, a, c), 3);
  return live;
}

describe('LiveRing', () => {
  it('is empty at first', () => {
    const live = new LiveRing(Ring.empty(new ColumnPool()));
    expect(live.size).toBe(0);
    expect(live.ring.size).toBe(0);
    expect(live.findState(IDLE, 0)).toBe(-1);
    expect(live.connectivity).toBe(TRANSIENT_FAILURE);
  });

  it('counts endpoints, however many entries they have', () => {
    const live = setUp();
    expect([live.size, live.count(IDLE)]).toEqual([3, 3]);
    live.setState(a, CONNECTING);
    live.setState(a, CONNECTING);
    live.setState(b, READY);
    live.setState(a, READY);
    expect([IDLE, CONNECTING, READY].map((state) => live.count(state))).toEqual([1, 0, 2]);
    expect(live.connectivity).toBe(READY);
  });

  it('finds the next entry in a state, going round', () => {
    const live = setUp();
    const find = (state: ConnectivityState) => [0, 1, 2, 3].map((i) => live.findState(state, i));
    expect(find(READY)).toEqual([-1, -1, -1, -1]);
    expect(find(IDLE)).toEqual([0, 1, 2, 3]);
    live.setState(b, READY);
    expect(find(READY)).toEqual([1, 1, 1, 1]);
    live.setState(a, READY);
    live.setState(b, TRANSIENT_FAILURE);
    expect(find(READY)).toEqual([0, 2, 2, 0]);
    expect(find(IDLE)).toEqual([3, 3, 3, 3]);
    live.setState(c, READY);
    expect(find(IDLE)).toEqual([-1, -1, -1, -1]);
  });

  it('keeps the states of endpoints when the ring is replaced', () => {
    const live = setUp();
    live.setState(a, READY);
    live.setState(b, TRANSIENT_FAILURE);
    live.replace(ringOf(d, d, a), 18);
    expect([a, b, c, d].map((slot) => live.has(slot))).toEqual([true, false, false, true]);
    expect([a, b, c, d].map((slot) => live.stateOf(slot))).toEqual([
      READY,
      TRANSIENT_FAILURE,
      IDLE,
      IDLE,
    ]);
    expect(live.size).toBe(3 - 1);
    expect([IDLE, READY, TRANSIENT_FAILURE].map((state) => live.count(state))).toEqual([1, 1, 0]);
    expect(live.findState(READY, 0)).toBe(2);
    // What is no longer on it has no part in it.
    live.setState(b, READY);
    expect(live.count(READY)).toBe(1);
    live.replace(ringOf(b, a), 18);
    expect(live.has(d)).toBe(false);
    expect(live.count(READY)).toBe(2);
  });
});
