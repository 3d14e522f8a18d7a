import type { Handle } from '../util/handle';
import type { ResourceWatcher } from '../xds-client/resource-watcher';
import { waiting, type Observed } from './observations';

/** One watch with its last report. */
interface Entry<T> {
  observed: T;
  readonly handle: Handle;
}

/** The needed names of one kind with their keys: a map, or a set of names. */
export interface NeededNames<K> {
  has(name: string): boolean;
  entries(): Iterable<readonly [string, K]>;
}

/** The watches of one kind: starts the needed ones, releases the others, and keeps the last report of each. */
export class WatchSet<K, T> {
  private readonly entries = new Map<string, Entry<T>>();
  /** The names of the last `reconcile`. */
  private watched: NeededNames<K> | undefined;
  private kept: NeededNames<K> | undefined;

  /**
   * @param initial The observation of a watch without a report.
   * @param start Begins a watch, which may report at any time until the handle is released.
   * @param onReport Called after each report.
   */
  constructor(
    private readonly initial: T,
    private readonly start: (name: string, key: K, report: (observed: T) => void) => Handle,
    private readonly onReport: () => void,
  ) {}

  /** Returns the last report of a name; `undefined` if it is not watched. */
  get(name: string): T | undefined {
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
    for (const [name, { handle }] of this.entries) {
      if (needed.has(name) || kept?.has(name) === true) continue;
      this.entries.delete(name);
      handle.release();
    }
    for (const [name, key] of needed.entries()) if (!this.entries.has(name)) this.add(name, key);
  }

  /** Releases every watch. */
  clear(): void {
    this.reconcile(new Map());
  }

  private add(name: string, key: K): void {
    const entry: Entry<T> = {
      observed: this.initial,
      handle: this.start(name, key, (observed) => {
        if (this.entries.get(name) !== entry) return;
        entry.observed = observed;
        this.onReport();
      }),
    };
    this.entries.set(name, entry);
  }
}

/** Starts a watch of a resource of one type. */
export type WatchResource<T> = (name: string, watcher: ResourceWatcher<T>) => Handle;

/**
 * Creates the watches of resources of one type, which keep the last notification of each.
 * @param onReport Called after each notification.
 */
export function createResourceWatches<T>(
  watch: WatchResource<T>,
  onReport: () => void,
): WatchSet<string, Observed<T>> {
  const watches = new WatchSet<string, Observed<T>>(
    waiting,
    (name, _key, report) =>
      watch(name, {
        onResourceChanged: (update) =>
          report(
            update.ok
              ? { kind: 'value', value: update.value, ambient: undefined }
              : { kind: 'error', error: update.error },
          ),
        onAmbientError(ambient) {
          const before = watches.get(name);
          if (before?.kind === 'value') report({ ...before, ambient });
        },
      }),
    onReport,
  );
  return watches;
}
