import { ColumnPool } from '../../src/lb/ring-hash/column-pool';
import type { Ring } from '../../src/lb/ring-hash/ring';
import { RingEntries, splitHash } from '../../src/lb/ring-hash/ring-entries';

/** An entry of a ring; the hash has 64 bits, unsigned. */
export interface RingEntry {
  readonly hash: bigint;
  readonly owner: number;
  readonly ordinal: number;
}

/** Returns entries as columns. */
export function ringEntriesOf(entries: readonly RingEntry[]): RingEntries {
  const columns = new RingEntries(new ColumnPool(), entries.length);
  for (const { hash, owner, ordinal } of entries) columns.add(splitHash(hash), owner, ordinal);
  return columns;
}

/** Returns the hashes of all entries of a ring, in order. */
export function hashesOf(ring: Ring): readonly bigint[] {
  return Array.from(ring.owners, (_, position) => ring.hashAt(position));
}
