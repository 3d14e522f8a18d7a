import type { Bootstrap, SavedSnapshotConfig, ServerConfig } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/error-message';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/files/read-regular-file';
import { RefCountedMap } from '../../util/ref-counted-map';
import { err, ok, type Result } from '../../util/result';
import { runSteps, STEP_SIZE, type Steps } from '../../util/steps';
import { TimeSlices } from '../../util/time-slices';
import type { ResourceName } from '../resource-name';
import { describeElementLimit, type ElementLimit, type ResourceType } from '../resource-type';
import { decodeSnapshotInSteps, MAX_SNAPSHOT_BYTES, type SavedResource } from './snapshot-file';

/** Constructor options of the saved resources. */
export interface SavedResourcesOptions {
  readonly config: SavedSnapshotConfig;
  readonly bootstrap: Bootstrap;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A saved resource in use. */
export interface SavedValue {
  readonly value: unknown;
  readonly bytes: Uint8Array;
  /** Includes that the value is stale, and when it was saved. */
  readonly version: string;
  /** Milliseconds since the epoch at which it was decoded. */
  readonly updatedAtMs: number;
}

/** The resources that an earlier run saved. The file is read when the first of them is needed. */
export class SavedResources {
  /** Names the file in messages. */
  readonly description: string;
  private readonly files: RefCountedMap<SavedSnapshotConfig, SavedFile>;

  constructor(private readonly options: SavedResourcesOptions) {
    this.description = `saved snapshot ${options.config.path} (stale)`;
    const slices = new TimeSlices(options.clock);
    this.files = new RefCountedMap(
      () => new SavedFile(options, slices),
      (file) => file.close(),
    );
  }

  /** Acquires the content of the file. It stays in memory, as read first, until its last user has released it. */
  acquire(): Handle & { readonly value: SavedFile } {
    return this.files.acquire(this.options.config);
  }
}

/** The content of a snapshot file, which is read in steps. A resource is decoded once for all its watchers. */
export class SavedFile {
  /** By type URL and name; else why the file cannot be used. */
  private resources: Result<ReadonlyMap<string, SavedResource>, string> | undefined;
  private readonly reading: Handle;
  private readonly waiting = new Set<() => void>();
  private readonly decoded = new Map<string, Result<SavedValue, string>>();
  private readonly elements = new Map<ElementLimit, number>();
  private version = '';

  /** Begins to read the file. A small one has been read when this returns. */
  constructor(
    private readonly options: SavedResourcesOptions,
    slices: TimeSlices,
  ) {
    const batch = { run: (task: () => void) => task() };
    this.reading = slices.start({ batch, steps: this.readAndNotify() });
  }

  /** Whether the file has been read. */
  get isRead(): boolean {
    return this.resources !== undefined;
  }

  /** Calls a task when the file has been read. @returns a handle whose release drops the task. */
  whenRead(task: () => void): Handle {
    // Each task has a key of its own.
    const once = () => task();
    this.waiting.add(once);
    return createHandle(() => this.waiting.delete(once));
  }

  /** Ends the reading. */
  close(): void {
    this.reading.release();
    this.waiting.clear();
  }

  /**
   * Finds a resource and decodes it. The file must have been read.
   * @returns the value; `undefined` if the file does not have it; else why it cannot be used.
   */
  find(
    type: ResourceType<unknown>,
    { authority, canonical }: ResourceName,
  ): Result<SavedValue | undefined, string> {
    if (this.resources === undefined) return err('has not been read');
    if (!this.resources.ok) return this.resources;
    const key = keyOf(type.typeUrl, canonical);
    const resource = this.resources.value.get(key);
    if (resource === undefined) return ok(undefined);
    let decoded = this.decoded.get(key);
    if (decoded === undefined) {
      decoded = this.decode(type, resource, this.serverOf(authority));
      this.decoded.set(key, decoded);
    }
    return decoded;
  }

  private *readAndNotify(): Steps<void> {
    this.resources = yield* this.read();
    for (const task of this.waiting) task();
    this.waiting.clear();
  }

  private *read(): Steps<Result<ReadonlyMap<string, SavedResource>, string>> {
    const { config, logger } = this.options;
    const { path, identity } = config;
    const content = readRegularFile(path, { maxBytes: MAX_SNAPSHOT_BYTES, isPrivate: true });
    if (!content.ok) return content;
    const snapshot = yield* decodeSnapshotInSteps(content.value, identity);
    if (!snapshot.ok) return err(`the file ${snapshot.error}`);
    const { resources, savedAtMs } = snapshot.value;
    const byKey = new Map<string, SavedResource>();
    for (const each of resources) {
      byKey.set(keyOf(each.typeUrl, each.name), each);
      if (byKey.size % STEP_SIZE === 0) yield;
    }
    const savedAt = new Date(savedAtMs).toISOString();
    this.version = `stale, saved at ${savedAt}`;
    logger.info(() => `${resources.length} resources saved at ${savedAt} are used from ${path}`);
    return ok(byKey);
  }

  private decode(
    type: ResourceType<unknown>,
    { bytes }: SavedResource,
    server: ServerConfig,
  ): Result<SavedValue, string> {
    const { bootstrap, clock } = this.options;
    const { certificateProviders } = bootstrap;
    try {
      const context = { server, certificateProviders, previous: () => undefined };
      const { result } = runSteps(type.decode(bytes, context));
      if (!result.ok) return err(result.error.join('; '));
      const { value, fields = 0 } = result;
      const excess = this.count(type, value, fields);
      if (excess !== undefined) return err(excess);
      return ok({ value, bytes, version: this.version, updatedAtMs: clock.now() });
    } catch (error) {
      return err(`cannot be decoded: ${errorMessage(error)}`);
    }
  }

  /** @returns how the resource exceeds its limit, with the other resources in use; `undefined` if it does not. */
  private count(type: ResourceType<unknown>, value: unknown, fields: number): string | undefined {
    const { elementLimit: limit } = type;
    if (limit === undefined) return undefined;
    const total = (this.elements.get(limit) ?? 0) + type.countElements(value, fields);
    if (total > limit.max) {
      return `${total} ${limit.noun} ${describeElementLimit(limit)}`;
    }
    this.elements.set(limit, total);
    return undefined;
  }

  /**
   * Returns the server to decode a resource for: `lrs_server.self` means the first one of its authority. Which server
   * had sent the resource is not known, so it is not trusted (gRFC A81).
   */
  private serverOf(authority: string | undefined): ServerConfig {
    const { servers, authorities } = this.options.bootstrap;
    const named = authority === undefined ? undefined : authorities.get(authority);
    const [server] = named?.servers ?? servers;
    if (server === undefined) throw new Error('an authority has no server');
    const features = new Set(server.features);
    features.delete('trusted_xds_server');
    return { ...server, features };
  }
}

function keyOf(typeUrl: string, name: string): string {
  return `${typeUrl} ${name}`;
}
