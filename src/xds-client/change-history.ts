import { createHandle, type Handle } from '../util/handle';
import type { KeptValue, ResourceChange, ResourceHistory } from './client-snapshot';

/** The number of changes kept, of all resources of the servers of a bootstrap; that of releases is counted apart. */
const MAX_CHANGES = 1000;

/** The size of a value that is kept, and of all that are, of the resources of the servers of a bootstrap. */
interface KeptSizes {
  readonly maxValueBytes: number;
  readonly maxBytes: number;
}

const SIZES: KeptSizes = { maxValueBytes: 64 * 1024, maxBytes: 2 * 2 ** 20 };
/** While something shows what was in use at earlier times. */
const LARGER_SIZES: KeptSizes = { maxValueBytes: 2 ** 20, maxBytes: 16 * 2 ** 20 };

const largerSizes = new Set<Handle>();

/** Keeps more and larger values, of every bootstrap of the process, until the handle is released. */
export function keepMoreValues(): Handle {
  const handle = createHandle(() => largerSizes.delete(handle));
  largerSizes.add(handle);
  return handle;
}

/** A change as it is kept. */
export interface KeptChange extends ResourceChange {
  text: string;
  before: KeptValue | undefined;
  rejected: KeptValue | undefined;
  /**
   * Returns the text, if that takes time: it is called when the history is read, or when a value that it keeps in memory is
   * dropped.
   */
  describe?: (() => string) | undefined;
}

/**
 * The last changes of resources, of all servers of a bootstrap. A value is copied once, when it is no longer in use: what is
 * in use takes no memory here.
 */
export class ChangeHistory {
  private entries: KeptChange[] = [];
  private droppedUntilMs = -Infinity;
  private keptBytes = 0;
  /** The index of the first change whose values may still have bytes. */
  private firstKept = 0;

  /** Keeps a change, which must not be used any more. Its values may be parts of a response. */
  add(change: KeptChange): void {
    change.before = copyOf(change.before);
    change.rejected = copyOf(change.rejected);
    if (change.before?.bytes === undefined) write(change);
    this.entries.push(change);
    this.keptBytes += sizeOf(change.before) + sizeOf(change.rejected);
    this.dropBytes();
    // Not one by one, since that would move all of them each time.
    if (this.entries.length >= 4 * MAX_CHANGES) this.dropOldest();
  }

  /** The changes that are kept but releases, the oldest first. */
  latest(): ResourceChange[] {
    const changes = this.entries.filter(({ kind }) => kind !== 'released');
    return changes.slice(-MAX_CHANGES).map(write);
  }

  /** Everything that is kept. */
  whole(): ResourceHistory {
    this.dropOldest();
    return { changes: this.entries.map(write), sinceMs: this.droppedUntilMs };
  }

  private dropOldest(): void {
    const counts = { released: 0, others: 0 };
    const kept = this.entries.toReversed().filter((change) => {
      const count = change.kind === 'released' ? ++counts.released : ++counts.others;
      if (count <= MAX_CHANGES) return true;
      this.droppedUntilMs = Math.max(this.droppedUntilMs, change.atMs);
      this.drop(change);
      return false;
    });
    this.entries = kept.reverse();
    this.firstKept = 0;
  }

  /** Drops the bytes of the oldest values while all together have too many. Their texts are written before. */
  private dropBytes(): void {
    const { maxBytes } = largerSizes.size > 0 ? LARGER_SIZES : SIZES;
    while (this.keptBytes > maxBytes) {
      const change = this.entries[this.firstKept++];
      if (change === undefined) return;
      write(change);
      this.drop(change);
    }
  }

  private drop(change: KeptChange): void {
    this.keptBytes -= sizeOf(change.before) + sizeOf(change.rejected);
    change.before = withoutBytes(change.before);
    change.rejected = withoutBytes(change.rejected);
  }
}

/** Returns a copy of a value: it may be part of a response, which would be kept as a whole. */
function copyOf(value: KeptValue | undefined): KeptValue | undefined {
  if (value === undefined) return undefined;
  const { version, bytes } = value;
  const { maxValueBytes } = largerSizes.size > 0 ? LARGER_SIZES : SIZES;
  const isKept = bytes !== undefined && bytes.length <= maxValueBytes;
  return { version, bytes: isKept ? new Uint8Array(bytes) : undefined };
}

function withoutBytes(value: KeptValue | undefined): KeptValue | undefined {
  return value && { version: value.version, bytes: undefined };
}

function sizeOf(value: KeptValue | undefined): number {
  return value?.bytes?.length ?? 0;
}

/** Writes the text of a change, if it has none. */
function write(change: KeptChange): ResourceChange {
  const { describe } = change;
  change.describe = undefined;
  if (describe !== undefined) change.text = describe();
  return change;
}
