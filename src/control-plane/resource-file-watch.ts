import type { Handle } from '../util/handle';
import { watchFile, type FileWatchOptions } from '../util/file-watch';
import {
  parseResourceFile,
  readText,
  type ResourceFileError,
  type ResourceFileOptions,
} from './resource-file';
import type { Snapshot } from './snapshot';

/** Told what becomes of a watched resource file. */
export interface ResourceFileListener {
  /** The file is good; also called when it is good again after an error. */
  onSnapshot(snapshot: Snapshot): void;
  /** The file is bad or gone. The last snapshot is still the one to use. */
  onError(error: ResourceFileError): void;
}

/**
 * Loads a resource file at once, before it returns, and again whenever it changes. A change that
 * leaves the text the same is not reported.
 *
 * @returns a handle that ends the watch.
 */
export function watchResourceFile(
  path: string,
  listener: ResourceFileListener,
  options: ResourceFileOptions & FileWatchOptions = {},
): Handle {
  const loader = new Loader(path, listener, options);
  // Watch first: a change while the file is being loaded must not be missed.
  const watch = watchFile(path, () => loader.load(), options);
  loader.load();
  return watch;
}

class Loader {
  private snapshot: Snapshot | undefined;
  /** What the last load saw: the text of the file, or why there was none. */
  private seen: string | undefined;

  constructor(
    private readonly path: string,
    private readonly listener: ResourceFileListener,
    private readonly options: ResourceFileOptions,
  ) {}

  load(): void {
    const text = readText(this.path);
    const seen = text.ok ? `text ${text.value}` : `error ${text.error.message}`;
    if (seen === this.seen) return;
    this.seen = seen;
    const snapshot = text.ok
      ? parseResourceFile(text.value, this.path, this.options, this.snapshot)
      : text;
    if (snapshot.ok) {
      this.snapshot = snapshot.value;
      this.listener.onSnapshot(snapshot.value);
    } else {
      this.listener.onError(snapshot.error);
    }
  }
}
