import type { Handle } from '../util/handle';
import type { Result } from '../util/result';
import type { ResourceWatcher, WatchError } from '../xds-client/resource-watcher';
import { waiting, type WatchReport } from './observations';

/** The needed names of one kind with their keys: a map, or a set of names. */
export interface NeededNames<K> {
  has(name: string): boolean;
  entries(): Iterable<readonly [string, K]>;
}

/** Starts a watch. The watcher may be notified at any time until the handle is released. */
export type StartWatch<K, T> = (name: string, watcher: ResourceWatcher<T>, key: K) => Handle;

/** Starts a watch of a resource of one type. */
export type WatchResource<T> = StartWatch<string, T>;

/** One watch with its last report. */
class Entry<T> implements ResourceWatcher<T> {
  observed: WatchReport<T> = waiting;
  /** `undefined` before the watch has started. */
  handle: Handle | undefined;
  private isEnded = false;

  constructor(private readonly onReport: () => void) {}

  onResourceChanged(update: Result<T, WatchError>): void {
    if (this.isEnded) return;
    this.observed = update.ok
      ? { kind: 'value', value: update.value, ambient: undefined }
      : { kind: 'error', error: update.error };
    this.onReport();
  }

  onAmbientError(ambient: WatchError | undefined): void {
    if (this.isEnded || this.observed.kind !== 'value') return;
    this.observed = { ...this.observed, ambient };
    this.onReport();
  }

  end(): void {
    this.isEnded = true;
    this.handle?.release();
  }
}

/** The watches of one kind: starts the needed ones, releases the others, and keeps the last report of each. */
export class WatchSet<K, T> {
  private readonly entries = new Map<string, Entry<T>>();
  /** The names of the last `reconcile`. */
  private watched: NeededNames<K> | undefined;
  private kept: NeededNames<K> | undefined;

  /** @param onReport Called after each report. */
  constructor(
    private readonly start: StartWatch<K, T>,
    private readonly onReport: () => void,
  ) {}

  /** Returns the last report of a name; `undefined` if it is not watched. */
  get(name: string): WatchReport<T> | undefined {
    return this.entries.get(name)?.observed;
  }

  /**
   * Releases the watches that are not needed, and then starts the missing ones.
   * @param needed Immutable: the same object again has no effect.
   * @param kept Names whose watches are not released, since the config is incomplete. Immutable.
   */
  reconcile(needed: NeededNames<K>, kept?: NeededNames<K>): void {
    if (needed === this.watched && kept === this.kept) return;
    this.watched = needed;
    this.kept = kept;
    for (const [name, entry] of this.entries) {
      if (needed.has(name) || kept?.has(name) === true) continue;
      this.entries.delete(name);
      entry.end();
    }
    for (const [name, key] of needed.entries()) if (!this.entries.has(name)) this.add(name, key);
  }

  /** Releases every watch. */
  clear(): void {
    this.reconcile(new Map());
  }

  private add(name: string, key: K): void {
    const entry = new Entry<T>(this.onReport);
    this.entries.set(name, entry);
    entry.handle = this.start(name, entry, key);
  }
}
