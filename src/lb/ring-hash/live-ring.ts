import { ConnectivityState } from '../../grpc-js';
import { ConnectivityTally } from '../connectivity';
import { Ring } from './ring';
import type { RingMember } from './ring-members';

const NONE = -1;
const TAKEN = -2;

/** A loop over so many entries is a function of its own, which is compiled for the first ring already. */
const RANGE = 256;

/**
 * The current ring with the states of its endpoints. Pickers read it, so that a change of state costs one byte per
 * entry of the endpoint, and no picker. Endpoints without an entry, which exist if there are more endpoints than
 * entries, are not included.
 */
export class LiveRing {
  private current = Ring.empty<RingMember>();
  private tally = new ConnectivityTally();
  private memberCount = 0;
  /** The state of the owner, by position. */
  private states = new Uint8Array();
  /** The position of another entry of the same owner, by position. */
  private nextEntries = new Int32Array();
  /** Whether a call was queued since this was last set to `false`, and needs another picker. */
  hasQueued = false;

  get ring(): Ring<RingMember> {
    return this.current;
  }

  get connectivity(): ConnectivityState {
    return chooseConnectivity(this.tally, this.memberCount);
  }

  count(state: ConnectivityState): number {
    return this.tally.count(state);
  }

  get size(): number {
    return this.memberCount;
  }

  /** Returns the position of the first entry whose owner is in the state, from the given one on, cyclically; or -1. */
  findState(state: ConnectivityState, from: number): number {
    if (this.states[from] === state) return from;
    if (this.tally.count(state) === 0) return NONE;
    const after = this.states.indexOf(state, from);
    return after === NONE ? this.states.indexOf(state) : after;
  }

  /** Replaces the ring. @returns The owners without an entry in the new ring. */
  replace(ring: Ring<RingMember>): readonly RingMember[] {
    const { owners: previous } = this.current;
    for (let position = 0; position < previous.length; position += RANGE) clear(previous, position);
    this.current = ring;
    this.tally = new ConnectivityTally();
    this.memberCount = 0;
    if (this.states.length !== ring.size) {
      this.states = new Uint8Array(ring.size);
      this.nextEntries = new Int32Array(ring.size);
    }
    for (let position = 0; position < ring.size; position += RANGE) this.link(position);
    return takeOwnersWithoutEntry(previous);
  }

  private link(start: number): void {
    const { owners } = this.current;
    const end = Math.min(owners.length, start + RANGE);
    for (let position = start; position < end; position++) {
      const owner = owners[position];
      if (owner === undefined) continue;
      if (owner.firstEntry === NONE) {
        this.memberCount++;
        this.tally.add(owner.state);
      }
      this.states[position] = owner.state;
      this.nextEntries[position] = owner.firstEntry;
      owner.firstEntry = position;
    }
  }

  setState(member: RingMember, state: ConnectivityState): void {
    if (member.state === state) return;
    if (member.firstEntry !== NONE) {
      this.tally.remove(member.state);
      this.tally.add(state);
    }
    member.state = state;
    let position = member.firstEntry;
    while (position !== NONE) {
      this.states[position] = state;
      position = this.nextEntries[position] ?? NONE;
    }
  }
}

function clear(owners: readonly RingMember[], start: number): void {
  const end = Math.min(owners.length, start + RANGE);
  for (let position = start; position < end; position++) {
    const owner = owners[position];
    if (owner !== undefined) owner.firstEntry = NONE;
  }
}

/** Returns each owner once. */
function takeOwnersWithoutEntry(owners: readonly RingMember[]): readonly RingMember[] {
  const removed: RingMember[] = [];
  for (const owner of owners) {
    if (owner.firstEntry !== NONE) continue;
    owner.firstEntry = TAKEN;
    removed.push(owner);
  }
  for (const owner of removed) owner.firstEntry = NONE;
  return removed;
}

/**
 * Returns the state of a ring (gRFCs A42, A61). One failed endpoint does not make it fail, since its calls use the next
 * one; two do, so that a lower priority is tried before all have failed.
 *
 * @param tally The endpoints by state.
 * @param size The number of endpoints.
 */
export function chooseConnectivity(tally: ConnectivityTally, size: number): ConnectivityState {
  const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
  const failed = tally.count(TRANSIENT_FAILURE);
  if (tally.count(READY) > 0) return READY;
  if (failed >= 2) return TRANSIENT_FAILURE;
  if (tally.count(CONNECTING) > 0) return CONNECTING;
  if (failed === 1 && size > 1) return CONNECTING;
  if (tally.count(IDLE) > 0) return IDLE;
  return TRANSIENT_FAILURE;
}
