import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/error-message';
import { listDirectory, watchFile, type FileWatchOptions } from '../../util/files/file-watch';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/files/read-regular-file';
import { err, ok, type Result } from '../../util/result';
import { StatusCode } from '../../util/status-code';
import type { XdsStream, XdsStreamHandler, XdsTransport } from '../../xds-client/transport';
import { isServedWithoutGrpc } from '../served-methods';
import {
  mergeFiles,
  type ReadOptions,
  type ResourceContent,
  type ResourceFile,
} from './file-resource';
import { FileStream } from './file-stream';
import { isResourceFile, readResourceFile, resourceFileExtensions } from './read-resource-file';

/** Options of a file transport. */
export interface FileTransportOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** How changes are detected. */
  readonly watch?: FileWatchOptions;
  /** A file is one message. Default: the limits of an application that sets none. */
  readonly limits?: Pick<Limits, 'maxMessageBytes'>;
}

/**
 * Creates the transport of a resource file, or of a directory of such files, that takes the place of a management
 * server: the filesystem subscriptions of the xDS protocol, behind the interface of a connection.
 *
 * @returns the transport, or why the URI is not one of a file.
 */
export function createFileTransport(
  { serverUri, fetch }: ServerConfig,
  options: FileTransportOptions,
): Result<XdsTransport, string> {
  try {
    const path = fileURLToPath(serverUri);
    return ok(new FileTransport(path, fetch?.ignoreUnknownFields ?? false, options));
  } catch (error) {
    return err(errorMessage(error));
  }
}

class FileTransport implements XdsTransport {
  private readonly resources: WatchedResources;
  private readonly streams = new Set<FileStream>();

  constructor(
    private readonly path: string,
    ignoreUnknownFields: boolean,
    private readonly options: FileTransportOptions,
  ) {
    const { clock, logger, watch, limits = DEFAULT_LIMITS } = options;
    this.resources = new WatchedResources(path, {
      ignoreUnknownFields,
      logger,
      maxFileBytes: limits.maxMessageBytes,
      watch: { clock, ...watch },
      onChange: (content) => {
        for (const stream of this.streams) stream.update(content);
      },
    });
  }

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    const { clock, logger } = this.options;
    const onEnd = (ended: FileStream) => this.streams.delete(ended);
    const stream = new FileStream({ path: this.path, handler, clock, logger, onEnd });
    this.streams.add(stream);
    if (!isServedWithoutGrpc(method)) {
      stream.fail(StatusCode.UNIMPLEMENTED, `a file does not serve ${method}`);
      return stream;
    }
    const content = this.resources.get();
    if (content.ok) stream.update(content.value);
    else stream.fail(StatusCode.UNAVAILABLE, content.error);
    return stream;
  }

  close(): void {
    for (const stream of this.streams) stream.close();
    this.resources.close();
  }
}

/** Constructor options of watched resources. */
interface WatchedResourcesOptions extends ReadOptions {
  readonly logger: Logger;
  readonly watch?: FileWatchOptions;
  /** A larger file is not read. */
  readonly maxFileBytes: number;
  /** Called when there is new content. */
  onChange(content: ResourceContent): void;
}

interface KnownFile {
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly file: Result<ResourceFile, readonly string[]>;
}

// A file of another kind has a mistake in every line.
const MAX_PROBLEMS = 5;

/**
 * The resources of a file, or of the files in a directory, which may be replaced at any time. The last valid content
 * stays in use until all of the files are valid again. Files are read synchronously: when a stream is opened before
 * there is content, and when a file has changed.
 */
class WatchedResources {
  private watch: Handle | undefined;
  private known: ReadonlyMap<string, KnownFile> = new Map();
  private current: ResourceContent | undefined;
  /** Why the last attempt to read failed. */
  private problem: string | undefined;

  constructor(
    private readonly path: string,
    private readonly options: WatchedResourcesOptions,
  ) {}

  /** Returns the last valid content, which is read now if there is none; or why there is none. */
  get(): Result<ResourceContent, string> {
    if (this.current === undefined) {
      // Started before the first read, so that no change between the two is missed.
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
    // Without content there is no open stream. The next one reads the files, and fails with the problem.
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
