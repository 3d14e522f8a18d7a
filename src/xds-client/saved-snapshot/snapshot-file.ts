import { createHash } from 'node:crypto';
import {
  DiscoveryResponse,
  Resource,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { Any } from '../../wire/generated/google/protobuf/any';
import { errorMessage } from '../../util/errors';
import { LIST_LIMIT, MAX_INPUT_BYTES, MAX_RESOURCES, MESSAGE_LIMIT } from '../../util/limits';
import { toIso, withSince } from '../../util/since';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { ReadBudget } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import type { Bootstrap, SavedSnapshotConfig, ServerConfig } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { readRegularFile } from '../../util/read-regular-file';
import { replaceFile } from '../../util/replace-file';
import { RefCountedMap, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { ResourceSnapshot } from '../client-snapshot';
import type { ResourceName } from '../resource-name';
import {
  decodeWhole,
  describeElementLimit,
  type ElementLimit,
  type ResourceType,
} from '../resource-type';

/** One resource as it was accepted. */
export interface SavedResource {
  readonly typeUrl: string;
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
}

/** The content of a file of saved resources. */
export interface SavedSnapshot {
  /** Identifies the node and the servers that sent them. */
  readonly identity: string;
  /** Milliseconds since the epoch. */
  readonly savedAtMs: number;
  readonly resources: readonly SavedResource[];
}

/** The number of `DiscoveryResponse.resources`. */
const RESOURCES = 2;

/** Bytes of the first line, which is shorter. */
const MAX_HEADER_BYTES = 1024;

// Changes with every change of the format that older versions would misread.
const FORMAT = 'grpc-xds-snapshot/1';
const WRAPPER_URL = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/**
 * Encodes a file: a line of text with the format, the identity, the time and a digest of the rest, and a
 * `DiscoveryResponse` with every resource in a `Resource` wrapper.
 */
export function encodeSnapshot({ identity, savedAtMs, resources }: SavedSnapshot): Buffer {
  const payload = DiscoveryResponse.encode({
    ...DiscoveryResponse.fromPartial({}),
    resources: resources.map(wrap),
  }).finish();
  const header = [FORMAT, identity, new Date(savedAtMs).toISOString(), digestOf(payload)].join(' ');
  return Buffer.concat([Buffer.from(`${header}\n`), payload]);
}

/**
 * Decodes a file.
 * @param identity The one that the file must have.
 * @returns the snapshot, or why it must not be used.
 */
export function decodeSnapshot(content: Buffer, identity: string): Result<SavedSnapshot, string> {
  const end = content.subarray(0, MAX_HEADER_BYTES).indexOf('\n');
  const header = content.toString('latin1', 0, Math.max(0, end));
  const [format, savedFor, savedAt = '', digest] = header.split(' ');
  if (end < 0 || format !== FORMAT) return err(`is not a snapshot of the form ${FORMAT}`);
  if (savedFor !== identity) return err('was saved for another node or other servers');
  const payload = content.subarray(end + 1);
  const savedAtMs = Date.parse(savedAt);
  if (digestOf(payload) !== digest || Number.isNaN(savedAtMs)) return err('is damaged');
  try {
    const resources: SavedResource[] = [];
    const scanner = new FieldScanner(payload, new ReadBudget(LIST_LIMIT));
    while (scanner.next()) {
      if (!scanner.isDelimited(RESOURCES)) continue;
      if (resources.length === MAX_RESOURCES) {
        return err(`has more than ${MAX_RESOURCES} resources`);
      }
      resources.push(unwrap(payload.subarray(scanner.start, scanner.end)));
    }
    return ok({ identity, savedAtMs, resources });
  } catch (error) {
    return err(`is damaged: ${errorMessage(error)}`);
  }
}

function wrap({ typeUrl, name, version, bytes }: SavedResource): Any {
  const wrapped = Resource.fromPartial({ name, version, resource: { typeUrl, value: bytes } });
  return { typeUrl: WRAPPER_URL, value: Resource.encode(wrapped).finish() };
}

function unwrap(bytes: Uint8Array): SavedResource {
  const budget = new ReadBudget(MESSAGE_LIMIT);
  const { value } = Any.decode(bytes, undefined, budget);
  const { name, version, resource } = Resource.decode(value, undefined, budget);
  if (resource === undefined) throw new Error('a wrapper contains no resource');
  return { typeUrl: resource.typeUrl, name, version, bytes: resource.value };
}

function digestOf(payload: Uint8Array): string {
  return createHash('sha256').update(payload).digest('hex');
}

/** Constructor options of a writer. */
export interface SnapshotWriterOptions {
  readonly config: SavedSnapshotConfig;
  /** The resources of the clients, each once. */
  readonly read: () => readonly ResourceSnapshot[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Writes a file. Default: the file system. */
  readonly write?: (path: string, content: Buffer) => Promise<void>;
}

/** Milliseconds from a change to its writing, together with later changes. */
const DELAY_MS = 1000;

/** The delay of a change after a file that took long to make is that time multiplied by this. */
const PAUSE_FACTOR = 20;

/** Milliseconds until a file that could not be written is tried again: each time twice as long, up to the second. */
const RETRY_MS = 5000;
const MAX_RETRY_MS = 60_000;

/**
 * Writes the file of the resources last accepted. Changes are written together, some time after the first, and never
 * two at a time. The file is replaced atomically. One that cannot be written, as when the disk is full, is tried again.
 */
export class SnapshotWriter {
  private timer: Handle | undefined;
  private isWriting = false;
  private isDirty = false;
  /** How long it took to make the last file. */
  private costMs = 0;
  private retryMs = RETRY_MS;
  /** The problem logged last, so that each is logged once, and when the first one since the last file was. */
  private problem: { readonly text: string; readonly sinceMs: number } | undefined;

  constructor(private readonly options: SnapshotWriterOptions) {}

  /** Handles that a resource was accepted. */
  changed(): void {
    if (this.isWriting) this.isDirty = true;
    else {
      const delayMs = Math.max(DELAY_MS, PAUSE_FACTOR * this.costMs);
      this.timer ??= this.options.clock.setTimer(() => this.save(), delayMs);
    }
  }

  private save(): void {
    this.timer = undefined;
    this.isDirty = false;
    const { config, read, clock, write = replaceFile } = this.options;
    const startMs = clock.monotonicMs();
    const resources = acceptedResources(read());
    if (resources.length === 0) return;
    if (resources.length > MAX_RESOURCES) {
      this.report(`${resources.length} resources are more than the ${MAX_RESOURCES} it may have`);
      return;
    }
    const content = encodeSnapshot({ ...config, savedAtMs: clock.now(), resources });
    this.costMs = clock.monotonicMs() - startMs;
    if (content.length > MAX_INPUT_BYTES) {
      this.report(`${content.length} bytes are more than the ${MAX_INPUT_BYTES} it may have`);
      return;
    }
    this.isWriting = true;
    write(config.path, content)
      .then(
        () => this.recover(),
        (error: unknown) => this.onWriteError(errorMessage(error)),
      )
      .finally(() => {
        this.isWriting = false;
        if (this.isDirty) this.changed();
      });
  }

  private onWriteError(reason: string): void {
    this.report(reason);
    this.timer ??= this.options.clock.setTimer(() => this.save(), this.retryMs);
    this.retryMs = Math.min(2 * this.retryMs, MAX_RETRY_MS);
  }

  private report(text: string): void {
    if (text === this.problem?.text) return;
    const { clock, config, logger } = this.options;
    const sinceMs = this.problem?.sinceMs ?? clock.now();
    this.problem = { text, sinceMs };
    const line = () =>
      withSince(`the resources in use cannot be saved in ${config.path}: ${text}`, sinceMs);
    logger.error(line, { event: 'snapshot-failed', error: text });
  }

  private recover(): void {
    this.retryMs = RETRY_MS;
    if (this.problem === undefined) return;
    const { config, logger } = this.options;
    const { sinceMs } = this.problem;
    this.problem = undefined;
    const line = () =>
      `the resources in use are saved in ${config.path} again, after failing since ${toIso(sinceMs)}`;
    logger.info(line, { event: 'snapshot-recovered' });
  }
}

function acceptedResources(resources: readonly ResourceSnapshot[]): SavedResource[] {
  const saved: SavedResource[] = [];
  for (const { typeUrl, name, accepted } of resources) {
    if (accepted === undefined) continue;
    saved.push({ typeUrl, name, version: accepted.version, bytes: accepted.bytes });
  }
  return saved;
}

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
    this.files = new RefCountedMap(
      () => new SavedFile(options),
      () => {},
    );
  }

  /** Acquires the content of the file. It stays in memory, as read first, until its last user has released it. */
  acquire(): Handle & { readonly value: SavedFile } {
    return this.files.acquire(this.options.config);
  }
}

/** A resource of a snapshot file: the value, `undefined` if the file does not have it, or why it cannot be used. */
export type FoundResource = Result<SavedValue | undefined, string>;

/** The content of a snapshot file, each resource of which is decoded once for all its watchers. */
export class SavedFile {
  /** The resources by type URL and name, or why the file cannot be used. */
  private readonly resources: Result<ReadonlyMap<string, SavedResource>, string>;
  private readonly decoded = new Map<string, Result<SavedValue, string>>();
  private readonly elements = new Map<ElementLimit, number>();
  private version = '';

  /** Reads the file. */
  constructor(private readonly options: SavedResourcesOptions) {
    this.resources = this.read();
  }

  /** Finds a resource and decodes it. */
  find(type: ResourceType<unknown>, { authority, canonical }: ResourceName): FoundResource {
    if (!this.resources.ok) return this.resources;
    const key = keyOf(type.typeUrl, canonical);
    const resource = this.resources.value.get(key);
    if (resource === undefined) return ok(undefined);
    const known = this.decoded.get(key);
    if (known !== undefined) return known;
    const decoded = this.decode(type, resource, this.serverOf(authority));
    this.decoded.set(key, decoded);
    return decoded;
  }

  private read(): Result<ReadonlyMap<string, SavedResource>, string> {
    const { config, logger } = this.options;
    const { path, identity } = config;
    const content = readRegularFile(path, { maxBytes: MAX_INPUT_BYTES, isPrivate: true });
    if (!content.ok) return content;
    const snapshot = decodeSnapshot(content.value, identity);
    if (!snapshot.ok) return err(`the file ${snapshot.error}`);
    const { resources, savedAtMs } = snapshot.value;
    const savedAt = new Date(savedAtMs).toISOString();
    this.version = `stale, saved at ${savedAt}`;
    logger.info(() => `${resources.length} resources saved at ${savedAt} are used from ${path}`);
    return ok(new Map(resources.map((each) => [keyOf(each.typeUrl, each.name), each])));
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
      const { result } = decodeWhole(type, bytes, context);
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
