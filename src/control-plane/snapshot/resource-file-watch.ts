import { contained } from '../../util/contained';
import { errorStack } from '../../util/error-message';
import { watchFile, type FileWatchOptions } from '../../util/files/file-watch';
import type { Handle } from '../../util/handle';
import { containLogger, silentLogger, type Logger } from '../../util/logger';
import {
  parseContent,
  readText,
  type ResourceFileContent,
  type ResourceFileError,
  type ResourceFileOptions,
} from './resource-file';
import { Snapshot } from './snapshot';

/** Notified of changes to a watched resource file. What its methods throw is logged, and changes nothing else. */
export interface ResourceFileListener {
  /** The file is valid; also called if it is valid again after an error. */
  onSnapshot(snapshot: Snapshot, content: ResourceFileContent): void;
  /** The file is invalid or missing. The last snapshot stays in use. */
  onError(error: ResourceFileError): void;
}

/** The options of `watchResourceFile`. */
export interface ResourceFileWatchOptions extends ResourceFileOptions, FileWatchOptions {
  /** Receives what the listener throws. Default: nothing is logged. */
  readonly logger?: Logger | undefined;
}

/**
 * Loads a resource file synchronously, and again whenever its text changes.
 *
 * @returns a handle whose `release()` ends the watch.
 */
export function watchResourceFile(
  path: string,
  listener: ResourceFileListener,
  options: ResourceFileWatchOptions = {},
): Handle {
  const logger = containLogger(options.logger ?? silentLogger);
  const loader = new Loader(path, containListener(listener, path, logger), options);
  // The watch starts first, so that a change during the load is not missed.
  const watch = watchFile(path, () => loader.load(), options);
  loader.load();
  return watch;
}

/** Returns a listener that does not throw: it is called in a timer, where an exception would end the process. */
function containListener(
  listener: ResourceFileListener,
  path: string,
  logger: Logger,
): ResourceFileListener {
  const log = (name: string) => (error: unknown) =>
    logger.error(() => `resource file ${path}: ${name} threw: ${errorStack(error)}`);
  return {
    onSnapshot: contained((...args) => listener.onSnapshot(...args), log('onSnapshot')),
    onError: contained((error) => listener.onError(error), log('onError')),
  };
}

class Loader {
  private snapshot = Snapshot.empty;
  /** The text or the read error of the last load. */
  private lastRead: string | undefined;

  constructor(
    private readonly path: string,
    private readonly listener: ResourceFileListener,
    private readonly options: ResourceFileOptions,
  ) {}

  load(): void {
    const text = readText(this.path);
    const read = text.ok ? `text ${text.value}` : `error ${text.error.message}`;
    if (read === this.lastRead) return;
    this.lastRead = read;
    const content = text.ok
      ? parseContent(text.value, this.path, this.options, this.snapshot)
      : text;
    if (content.ok) {
      this.snapshot = content.value.snapshot;
      this.listener.onSnapshot(this.snapshot, content.value);
    } else {
      this.listener.onError(content.error);
    }
  }
}
