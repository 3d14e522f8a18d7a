import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../../util/error-message';
import { watchFile, type FileWatchOptions } from '../../util/file-watch';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import type { ReadOptions, ResourceFile } from './file-resource';
import { isResourceFile, readResourceFile, resourceFileExtensions } from './read-resource-file';
import { mergeFiles, type ResourceContent } from './resource-content';

/** What watched resources need. */
export interface WatchedResourcesOptions extends ReadOptions {
  readonly logger: Logger;
  readonly watch?: FileWatchOptions;
  /** A larger file is not read. */
  readonly maxFileBytes: number;
  /** There is new content. */
  onChange(content: ResourceContent): void;
}

interface KnownFile {
  readonly digest: string;
  readonly file: Result<ResourceFile, readonly string[]>;
}

// A file that is no resource file at all has a mistake in every line.
const MAX_PROBLEMS = 5;

/**
 * The resources of a file, or of the files in a directory, which may be replaced at any time. What cannot be used
 * changes nothing: the last good content stays, until all of it is good again. Reading is synchronous and happens
 * when a stream is opened that has nothing to serve, and when something has changed.
 */
export class WatchedResources {
  private watch: Handle | undefined;
  private known: ReadonlyMap<string, KnownFile> = new Map();
  private current: ResourceContent | undefined;
  /** Why the last attempt to read failed. */
  private problem: string | undefined;

  constructor(
    private readonly path: string,
    private readonly options: WatchedResourcesOptions,
  ) {}

  /** The last good content, read now if there is none yet; or what keeps there from being any. */
  get(): Result<ResourceContent, string> {
    if (this.current === undefined) {
      // Before the first look, lest a change between the two be missed.
      this.watch ??= watchFile(this.path, () => this.reload(), this.options.watch);
      this.load();
    }
    return this.current === undefined ? err(this.problem ?? 'nothing read') : ok(this.current);
  }

  /** Ends the watch. */
  close(): void {
    this.watch?.release();
    this.watch = undefined;
  }

  private reload(): void {
    const { problem: problemBefore, current: before } = this;
    // Without content there is no stream to serve, and whoever opens one reads for itself and learns the problem.
    if (before === undefined) return;
    this.load();
    const { logger } = this.options;
    const { problem, current } = this;
    if (problem !== undefined && problem !== problemBefore) {
      logger.error(() => `${problem}; the resources read before stay in use`);
    }
    if (problem === undefined && problemBefore !== undefined) {
      logger.info(() => `${this.path} can be used again`);
    }
    if (current !== undefined && current !== before) this.options.onChange(current);
  }

  private load(): void {
    const content = this.readAll();
    if (content.ok) {
      this.current = content.value;
      this.problem = undefined;
      return;
    }
    const shown = content.error.slice(0, MAX_PROBLEMS);
    const left = content.error.length - shown.length;
    this.problem = left === 0 ? shown.join('; ') : `${shown.join('; ')}; and ${left} more`;
  }

  private readAll(): Result<ResourceContent, readonly string[]> {
    const listed = listFiles(this.path);
    if (!listed.ok) return err([listed.error]);
    const problems: string[] = [];
    const known = new Map<string, KnownFile>();
    const files = new Map<string, ResourceFile>();
    for (const path of listed.value) {
      const read = this.readFile(path);
      if (!read.ok) {
        problems.push(read.error);
        continue;
      }
      known.set(path, read.value);
      const { file } = read.value;
      if (file.ok) files.set(path, file.value);
      else problems.push(...file.error);
    }
    const isSame =
      known.size === this.known.size && [...known].every(([k, v]) => v === this.known.get(k));
    this.known = known;
    if (problems.length > 0) return err(problems);
    if (isSame && this.current !== undefined && this.problem === undefined) return ok(this.current);
    return mergeFiles(files);
  }

  /** Reads one file, or remembers what was in it. */
  private readFile(path: string): Result<KnownFile, string> {
    const content = readRegularFile(path, { maxBytes: this.options.maxFileBytes });
    if (!content.ok) return err(`${path}: cannot be read: ${content.error}`);
    const digest = createHash('sha256').update(content.value).digest('hex');
    const known = this.known.get(path);
    if (known?.digest === digest) return ok(known);
    return ok({ digest, file: readResourceFile(path, content.value, this.options) });
  }
}

/** The file, or the files in the directory in the order of the alphabet. What begins with a dot is left out. */
function listFiles(path: string): Result<readonly string[], string> {
  try {
    if (!statSync(path).isDirectory()) return ok([path]);
    const names = readdirSync(path).filter((name) => !name.startsWith('.') && isResourceFile(name));
    if (names.length > 0) return ok(names.sort().map((name) => join(path, name)));
  } catch (error) {
    return err(`${path}: cannot be read: ${errorMessage(error)}`);
  }
  // An empty directory is no empty configuration: it may be about to be filled.
  return err(`${path}: has no file that ends in ${resourceFileExtensions.join(', ')}`);
}
