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

/** A change to add. */
export interface AddedChange extends Omit<ResourceChange, 'text'> {
  /** Or a function that returns it. It takes time, and is called when the history is read. */
  readonly text: string | (() => string);
}

/** A change as it is kept. */
interface Entry {
  readonly change: ResourceChange & { text: string };
  /** Returns the text, which is then kept: the function keeps both values in memory. `undefined` if the change has its text. */
  describe: (() => string) | undefined;
}

/** A value whose bytes may be dropped later. */
interface Value {
  readonly version: string;
  bytes: Uint8Array | undefined;
}

/**
 * The last changes of resources, of all servers of a bootstrap. A value is copied once, when it is no longer in use: what is
 * in use takes no memory here.
 */
export class ChangeHistory {
  private entries: Entry[] = [];
  private droppedUntilMs = -Infinity;
  private keptBytes = 0;
  /** The index of the first change whose values may still have bytes. */
  private firstKept = 0;

  /** Adds a change. Its values may be parts of a response. */
  add({ text, ...added }: AddedChange): void {
    const isText = typeof text === 'string';
    const before = this.copy(added.before);
    const rejected = this.copy(added.rejected);
    const change = { ...added, text: isText ? text : '', before, rejected };
    const entry: Entry = { change, describe: isText ? undefined : text };
    this.entries.push(entry);
    if (before?.bytes === undefined) write(entry);
    this.keptBytes += sizeOf(before) + sizeOf(rejected);
    this.dropBytes();
    // Not one by one, since that would move all of them each time.
    if (this.entries.length >= 4 * MAX_CHANGES) this.dropOldest();
  }

  /** The changes that are kept but releases, the oldest first. */
  latest(): ResourceChange[] {
    const changes = this.entries.filter(({ change }) => change.kind !== 'released');
    return changes.slice(-MAX_CHANGES).map(write);
  }

  /** Everything that is kept. */
  whole(): ResourceHistory {
    this.dropOldest();
    return { changes: this.entries.map(write), sinceMs: this.droppedUntilMs };
  }

  private dropOldest(): void {
    const counts = { released: 0, others: 0 };
    const kept = this.entries.toReversed().filter(({ change }) => {
      const count = change.kind === 'released' ? ++counts.released : ++counts.others;
      if (count <= MAX_CHANGES) return true;
      this.droppedUntilMs = Math.max(this.droppedUntilMs, change.atMs);
      this.drop(change.before);
      this.drop(change.rejected);
      return false;
    });
    this.entries = kept.reverse();
    this.firstKept = 0;
  }

  /** Returns a copy of a value: it may be part of a response, which would be kept as a whole. */
  private copy(given: KeptValue | undefined): Value | undefined {
    if (given === undefined) return undefined;
    const { version, bytes } = given;
    const { maxValueBytes } = largerSizes.size > 0 ? LARGER_SIZES : SIZES;
    const isKept = bytes !== undefined && bytes.length <= maxValueBytes;
    return { version, bytes: isKept ? new Uint8Array(bytes) : undefined };
  }

  /** Drops the bytes of the oldest values while all together have too many. Their texts are written before. */
  private dropBytes(): void {
    const { maxBytes } = largerSizes.size > 0 ? LARGER_SIZES : SIZES;
    while (this.keptBytes > maxBytes) {
      const entry = this.entries[this.firstKept++];
      if (entry === undefined) return;
      const { before, rejected } = write(entry);
      this.drop(before);
      this.drop(rejected);
    }
  }

  private drop(value: Value | undefined): void {
    this.keptBytes -= sizeOf(value);
    if (value !== undefined) value.bytes = undefined;
  }
}

function sizeOf(value: Value | undefined): number {
  return value?.bytes?.length ?? 0;
}

/** Writes the text of a change, if it has none. */
function write(entry: Entry): ResourceChange {
  const { change, describe } = entry;
  entry.describe = undefined;
  if (describe !== undefined) change.text = describe();
  return change;
}
