import { opendirSync, statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemClock, type Clock } from './clock';
import { createHandle, type Handle } from './handle';
import { MAX_DIRECTORY_ENTRIES } from './limits';

/** Options of `watchFile`. */
export interface FileWatchOptions {
  /** Delay of the notification after the last event, in milliseconds. Default 100. */
  readonly debounceMs?: number | undefined;
  /** Interval of polls for file systems without events, in milliseconds. Default 1000. */
  readonly pollMs?: number | undefined;
  /** Default: the real time. */
  readonly clock?: Clock | undefined;
}

/**
 * Calls `onChange` after the file, or a file in the directory, was written, replaced, removed or created. Watches the
 * directory, because a watch on the file ends when an editor replaces it, and also polls, because some file systems
 * have no events. May call without a change. Does not keep the process alive.
 */
export function watchFile(
  path: string,
  onChange: () => void,
  options: FileWatchOptions = {},
): Handle {
  const watching = new FileWatch(path, onChange, options);
  return createHandle(() => watching.end());
}

/** Maximum delay of a change by further events, in multiples of the debounce delay. */
const MAX_RESTLESS = 10;

/** The pause after a notification that took long is its time multiplied by this, at most {@link MAX_PAUSE_MS}. */
const PAUSE_FACTOR = 4;
const MAX_PAUSE_MS = 10_000;

/**
 * Lists the names in a directory, without reading more of it than {@link MAX_DIRECTORY_ENTRIES}.
 *
 * @throws if it has more entries, or cannot be read.
 */
export function listDirectory(path: string): string[] {
  const names: string[] = [];
  const directory = opendirSync(path);
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      if (names.length === MAX_DIRECTORY_ENTRIES) {
        throw new Error(`more than ${MAX_DIRECTORY_ENTRIES} entries in the directory`);
      }
      names.push(entry.name);
    }
  } finally {
    directory.closeSync();
  }
  return names;
}

/** The link that Kubernetes replaces when a mounted ConfigMap changes; the files themselves stay. */
const kubernetesLink = '..data';

class FileWatch {
  private readonly clock: Clock;
  private readonly debounceMs: number;
  private readonly pollMs: number;
  private readonly watcher: FSWatcher | undefined;
  private fingerprint: string;
  private poll: Handle;
  private pending: Handle | undefined;
  /** Time of the first event of `pending`, on the monotonic clock. */
  private restlessSinceMs: number | undefined;
  /** No notification before this, on the monotonic clock. */
  private pauseEndMs = -Infinity;

  constructor(
    private readonly path: string,
    private readonly onChange: () => void,
    { debounceMs = 100, pollMs = 1000, clock = systemClock }: FileWatchOptions,
  ) {
    this.clock = clock;
    this.debounceMs = debounceMs;
    this.pollMs = pollMs;
    this.fingerprint = fingerprintOf(path);
    this.watcher = this.watchDirectory();
    this.poll = this.schedulePoll();
  }

  end(): void {
    this.watcher?.close();
    this.poll.release();
    this.pending?.release();
  }

  /** Watches the directory; without a watcher, polling finds the changes. */
  private watchDirectory(): FSWatcher | undefined {
    const names = new Set<string | null>([basename(this.path), kubernetesLink, null]);
    try {
      const isFolder = isDirectory(this.path);
      const folder = isFolder ? this.path : dirname(this.path);
      const watcher = watch(folder, { persistent: false }, (_kind, name) => {
        if (isFolder || names.has(name)) this.debounce();
      });
      // Deno does not know `persistent`.
      watcher.unref();
      watcher.on('error', () => watcher.close());
      return watcher;
    } catch {
      return undefined;
    }
  }

  private schedulePoll(): Handle {
    return this.clock.setTimer(() => {
      this.poll = this.schedulePoll();
      const fingerprint = fingerprintOf(this.path);
      if (fingerprint === this.fingerprint) return;
      this.fingerprint = fingerprint;
      this.debounce();
    }, this.pollMs);
  }

  private debounce(): void {
    const nowMs = this.clock.monotonicMs();
    this.restlessSinceMs ??= nowMs;
    // Another file that is written all the time must not delay the notification forever.
    if (nowMs - this.restlessSinceMs > MAX_RESTLESS * this.debounceMs) return;
    this.pending?.release();
    const delayMs = Math.max(this.debounceMs, this.pauseEndMs - nowMs);
    this.pending = this.clock.setTimer(() => this.notify(), delayMs);
  }

  private notify(): void {
    this.restlessSinceMs = undefined;
    const startMs = this.clock.monotonicMs();
    this.onChange();
    const endMs = this.clock.monotonicMs();
    this.pauseEndMs = endMs + Math.min(MAX_PAUSE_MS, PAUSE_FACTOR * (endMs - startMs));
  }
}

/** Returns a text that changes with the file, or a file in the directory; empty if it cannot be read. Follows links. */
function fingerprintOf(path: string): string {
  try {
    const stats = statSync(path);
    const own = `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
    if (!stats.isDirectory()) return own;
    const files = listDirectory(path).map(
      (name) => `${name} ${fingerprintOfEntry(join(path, name))}`,
    );
    return [own, ...files].join('\n');
  } catch {
    // The reader of the file reports the error.
    return '';
  }
}

function fingerprintOfEntry(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
