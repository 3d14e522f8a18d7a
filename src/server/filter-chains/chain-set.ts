/** The number of chains in one word of a set. */
const WORD_SIZE = 32;

/**
 * A set of the filter chains of a listener, by their positions. Only the words with members are kept, in ascending order, so that
 * it takes as much memory as it has members, and an intersection one operation for each 32 chains at most.
 */
export class ChainSet {
  private constructor(
    private readonly indexes: number[],
    private readonly words: number[],
  ) {}

  /** Creates a set with one chain. */
  static of(position: number): ChainSet {
    return new ChainSet([Math.floor(position / WORD_SIZE)], [maskOf(position)]);
  }

  /** Adds a chain, whose position is not lower than that of any member. */
  add(position: number): void {
    const { indexes, words } = this;
    const index = Math.floor(position / WORD_SIZE);
    const last = indexes.length - 1;
    if (indexes[last] === index) words[last] = (words[last] ?? 0) | maskOf(position);
    else {
      indexes.push(index);
      words.push(maskOf(position));
    }
  }

  /** Returns the chains that are in both sets; `undefined` if there are none. */
  intersect(other: ChainSet): ChainSet | undefined {
    const indexes: number[] = [];
    const words: number[] = [];
    let j = 0;
    for (let i = 0; i < this.indexes.length; i++) {
      const index = this.indexes[i] ?? 0;
      while ((other.indexes[j] ?? Infinity) < index) j++;
      if (other.indexes[j] !== index) continue;
      const word = (this.words[i] ?? 0) & (other.words[j] ?? 0);
      if (word === 0) continue;
      indexes.push(index);
      words.push(word);
    }
    return indexes.length === 0 ? undefined : new ChainSet(indexes, words);
  }

  /** The lowest position. */
  get first(): number {
    const word = this.words[0] ?? 0;
    return (this.indexes[0] ?? 0) * WORD_SIZE + (WORD_SIZE - 1 - Math.clz32(word & -word));
  }
}

function maskOf(position: number): number {
  return 1 << (position % WORD_SIZE);
}

/** Adds a chain to a set, which is created at first. */
export function withChain(set: ChainSet | undefined, position: number): ChainSet {
  if (set === undefined) return ChainSet.of(position);
  set.add(position);
  return set;
}

/** Adds a chain to the set of a key. */
export function addTo<K>(sets: Map<K, ChainSet>, key: K, position: number): void {
  sets.set(key, withChain(sets.get(key), position));
}

/** Returns the members of a set that are in the first of other sets that has any of them; `undefined` if none has. */
export function narrow(
  chains: ChainSet | undefined,
  others: readonly (ChainSet | undefined)[],
): ChainSet | undefined {
  if (chains === undefined) return undefined;
  for (const other of others) {
    const left = other && chains.intersect(other);
    if (left !== undefined) return left;
  }
  return undefined;
}
