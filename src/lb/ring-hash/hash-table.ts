import type { XxHash64 } from '../../util/hashes';
import type { Random } from '../../util/random';
import type { Steps } from '../../util/steps';
import type { RingLimits } from './counts';
import type { Members, MembersUpdate } from './members';

/**
 * Finds the endpoint of a hash: a ring, or the table of Maglev. Immutable, and shared by the channels of a target; the next one is
 * created from it after an update.
 */
export interface HashTable {
  readonly members: Members;
  /** The number of positions. */
  readonly size: number;
  /** The number of members with positions: not all, if there are more members than positions. */
  readonly memberCount: number;
  /** Returns the number of the member at a position, which goes on at the start after the last one, once; -1 if there is none. */
  memberAt(position: number): number;
  /** Returns whether a member has a position. */
  has(member: number): boolean;
  /** Returns the position of a hash; 0 if the table is empty. */
  find(hash: bigint): number;
  findRandom(random: Random): number;
  /** Creates the table after an update of its members; returns this one if nothing changed. */
  update(update: MembersUpdate, limits: RingLimits, options: TableOptions): Steps<HashTable>;
}

/** How members get positions. */
export interface TableOptions {
  /** Ready. */
  readonly hash: Pick<XxHash64, 'hash'>;
  /** Whether endpoints are placed by their hash keys if they have any (gRFC A76). */
  readonly usesHashKeys: boolean;
}
