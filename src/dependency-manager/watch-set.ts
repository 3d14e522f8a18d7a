import type { Handle } from '../util/handle';
import { runSteps, STEP_SIZE, type Steps } from '../util/steps';
import type { ResourceWatcher } from '../xds-client/resource-watcher';
import { waiting, type Observed } from './observations';

/** One watch with its last report. */
interface Entry<T> {
  observed: T;
  readonly handle: Handle;
}

/** The needed names of one kind with their keys: a map, or a set of names. */
export interface NeededNames<K> {
  readonly size: number;
  has(name: string): boolean;
  entries(): Iterable<readonly [string, K]>;
}

/** The number of watches that are started or released, and of clusters that are published, in one turn of the event loop. */
export const MAX_AT_ONCE = 256;

/** The number of watches that are started or released in one step. */
const STEP = 64;

/** The number of names, those that are watched and those that are needed, which are compared at once. */
const MAX_COMPARED = 4096;

/** How the watches differ from the needed ones. */
interface Changes<K> {
  /** The names that are not needed any more. */
  readonly removed: readonly string[];
  readonly missing: readonly (readonly [string, K])[];
}

/** Runs steps in other turns of the event loop. @returns drops the steps that are left. */
export type RunInSlices = (steps: Steps<void>) => Handle;

/** The watches of one kind: starts the needed ones, releases the others, and keeps the last report of each. */
export class WatchSet<K, T> {
  private readonly entries = new Map<string, Entry<T>>();
  /** The names of the last `reconcile`. */
  private watched: NeededNames<K> | undefined;
  private kept: NeededNames<K> | undefined;
  /** Releases and starts watches in other turns. */
  private changing: Handle | undefined;

  /**
   * @param initial The observation of a watch without a report.
   * @param start Begins a watch; `report` may be called at any time until the handle is released.
   * @param onReport Called after each report.
   * @param runInSlices Changes the watches when there are many; see `UpdateSchedule.runInSlices`. Default: however many
   * there are, they are changed at once.
   */
  constructor(
    private readonly initial: T,
    private readonly start: (
      name: string,
      key: K,
      report: (next: (before: T) => T) => void,
    ) => Handle,
    private readonly onReport: () => void,
    private readonly runInSlices?: RunInSlices,
  ) {}

  /** Returns the last report of a name; `undefined` if it is not watched. */
  get(name: string): T | undefined {
    return this.entries.get(name)?.observed;
  }

  /**
   * Releases the watches that are not needed, and then starts the missing ones. Many are changed in later turns of the event
   * loop, unless other ones are needed by then.
   * @param needed Immutable: the same object again has no effect.
   * @param kept Names whose watches are not released, since the config is incomplete. Immutable.
   */
  reconcile(needed: NeededNames<K>, kept?: NeededNames<K>): void {
    if (needed === this.watched && kept === this.kept) return;
    this.watched = needed;
    this.kept = kept;
    this.changing?.release();
    this.changing = undefined;
    const comparison = this.compare(needed, kept);
    if (this.entries.size + needed.size > MAX_COMPARED) {
      this.changing = this.runInSlices?.(this.change(comparison));
      if (this.changing !== undefined) return;
    }
    const changes = runSteps(comparison);
    const steps = this.apply(changes);
    const isLarge = changes.removed.length + changes.missing.length > MAX_AT_ONCE;
    if (isLarge) this.changing = this.runInSlices?.(steps);
    if (this.changing === undefined) runSteps(steps);
  }

  /** The number of watches. */
  get size(): number {
    return this.entries.size;
  }

  /** Releases every watch. */
  clear(): void {
    runSteps(this.clearInSteps());
  }

  /** Does the same in steps. */
  *clearInSteps(): Steps<void> {
    this.watched = undefined;
    this.kept = undefined;
    this.changing?.release();
    this.changing = undefined;
    yield* this.apply({ removed: [...this.entries.keys()], missing: [] });
  }

  private *compare(needed: NeededNames<K>, kept: NeededNames<K> | undefined): Steps<Changes<K>> {
    const removed: string[] = [];
    const missing: (readonly [string, K])[] = [];
    let count = 0;
    for (const name of this.entries.keys()) {
      if (++count % STEP_SIZE === 0) yield;
      if (!needed.has(name) && kept?.has(name) !== true) removed.push(name);
    }
    for (const entry of needed.entries()) {
      if (++count % STEP_SIZE === 0) yield;
      if (!this.entries.has(entry[0])) missing.push(entry);
    }
    return { removed, missing };
  }

  private *change(comparison: Steps<Changes<K>>): Steps<void> {
    yield* this.apply(yield* comparison);
  }

  private *apply({ removed, missing }: Changes<K>): Steps<void> {
    let count = 0;
    for (const name of removed) {
      if (++count % STEP === 0) yield;
      const entry = this.entries.get(name);
      this.entries.delete(name);
      entry?.handle.release();
    }
    for (const [name, key] of missing) {
      if (++count % STEP === 0) yield;
      this.add(name, key);
    }
  }

  private add(name: string, key: K): void {
    const entry: Entry<T> = {
      observed: this.initial,
      handle: this.start(name, key, (next) => {
        if (this.entries.get(name) !== entry) return;
        entry.observed = next(entry.observed);
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
  runInSlices?: RunInSlices,
): WatchSet<string, Observed<T>> {
  return new WatchSet<string, Observed<T>>(
    waiting,
    (name, _key, report) =>
      watch(name, {
        onResourceChanged: (update) =>
          report(() =>
            update.ok
              ? { kind: 'value', value: update.value, ambient: undefined }
              : { kind: 'error', error: update.error },
          ),
        onAmbientError: (ambient) =>
          report((before) =>
            before.kind === 'value' ? { kind: 'value', value: before.value, ambient } : before,
          ),
      }),
    onReport,
    runInSlices,
  );
}
