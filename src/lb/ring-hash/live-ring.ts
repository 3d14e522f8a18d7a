import type { ConnectivityState } from '../../grpc-js';
import { ConnectivityTally } from '../connectivity';
import { chooseConnectivity } from './choose-connectivity';
import { Ring } from './ring';
import type { RingMember } from './ring-members';

const NONE = -1;

/**
 * The ring as it is now, with the states of its endpoints. Pickers read it: a change of state costs one byte
 * per entry of the endpoint, and no picker.
 *
 * An endpoint without an entry, of which there are some when there are more endpoints than entries, has no
 * part in it.
 */
export class LiveRing {
  private current = Ring.empty<RingMember>();
  private tally = new ConnectivityTally();
  /** How many endpoints have entries. */
  private memberCount = 0;
  /** By position, the state of the owner. */
  private states = new Uint8Array();
  /** By position, that of another entry of the same owner. */
  private nextEntries = new Int32Array();
  /** Whether a call was told to wait since this was last set to `false`: it will want another picker. */
  hasQueued = false;

  /** The entries. */
  get ring(): Ring<RingMember> {
    return this.current;
  }

  /** The state of the whole. */
  get connectivity(): ConnectivityState {
    return chooseConnectivity(this.tally, this.memberCount);
  }

  /** How many endpoints are in the state. */
  count(state: ConnectivityState): number {
    return this.tally.count(state);
  }

  /** How many endpoints have entries. */
  get size(): number {
    return this.memberCount;
  }

  /** The position of the first entry whose owner is in the state, from the given one on, going round; or -1. */
  findState(state: ConnectivityState, from: number): number {
    if (this.states[from] === state) return from;
    if (this.tally.count(state) === 0) return NONE;
    const after = this.states.indexOf(state, from);
    return after === NONE ? this.states.indexOf(state) : after;
  }

  /**
   * Puts another ring in its place.
   *
   * @returns the owners that have no entry any more.
   */
  replace(ring: Ring<RingMember>): readonly RingMember[] {
    const { owners: previous } = this.current;
    for (const owner of previous) owner.firstEntry = NONE;
    this.current = ring;
    this.tally = new ConnectivityTally();
    this.memberCount = 0;
    this.states = new Uint8Array(ring.size);
    this.nextEntries = new Int32Array(ring.size);
    let position = 0;
    for (const owner of ring.owners) {
      if (owner.firstEntry === NONE) {
        this.memberCount++;
        this.tally.add(owner.state);
      }
      this.states[position] = owner.state;
      this.nextEntries[position] = owner.firstEntry;
      owner.firstEntry = position++;
    }
    const gone = new Set<RingMember>();
    for (const owner of previous) if (owner.firstEntry === NONE) gone.add(owner);
    return [...gone];
  }

  /** Notes the state of an endpoint. */
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
