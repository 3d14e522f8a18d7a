import type { Ring } from '../../src/lb/ring-hash/ring';
import { RingEntries, splitHash } from '../../src/lb/ring-hash/ring-entries';

/** An entry of a ring; the hash has 64 bits, unsigned. */
export interface RingEntry<Owner> {
  readonly hash: bigint;
  readonly owner: Owner;
  readonly ordinal: number;
}

/** Returns entries as columns. */
export function ringEntriesOf<Owner>(entries: readonly RingEntry<Owner>[]): RingEntries<Owner> {
  const columns = new RingEntries<Owner>(entries.length);
  for (const { hash, owner, ordinal } of entries) columns.add(splitHash(hash), owner, ordinal);
  return columns;
}

/** Returns the hashes of all entries of a ring, in order. */
export function hashesOf<Owner>(ring: Ring<Owner>): readonly bigint[] {
  return ring.owners.map((_, position) => ring.hashAt(position));
}
