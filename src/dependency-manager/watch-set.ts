import type { Handle } from '../util/handle';
import { runSteps, type Steps } from '../util/steps';
import type { ResourceType } from '../xds-client/resource-type';
import type { ResourceWatcher } from '../xds-client/resource-watcher';
import { waiting, type Observed } from './observations';
import { MAX_AT_ONCE } from './update-schedule';

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

/** The number of watches that are started in one step. */
const STEP = 64;

/** Runs steps in other turns of the event loop. @returns drops the steps that are left. */
export type RunInSlices = (steps: Steps<void>) => Handle;

/** The watches of one kind: starts the needed ones, releases the others, and keeps the last report of each. */
export class WatchSet<K, T> {
  private readonly entries = new Map<string, Entry<T>>();
  /** The names of the last `reconcile`. */
  private watched: NeededNames<K> | undefined;
  private kept: NeededNames<K> | undefined;
  /** Starts the watches that are needed and not started yet. */
  private starting: Handle | undefined;

  /**
   * @param initial The observation of a watch without a report.
   * @param start Begins a watch; `report` may be called at any time until the handle is released.
   * @param onReport Called after each report, with the name and the report before.
   * @param runInSlices Starts the watches when there are many; see `UpdateSchedule.runInSlices`. Default: however many
   * there are, they are started at once.
   */
  constructor(
    private readonly initial: T,
    private readonly start: (
      name: string,
      key: K,
      report: (next: (before: T) => T) => void,
    ) => Handle,
    private readonly onReport: (name: string, before: T) => void,
    private readonly runInSlices?: RunInSlices,
  ) {}

  /** Returns the last report of a name; `undefined` if it is not watched. */
  get(name: string): T | undefined {
    return this.entries.get(name)?.observed;
  }

  /**
   * Starts the missing watches and releases those that are not needed. Many watches are started in later turns of the
   * event loop, unless they are not needed any more by then.
   * @param needed Immutable: the same object again has no effect.
   * @param kept Names whose watches are not released, since the config is incomplete. Immutable.
   */
  reconcile(needed: NeededNames<K>, kept?: NeededNames<K>): void {
    if (needed === this.watched && kept === this.kept) return;
    this.watched = needed;
    this.kept = kept;
    this.starting?.release();
    this.starting = undefined;
    this.releaseOthers(needed, kept);
    const missing: (readonly [string, K])[] = [];
    for (const entry of needed.entries()) if (!this.entries.has(entry[0])) missing.push(entry);
    if (missing.length > MAX_AT_ONCE) this.starting = this.runInSlices?.(this.addInSteps(missing));
    if (this.starting === undefined) runSteps(this.addInSteps(missing));
  }

  /** Releases every watch. */
  clear(): void {
    for (const entry of this.entries.values()) entry.handle.release();
    this.entries.clear();
    this.watched = undefined;
    this.kept = undefined;
    this.starting?.release();
    this.starting = undefined;
  }

  private *addInSteps(missing: readonly (readonly [string, K])[]): Steps<void> {
    for (const [index, [name, key]] of missing.entries()) {
      if (index % STEP === STEP - 1) yield;
      this.add(name, key);
    }
  }

  private releaseOthers(needed: NeededNames<K>, kept: NeededNames<K> | undefined): void {
    for (const [name, entry] of this.entries) {
      if (needed.has(name) || kept?.has(name) === true) continue;
      this.entries.delete(name);
      entry.handle.release();
    }
  }

  private add(name: string, key: K): void {
    const entry: Entry<T> = {
      observed: this.initial,
      handle: this.start(name, key, (next) => {
        if (this.entries.get(name) !== entry) return;
        const before = entry.observed;
        entry.observed = next(before);
        this.onReport(name, before);
      }),
    };
    this.entries.set(name, entry);
  }
}

/** The source of resources: the used part of the XdsClient. */
export interface ResourceSource {
  /** Watches one resource. The watcher is never called before `watch` has returned, if called from `run`. */
  watch<T, C>(type: ResourceType<T, C>, name: string, watcher: ResourceWatcher<T, C>): Handle;
  /** Runs the task in the source's queue, after everything already in it. */
  run(task: () => void): void;
  /**
   * One line for each pending resource, and one with the number of those beyond `atMost`. Absent if the source has no
   * such list.
   */
  waitingFor?(atMost: number): readonly string[];
  /** Sends no requests and reads no responses until the handle is released. Absent if the source does neither. */
  holdRequests?(): Handle;
  /** See `XdsClient.receivedAtMs`. Absent if the source has no such time. */
  readonly receivedAtMs?: number | undefined;
  /**
   * Runs the task in the source's queue, once the response that is being applied is applied as a whole. Absent if the
   * source applies each in one task.
   */
  runWhenWhole?(task: () => void): void;
  /** Milliseconds since the current run of the queue began. Absent if the source does not measure it. */
  runMs?(): number;
}

/** Starts a watch of a resource of one type. */
export type WatchResource<T, C = unknown> = (
  name: string,
  watcher: ResourceWatcher<T, C>,
) => Handle;

/**
 * Creates the watches of resources of one type, which keep the last notification of each.
 * @param onReport Called after each notification, with the name and the notification before.
 */
export function createResourceWatches<T, C>(
  watch: WatchResource<T, C>,
  onReport: (name: string, before: Observed<T, C>) => void,
  runInSlices?: RunInSlices,
): WatchSet<string, Observed<T, C>> {
  return new WatchSet<string, Observed<T, C>>(
    waiting,
    (name, _key, report) =>
      watch(name, {
        onResourceChanged: (update, change) =>
          report(() =>
            update.ok
              ? { kind: 'value', value: update.value, ambient: undefined, change }
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
