import type { Random } from '../../util/random';
import type { Steps } from '../../util/time-slices';
import type { RingLimits } from '../ring-hash/counts';
import type { HashTable } from '../ring-hash/ring';
import {
  areEqual,
  Members,
  ringKeyOf,
  type MembersUpdate,
  type TableRules,
} from '../ring-hash/members';

type Entries = Uint8Array | Uint16Array | Uint32Array;

/** The positions that a member prefers, one after the other: all of them, since the size of the table is prime. */
interface Permutation {
  position: number;
  readonly skip: number;
}

/** The members that take an entry in a round, by its number. */
type Rounds = Map<number, number[]>;

/** The number of keys that are hashed without a break. */
const HASHED_AT_ONCE = 256;
/** The number of entries that are tried without a break. */
const TRIED_AT_ONCE = 8192;

/**
 * A table of entries, of which each member has a share by its weight: Maglev (https://research.google/pubs/pub44824/, section
 * 3.4) as Envoy builds it, so that both send a hash to the same endpoint.
 *
 * @see https://github.com/envoyproxy/envoy/blob/v1.36.0/source/extensions/load_balancing_policies/maglev/maglev_lb.cc
 */
export class MaglevTable implements HashTable {
  static readonly empty = new MaglevTable(Members.none, new Uint8Array(), new Set());

  private readonly modulus: bigint;

  private constructor(
    readonly members: Members,
    /** The indexes of members in their order, from 1. */
    private readonly entries: Entries,
    /** The numbers of those with entries. */
    private readonly owners: ReadonlySet<number>,
  ) {
    this.modulus = BigInt(entries.length);
  }

  get size(): number {
    return this.entries.length;
  }

  get memberCount(): number {
    return this.owners.size;
  }

  memberAt(position: number): number {
    const { entries, members } = this;
    const { length } = entries;
    const entry = entries[position < length ? position : position - length] ?? 0;
    return members.sorted[entry - 1] ?? -1;
  }

  has(member: number): boolean {
    return this.owners.has(member);
  }

  find(hash: bigint): number {
    return this.modulus === 0n ? 0 : Number(hash % this.modulus);
  }

  findRandom(random: Random): number {
    return Math.floor(random() * this.size);
  }

  *update(
    { members, placed }: MembersUpdate,
    { max: size }: RingLimits,
    rules: TableRules,
  ): Steps<MaglevTable> {
    const { sorted } = members;
    if (sorted.length === 0) return members === this.members ? this : MaglevTable.empty;
    const weights = weightsOf(members);
    if (sorted === this.members.sorted && placed.size === 0 && size === this.size) {
      if (members === this.members) return this;
      if (areEqual(weights, weightsOf(this.members))) {
        return new MaglevTable(members, this.entries, this.owners);
      }
    }
    const permutations = yield* createPermutations(members, size, rules);
    const entries = createEntries(size, sorted.length);
    const counts = yield* fill(entries, permutations, weights);
    const owners = new Set(sorted.filter((_, i) => (counts[i] ?? 0) > 0));
    return new MaglevTable(members, entries, owners);
  }
}

/** The weights of the members in their order. */
function weightsOf({ sorted, weights }: Members): Float64Array {
  return Float64Array.from(sorted, (member) => weights[member] ?? 0);
}

/** Each entry takes as few bytes as the number of members needs. */
function createEntries(size: number, members: number): Entries {
  if (members < 2 ** 8) return new Uint8Array(size);
  return members < 2 ** 16 ? new Uint16Array(size) : new Uint32Array(size);
}

/**
 * Returns the permutation of each member. Members with the same one, such as those with the same hash key, share it: what one
 * has tried is taken for all of them.
 */
function* createPermutations(
  { endpoints, sorted }: Members,
  size: number,
  { hash, usesHashKeys }: TableRules,
): Steps<readonly Permutation[]> {
  const modulus = BigInt(size);
  const known = new Map<number, Permutation>();
  const all: Permutation[] = [];
  for (const member of sorted) {
    const endpoint = endpoints[member];
    const key = endpoint === undefined ? '' : ringKeyOf(endpoint, usesHashKeys);
    const position = Number(hash.hash(key) % modulus);
    const skip = Number(hash.hash(key, 1n) % (modulus - 1n)) + 1;
    const id = position * size + skip;
    const permutation = known.get(id) ?? { position, skip };
    known.set(id, permutation);
    all.push(permutation);
    if (all.length % HASHED_AT_ONCE === 0) yield;
  }
  return all;
}

/**
 * Fills the entries in rounds: in each, a member with the greatest weight takes one, and one with a third of it does so in every
 * third. @returns The number of entries of each member.
 */
function* fill(
  entries: Entries,
  permutations: readonly Permutation[],
  weights: Float64Array,
): Steps<Uint32Array> {
  const { length: size } = entries;
  const counts = new Uint32Array(weights.length);
  const targets = new Float64Array(weights.length);
  const greatest = weights.reduce((a, b) => Math.max(a, b));
  const rounds: Rounds = new Map([[1, Array.from(weights.keys())]]);
  let left = size;
  let tried = 0;
  for (let round = 1; left > 0; round++) {
    const members = rounds.get(round) ?? [];
    rounds.delete(round);
    for (const i of members.sort((a, b) => a - b)) {
      const permutation = permutations[i];
      if (left === 0 || permutation === undefined) break;
      for (let isTaken = true; isTaken;) {
        const { position, skip } = permutation;
        isTaken = entries[position] !== 0;
        if (!isTaken) entries[position] = i + 1;
        permutation.position = (position + skip) % size;
        if (++tried % TRIED_AT_ONCE === 0) yield;
      }
      left--;
      counts[i] = (counts[i] ?? 0) + 1;
      const target = (targets[i] ?? 0) + greatest;
      targets[i] = target;
      const next = nextRound(round, weights[i] ?? 0, target);
      const others = rounds.get(next);
      if (others === undefined) rounds.set(next, [i]);
      else others.push(i);
    }
  }
  return counts;
}

/** Returns the first round after one whose number times the weight has reached the target. */
function nextRound(round: number, weight: number, target: number): number {
  let next = Math.max(round + 1, Math.floor(target / weight));
  while (next * weight < target) next++;
  return next;
}
