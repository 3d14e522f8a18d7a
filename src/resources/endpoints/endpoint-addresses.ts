import { processHash } from '../../util/hashes';
import { inSteps, type Steps } from '../../util/steps';
import type { SocketAddress } from './endpoints';
import type { LocalityDifference } from './endpoints-change';

/** How often all addresses are searched because two have equal hashes: of 200,000 different ones, some five do. */
const MAX_SEARCHES = 16;

/** The addresses of an assignment, each of which may occur once. */
export class AddressSet {
  /** The hashes of all addresses. */
  readonly hashes = new HashBag();
  private readonly addresses: SocketAddress[] = [];
  private searches = 0;
  /** Created after `MAX_SEARCHES`: a text for each of 100,000 addresses takes tens of milliseconds. */
  private texts: Set<string> | undefined;

  /** Whether the address is probably in the set, so that `prepare` is due before it is added. */
  mustPrepare(address: SocketAddress): boolean {
    return this.texts === undefined && this.hashes.countOf(hashAddress(address)) > 0;
  }

  /** Begins a new step for a search, and after too many searches creates the texts of all addresses, in steps. */
  *prepare(): Steps<void> {
    yield;
    if (this.searches < MAX_SEARCHES) return;
    const texts = new Set<string>();
    yield* inSteps(this.addresses, (address) => void texts.add(addressText(address)));
    this.texts = texts;
  }

  /** @returns `false` if the address is in the set already. */
  add(address: SocketAddress): boolean {
    const hash = hashAddress(address);
    if (this.hashes.countOf(hash) > 0 && this.has(address)) return false;
    this.hashes.add(hash);
    this.addresses.push(address);
    this.texts?.add(addressText(address));
    return true;
  }

  private has(address: SocketAddress): boolean {
    if (this.texts !== undefined) return this.texts.has(addressText(address));
    this.searches++;
    const { host, port } = address;
    return this.addresses.some((other) => other.port === port && other.host === host);
  }
}

/** How many hashes may differ from those of an earlier version before all are copied. */
const MAX_DIFFERENCES = 32;

/** The hashes of all addresses of one version of an assignment. Immutable. */
export class AddressHashes {
  /**
   * @param earlier Those of an earlier version; not changed any more.
   * @param differences How much more often each hash occurs in this version.
   */
  constructor(
    private readonly earlier: HashBag,
    private readonly differences: ReadonlyMap<number, number> = new Map(),
  ) {}

  /**
   * Returns the hashes of the next version, given how its localities differ, in steps.
   * @returns `undefined` if an address may be in it twice.
   */
  *next(localities: readonly LocalityDifference[]): Steps<AddressHashes | undefined> {
    const differences = new Map(this.differences);
    const add = (hash: number, count: number) =>
      differences.set(hash, (differences.get(hash) ?? 0) + count);
    const before = localities.flatMap(({ removed }) => removed);
    yield* inSteps(before, ({ addresses }) => {
      for (const address of addresses) add(hashAddress(address), -1);
    });
    let duplicates = 0;
    const after = localities.flatMap(({ added }) => added);
    yield* inSteps(after, ({ addresses }) => {
      for (const hash of addresses.map(hashAddress)) {
        if (this.earlier.countOf(hash) + (differences.get(hash) ?? 0) > 0) duplicates++;
        add(hash, 1);
      }
    });
    if (duplicates > 0) return undefined;
    if (differences.size <= MAX_DIFFERENCES) return new AddressHashes(this.earlier, differences);
    return new AddressHashes(yield* withDifferences(this.earlier.copy(), differences));
  }
}

function* withDifferences(
  hashes: HashBag,
  differences: ReadonlyMap<number, number>,
): Steps<HashBag> {
  yield* inSteps(differences, ([hash, count]) => {
    for (let i = count; i < 0; i++) hashes.delete(hash);
    for (let i = 0; i < count; i++) hashes.add(hash);
  });
  return hashes;
}

function hashAddress({ host, port }: SocketAddress): number {
  return processHash.hashText(host, port);
}

function addressText({ host, port }: SocketAddress): string {
  return `${host} ${port}`;
}

const EMPTY = 0;
const MIN_CAPACITY = 16;

/**
 * A multiset of hashes: at 8 to 16 bytes each, a set of probable members in a tenth of the memory of a set of texts.
 * Hashes are unsigned, of 32 bits, and evenly distributed whatever is hashed, as those of `KeyedHash`; 0 counts as 1.
 *
 * An absent hash proves that a text is new; a present one does not prove that it is known.
 */
export class HashBag {
  /** Open addressing: each hash is at the index of its lowest bits, or in the next free place. */
  private table = new Uint32Array(MIN_CAPACITY);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Returns a bag with the same hashes. */
  copy(): HashBag {
    const copy = new HashBag();
    copy.table = this.table.slice();
    copy.count = this.count;
    return copy;
  }

  /** Returns the number of occurrences of the hash. */
  countOf(hash: number): number {
    const { table } = this;
    const mask = table.length - 1;
    const wanted = stored(hash);
    let found = 0;
    for (let i = wanted & mask; table[i] !== EMPTY; i = (i + 1) & mask) {
      if (table[i] === wanted) found++;
    }
    return found;
  }

  /** @returns The number of places that were tried. */
  add(hash: number): number {
    if (++this.count * 2 > this.table.length) this.grow();
    return insert(this.table, stored(hash));
  }

  /** Removes one occurrence, if any. */
  delete(hash: number): void {
    const { table } = this;
    const mask = table.length - 1;
    const wanted = stored(hash);
    let hole = wanted & mask;
    while (table[hole] !== wanted) {
      if (table[hole] === EMPTY) return;
      hole = (hole + 1) & mask;
    }
    this.count--;
    // Moves the following hashes up where possible, so that no search ends too early.
    for (let i = (hole + 1) & mask; ; i = (i + 1) & mask) {
      const hashThere = table[i] ?? EMPTY;
      if (hashThere === EMPTY) break;
      const distance = (i - (hashThere & mask)) & mask;
      if (distance < ((i - hole) & mask)) continue;
      table[hole] = hashThere;
      hole = i;
    }
    table[hole] = EMPTY;
  }

  private grow(): void {
    const larger = new Uint32Array(this.table.length * 2);
    for (const hash of this.table) if (hash !== EMPTY) insert(larger, hash);
    this.table = larger;
  }
}

function insert(table: Uint32Array, hash: number): number {
  const mask = table.length - 1;
  let tried = 1;
  let i = hash & mask;
  for (; table[i] !== EMPTY; i = (i + 1) & mask) tried++;
  table[i] = hash;
  return tried;
}

function stored(hash: number): number {
  return hash === EMPTY ? 1 : hash;
}
