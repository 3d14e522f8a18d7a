import { processHash } from '../../util/keyed-hash';
import { STEP_SIZE, type Steps } from '../../util/steps';
import { HashBag } from '../shared/hash-bag';
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
    for (const [i, address] of this.addresses.entries()) {
      if (i % STEP_SIZE === STEP_SIZE - 1) yield;
      texts.add(addressText(address));
    }
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
    let count = 0;
    for (const { addresses } of localities.flatMap(({ removed }) => removed)) {
      if (++count % STEP_SIZE === 0) yield;
      for (const address of addresses) add(hashAddress(address), -1);
    }
    for (const { addresses } of localities.flatMap(({ added }) => added)) {
      if (++count % STEP_SIZE === 0) yield;
      for (const hash of addresses.map(hashAddress)) {
        if (this.earlier.countOf(hash) + (differences.get(hash) ?? 0) > 0) return undefined;
        add(hash, 1);
      }
    }
    if (differences.size <= MAX_DIFFERENCES) return new AddressHashes(this.earlier, differences);
    return new AddressHashes(yield* withDifferences(this.earlier.copy(), differences));
  }
}

function* withDifferences(
  hashes: HashBag,
  differences: ReadonlyMap<number, number>,
): Steps<HashBag> {
  let applied = 0;
  for (const [hash, count] of differences) {
    if (++applied % STEP_SIZE === 0) yield;
    for (let i = count; i < 0; i++) hashes.delete(hash);
    for (let i = 0; i < count; i++) hashes.add(hash);
  }
  return hashes;
}

function hashAddress({ host, port }: SocketAddress): number {
  return processHash.hashText(host, port);
}

function addressText({ host, port }: SocketAddress): string {
  return `${host} ${port}`;
}
