import { ConnectivityState } from '../../grpc-js';
import { ConnectivityTally } from '../connectivity';
import type { Ring } from './ring';

const { CONNECTING, IDLE, READY, SHUTDOWN, TRANSIENT_FAILURE } = ConnectivityState;
/** By their numbers, which is what columns have. */
const STATES = [IDLE, CONNECTING, READY, TRANSIENT_FAILURE, SHUTDOWN] as const;
const NONE = -1;

/** A loop over so many entries is a function of its own, which is compiled for the first ring already. */
const RANGE = 256;

/**
 * The current ring with the states of its endpoints, which are known by their slots: see `RingMembers`. Pickers read it,
 * so that a change of state costs one byte per entry of the endpoint, and no picker. Endpoints without an entry, which
 * exist if there are more endpoints than entries, are not included.
 */
export class LiveRing {
  private tally = new ConnectivityTally();
  private endpointCount = 0;
  /** The state of the owner, by position. */
  private states = new Uint8Array();
  /** The position of another entry of the same owner, by position. */
  private nextEntries = new Int32Array();
  /** The state of the endpoint, by slot: CONNECTING as soon as it was requested to connect. */
  private slotStates = new Uint8Array();
  /** The position of one of the entries of the endpoint, by slot. */
  private firstEntries = new Int32Array();
  /** Whether a call was queued since this was last set to `false`, and needs another picker. */
  hasQueued = false;

  /** @param current Without entries. */
  constructor(private current: Ring) {}

  get ring(): Ring {
    return this.current;
  }

  get connectivity(): ConnectivityState {
    return chooseConnectivity(this.tally, this.endpointCount);
  }

  count(state: ConnectivityState): number {
    return this.tally.count(state);
  }

  /** The number of endpoints with entries. */
  get size(): number {
    return this.endpointCount;
  }

  /** Whether the endpoint has an entry. */
  has(slot: number): boolean {
    return (this.firstEntries[slot] ?? NONE) !== NONE;
  }

  /** Returns the state of an endpoint. */
  stateOf(slot: number): ConnectivityState {
    return STATES[this.slotStates[slot] ?? IDLE] ?? IDLE;
  }

  /** Returns the state of the owner of an entry. */
  stateAt(position: number): ConnectivityState {
    return STATES[this.states[position] ?? IDLE] ?? IDLE;
  }

  /** Returns the position of the first entry whose owner is in the state, from the given one on, cyclically; or -1. */
  findState(state: ConnectivityState, from: number): number {
    if (this.states[from] === state) return from;
    if (this.tally.count(state) === 0) return NONE;
    const after = this.states.indexOf(state, from);
    return after === NONE ? this.states.indexOf(state) : after;
  }

  /**
   * Replaces the ring. Endpoints without an entry in the new one have to be set to IDLE.
   *
   * @param capacity A number that all slots are less than.
   */
  replace(ring: Ring, capacity: number): void {
    this.current = ring;
    this.tally = new ConnectivityTally();
    this.endpointCount = 0;
    if (this.states.length !== ring.size) {
      this.states = new Uint8Array(ring.size);
      this.nextEntries = new Int32Array(ring.size);
    }
    this.reserve(capacity);
    this.firstEntries.fill(NONE);
    for (let position = 0; position < ring.size; position += RANGE) this.link(position);
  }

  private reserve(capacity: number): void {
    const { slotStates } = this;
    if (capacity <= slotStates.length) return;
    this.firstEntries = new Int32Array(capacity);
    this.slotStates = new Uint8Array(capacity).fill(IDLE);
    this.slotStates.set(slotStates);
  }

  private link(start: number): void {
    const { firstEntries, nextEntries, states } = this;
    const { owners } = this.current;
    const end = Math.min(owners.length, start + RANGE);
    for (let position = start; position < end; position++) {
      const slot = owners[position] ?? 0;
      const state = this.stateOf(slot);
      const next = firstEntries[slot] ?? NONE;
      if (next === NONE) {
        this.endpointCount++;
        this.tally.add(state);
      }
      states[position] = state;
      nextEntries[position] = next;
      firstEntries[slot] = position;
    }
  }

  setState(slot: number, state: ConnectivityState): void {
    const before = this.stateOf(slot);
    if (before === state) return;
    this.slotStates[slot] = state;
    let position = this.firstEntries[slot] ?? NONE;
    if (position === NONE) return;
    this.tally.remove(before);
    this.tally.add(state);
    while (position !== NONE) {
      this.states[position] = state;
      position = this.nextEntries[position] ?? NONE;
    }
  }
}

/**
 * Returns the state of a ring (gRFCs A42, A61). One failed endpoint does not make it fail, since its calls use the next
 * one; two do, so that a lower priority is tried before all have failed.
 *
 * @param tally The endpoints by state.
 * @param size The number of endpoints.
 */
export function chooseConnectivity(tally: ConnectivityTally, size: number): ConnectivityState {
  const failed = tally.count(TRANSIENT_FAILURE);
  if (tally.count(READY) > 0) return READY;
  if (failed >= 2) return TRANSIENT_FAILURE;
  if (tally.count(CONNECTING) > 0) return CONNECTING;
  if (failed === 1 && size > 1) return CONNECTING;
  if (tally.count(IDLE) > 0) return IDLE;
  return TRANSIENT_FAILURE;
}
