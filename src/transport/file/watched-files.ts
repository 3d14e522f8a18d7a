import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { listDirectory, watchFile, type FileWatchOptions } from '../../util/file-watch';
import { readRegularFile } from '../../util/read-regular-file';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import {
  identifyResource,
  mergeFiles,
  type FileResource,
  type ReadOptions,
  type ResourceContent,
  type ResourceFile,
} from './file-resource';
import { DiscoveryResponse } from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { lazy } from '../../util/lazy';
import type * as TextReading from './read-text-file';
import { listFirst } from '../../util/text';

/** Constructor options of watched files. */
interface WatchedFilesOptions extends ReadOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How changes are detected. */
  readonly watch: FileWatchOptions | undefined;
  /** A larger file is not read. */
  readonly maxFileBytes: number;
  /** Called when there is new content. */
  onChange(content: ResourceContent): void;
  /** Called with the reason when files were read for which there is no earlier content, and cannot be used. */
  onFailure(reason: string): void;
}

interface KnownFile {
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly file: Result<ResourceFile, readonly string[]>;
}

// A file of another kind has a mistake in every line.

/**
 * The resources of a file, or of the files in a directory, which may be replaced at any time. The last valid content
 * stays in use until all of the files are valid again. Files are read in one go, however large the operator makes them: some
 * microseconds for each value in JSON, ten times as long in YAML.
 */
export class WatchedFiles {
  private watch: Handle | undefined;
  private known: ReadonlyMap<string, KnownFile> = new Map();
  private current: ResourceContent | undefined;
  /** Why the last attempt to read failed. */
  private problem: string | undefined;

  constructor(
    private readonly path: string,
    private readonly options: WatchedFilesOptions,
  ) {}

  /** The last valid content. */
  get content(): ResourceContent | undefined {
    return this.current;
  }

  /** Reads the files, unless there is content. */
  load(): void {
    if (this.current !== undefined) return;
    const { watch, clock } = this.options;
    // Started before the first read, so that no change between the two is missed.
    this.watch ??= watchFile(this.path, () => this.reload(), { clock, ...watch });
    this.apply(this.readAll());
  }

  /** Ends the watch. */
  close(): void {
    this.watch?.release();
    this.watch = undefined;
  }

  /** Without content there is no open stream. The next one reads the files, and fails with the problem. */
  private reload(): void {
    if (this.current !== undefined) this.apply(this.readAll());
  }

  private apply(content: Result<ResourceContent, readonly string[]>): void {
    const { problem: problemBefore, current: before } = this;
    const { logger } = this.options;
    if (content.ok) {
      this.current = content.value;
      this.problem = undefined;
      if (problemBefore !== undefined && before !== undefined) {
        logger.info(() => `${this.path} can be used again`, { event: 'recovered' });
      }
      if (content.value !== before) this.options.onChange(content.value);
      return;
    }
    const problem = summarize(content.error);
    this.problem = problem;
    if (before === undefined) this.options.onFailure(problem);
    else if (problem !== problemBefore) {
      logger.error(() => `${problem}; the resources read before stay in use`);
    }
  }

  private readAll(): Result<ResourceContent, readonly string[]> {
    const listed = listFiles(this.path);
    if (!listed.ok) return err([listed.error]);
    const problems: string[] = [];
    const known = new Map<string, KnownFile>();
    let leftBytes = this.options.maxFileBytes;
    const files = new Map<string, ResourceFile>();
    for (const path of listed.value) {
      const read = this.readFile(path, leftBytes);
      if (!read.ok) {
        problems.push(read.error);
        continue;
      }
      leftBytes -= read.value.size;
      known.set(path, read.value);
      const { file } = read.value;
      if (file.ok) files.set(path, file.value);
      else for (const problem of file.error) problems.push(problem);
    }
    const isSame =
      known.size === this.known.size && [...known].every(([k, v]) => v === this.known.get(k));
    this.known = known;
    if (problems.length > 0) return err(problems);
    if (isSame && this.current !== undefined && this.problem === undefined) return ok(this.current);
    return mergeFiles(files);
  }

  /** Reads one file. It is parsed only if its content has changed. */
  private readFile(path: string, leftBytes: number): Result<KnownFile, string> {
    const { maxFileBytes } = this.options;
    const content = readRegularFile(path, { maxBytes: maxFileBytes });
    if (content.ok && content.value.length > leftBytes) {
      return err(`${path}: with the files before it, more than ${maxFileBytes} bytes`);
    }
    if (!content.ok) return err(`${path}: cannot be read: ${content.error}`);
    const digest = createHash('sha256').update(content.value).digest('hex');
    const known = this.known.get(path);
    if (known?.digest === digest) return ok(known);
    const size = content.value.length;
    return ok({ digest, size, file: readResourceFile(path, content.value, this.options) });
  }
}

function summarize(problems: readonly string[]): string {
  return listFirst(problems).join('; ');
}

/** Lists the file, or the files in the directory, alphabetically. Names that begin with a dot are left out. */
function listFiles(path: string): Result<readonly string[], string> {
  try {
    if (!statSync(path).isDirectory()) return ok([path]);
    const names = listDirectory(path).filter(
      (name) => !name.startsWith('.') && isResourceFile(name),
    );
    if (names.length > 0) return ok(names.sort().map((name) => join(path, name)));
  } catch (error) {
    return err(`${path}: cannot be read: ${errorMessage(error)}`);
  }
  // An empty directory is not an empty configuration: it may be about to be filled.
  return err(`${path}: has no file that ends in ${resourceFileExtensions.join(', ')}`);
}

/** Loads the reader of text late: the schema is large, and binary files do not need it. */
const loadTextReader = lazy<typeof TextReading>(() => require('./read-text-file'));

/** The extensions of resource files. */
const resourceFileExtensions = ['.json', '.yaml', '.yml', '.pb', '.binpb'] as const;

/** Returns whether a file is a resource file, by its name. */
function isResourceFile(path: string): boolean {
  const extension = extname(path);
  return resourceFileExtensions.some((each) => each === extension);
}

/**
 * Parses a resource file: a `DiscoveryResponse`, in which the resources may be of several types, in JSON, YAML or
 * binary, by the extension of the file.
 *
 * @returns the resources, or every mistake, with the path and, in text, the line and column.
 */
export function readResourceFile(
  path: string,
  content: Buffer,
  options: ReadOptions,
): Result<ResourceFile, readonly string[]> {
  switch (extname(path)) {
    case '.json':
      return loadTextReader().readTextFile(path, content.toString('utf8'), 'json', options);
    case '.yaml':
    case '.yml':
      return loadTextReader().readTextFile(path, content.toString('utf8'), 'yaml', options);
    case '.pb':
    case '.binpb':
      return readBinary(path, content);
    default:
      return err([`${path}: its name must end in ${resourceFileExtensions.join(', ')}`]);
  }
}

function readBinary(path: string, content: Buffer): Result<ResourceFile, readonly string[]> {
  let response: DiscoveryResponse;
  try {
    response = DiscoveryResponse.decode(content);
  } catch (error) {
    return err([`${path}: not a DiscoveryResponse: ${errorMessage(error)}`]);
  }
  const resources: FileResource[] = [];
  const problems: string[] = [];
  for (const [index, item] of response.resources.entries()) {
    const resource = identifyResource(item);
    if (resource.ok) resources.push(resource.value);
    else problems.push(`${path}: resources[${index}]: ${resource.error}`);
  }
  if (problems.length > 0) return err(problems);
  return ok({ version: response.versionInfo || undefined, resources });
}
