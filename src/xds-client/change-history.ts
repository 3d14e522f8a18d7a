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
  private changes: ResourceChange[] = [];
  private droppedUntilMs = -Infinity;
  /** Those with bytes, the oldest first. */
  private readonly kept = new Map<KeptValue, Value>();
  private keptBytes = 0;

  /** Adds a change. Its values may be parts of a response. */
  add(added: ResourceChange): void {
    const { before, rejected } = added;
    this.changes.push({ ...added, before: this.keep(before), rejected: this.keep(rejected) });
    // Not one by one, since that would move all of them each time.
    if (this.changes.length >= 4 * MAX_CHANGES) this.dropOldest();
  }

  /** The changes that are kept but releases, the oldest first. */
  latest(): ResourceChange[] {
    return this.changes.filter(({ kind }) => kind !== 'released').slice(-MAX_CHANGES);
  }

  /** Everything that is kept. */
  whole(): ResourceHistory {
    this.dropOldest();
    return { changes: [...this.changes], sinceMs: this.droppedUntilMs };
  }

  private dropOldest(): void {
    const counts = { released: 0, others: 0 };
    const kept = this.changes.toReversed().filter((change) => {
      const count = change.kind === 'released' ? ++counts.released : ++counts.others;
      if (count <= MAX_CHANGES) return true;
      this.droppedUntilMs = Math.max(this.droppedUntilMs, change.atMs);
      this.drop(change.before);
      this.drop(change.rejected);
      return false;
    });
    this.changes = kept.reverse();
  }

  private keep(given: KeptValue | undefined): KeptValue | undefined {
    if (given === undefined) return undefined;
    const { maxValueBytes, maxBytes } = largerSizes.size > 0 ? LARGER_SIZES : SIZES;
    const value: Value = { version: given.version, bytes: copyUpTo(given.bytes, maxValueBytes) };
    if (value.bytes !== undefined) {
      this.kept.set(value, value);
      this.keptBytes += value.bytes.length;
    }
    for (const oldest of this.kept.keys()) {
      if (this.keptBytes <= maxBytes) break;
      this.drop(oldest);
    }
    return value;
  }

  private drop(value: KeptValue | undefined): void {
    const own = value && this.kept.get(value);
    if (own?.bytes === undefined) return;
    this.kept.delete(own);
    this.keptBytes -= own.bytes.length;
    own.bytes = undefined;
  }
}

/** Returns a copy of a value: it may be part of a response, which would be kept as a whole. */
function copyUpTo(bytes: Uint8Array | undefined, maxBytes: number): Uint8Array | undefined {
  return bytes === undefined || bytes.length > maxBytes ? undefined : Uint8Array.from(bytes);
}
