import { createHash } from 'node:crypto';
import type { KubernetesObject } from './objects';
import { readObjectOf } from './read-objects';
import { toApiJson } from './write-objects';
import { MAX_OBJECT_BYTES, MAX_VALUES } from './api/api-limits';
import { parseBoundedJson } from '../../util/bounded-json';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { readRegularFile } from '../../util/read-regular-file';
import { replaceFile } from '../../util/replace-file';
import { err, ok, type Result } from '../../util/result';
import { withSince } from '../../util/since';
import { inSteps, runSteps, type Steps } from '../../util/steps';
import type { TimeSlices } from '../../util/time-slices';
import { valueAt } from '../../util/value-at';

/** A larger file is neither written nor read. */
const MAX_SAVED_BYTES = 256 * 1024 * 1024;

// Changes with every change of the format that older versions would misread.
const FORMAT = 'grpc-xds-kubernetes/1';
/** Bytes of the first line. */
const MAX_HEADER_BYTES = 4096;

/** The objects of a file. */
export interface SavedObjects {
  /** When they were saved, in ISO 8601. */
  readonly savedAt: string;
  readonly objects: readonly KubernetesObject[];
}

/**
 * Encodes a file: a line with the format, what was watched, the time and a digest of the rest, and a line for each object in
 * JSON, as the API has it.
 */
function* encodeObjects(
  identity: string,
  savedAt: string,
  objects: readonly KubernetesObject[],
): Steps<string> {
  const lines: string[] = [];
  const digest = createHash('sha256');
  yield* inSteps(
    objects,
    (object) => {
      const line = `${JSON.stringify(toApiJson(object))}\n`;
      digest.update(line);
      lines.push(line);
    },
    sizeOf,
  );
  const header = { format: FORMAT, identity, savedAt, digest: digest.digest('hex') };
  return [`${JSON.stringify(header)}\n`, ...lines].join('');
}

function sizeOf(object: KubernetesObject): number {
  return object.kind === 'EndpointSlice' ? 8 + 4 * object.endpoints.length : 8;
}

/**
 * Decodes a file in steps.
 * @param identity What is watched now; another one is an error.
 */
function* decodeObjects(content: Buffer, identity: string): Steps<Result<SavedObjects, string>> {
  const end = content.subarray(0, MAX_HEADER_BYTES).indexOf('\n');
  const header = readJson(content.toString('utf8', 0, Math.max(end, 0)));
  if (end < 0 || valueAt(header, 'format') !== FORMAT) return err(`is not of the form ${FORMAT}`);
  if (valueAt(header, 'identity') !== identity) {
    return err('was saved of another API server or other namespaces');
  }
  const lines = content.subarray(end + 1);
  const digest = createHash('sha256').update(lines).digest('hex');
  const savedAt = valueAt(header, 'savedAt');
  if (digest !== valueAt(header, 'digest') || typeof savedAt !== 'string') {
    return err('is damaged');
  }
  const objects: KubernetesObject[] = [];
  yield* inSteps(linesOf(lines), (line) => {
    const object = readObject(readJson(line));
    if (object !== undefined) objects.push(object);
  });
  return ok({ savedAt, objects });
}

function* linesOf(content: Buffer): IterableIterator<string> {
  let start = 0;
  for (let end = content.indexOf('\n'); end >= 0; end = content.indexOf('\n', start)) {
    if (end - start <= MAX_OBJECT_BYTES) yield content.toString('utf8', start, end);
    start = end + 1;
  }
}

function readJson(text: string): unknown {
  try {
    return parseBoundedJson(text, { maxLength: Infinity, maxValues: MAX_VALUES });
  } catch {
    return undefined;
  }
}

const KINDS = ['Service', 'EndpointSlice', 'Node', 'GRPCRoute', 'ReferenceGrant'] as const;

/** @returns `undefined` for one that cannot be read, such as one of a later version. */
function readObject(json: unknown): KubernetesObject | undefined {
  const kind = KINDS.find((each) => each === valueAt(json, 'kind'));
  if (kind === undefined) return undefined;
  const object = readObjectOf(kind, json);
  return object.ok && object.value.kind !== 'Namespace' ? object.value : undefined;
}

/** Milliseconds from a change to its writing, together with later changes. */
const DELAY_MS = 10_000;
/** Milliseconds until a file that could not be written is tried again. */
const RETRY_MS = 60_000;

export interface ObjectFileOptions {
  readonly path: string;
  /** What is watched: the API server and the namespaces. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeSlices: TimeSlices;
}

/** The file from which a process starts while the API server is away. */
export class ObjectFile {
  private timer: Handle | undefined;
  private isWriting = false;
  private isStopped = false;
  /** The objects that are to be written when the file that is being written is. */
  private next: (() => Iterable<KubernetesObject>) | undefined;
  private problem: { readonly text: string; readonly sinceMs: number } | undefined;

  constructor(private readonly options: ObjectFileOptions) {}

  /** Reads the file. @returns undefined if there is none, or after logging why it is not used. */
  load(): SavedObjects | undefined {
    const { path, identity, logger } = this.options;
    const content = readRegularFile(path, { maxBytes: MAX_SAVED_BYTES, isPrivate: true });
    if (!content.ok && content.error.includes('ENOENT')) return undefined;
    const saved = content.ok ? runSteps(decodeObjects(content.value, identity)) : content;
    if (saved.ok) return saved.value;
    const { error } = saved;
    logger.error(() => `kubernetes: the saved objects of ${path} are not used: ${error}`, {
      ...{ event: 'snapshot-failed', error },
    });
    return undefined;
  }

  /** Writes the objects some time from now, as they are then. */
  save(read: () => Iterable<KubernetesObject>): void {
    if (this.isWriting) this.next = read;
    else this.timer ??= this.options.clock.setTimer(() => this.write(read), DELAY_MS);
  }

  stop(): void {
    this.isStopped = true;
    this.timer?.release();
  }

  private write(read: () => Iterable<KubernetesObject>): void {
    const { clock, timeSlices } = this.options;
    this.timer = undefined;
    this.isWriting = true;
    const steps = this.encode(new Date(clock.now()).toISOString(), [...read()], read);
    timeSlices.startLater({ batch: { run: (task) => task() }, steps });
  }

  private *encode(
    savedAt: string,
    objects: readonly KubernetesObject[],
    read: () => Iterable<KubernetesObject>,
  ): Steps<void> {
    const { identity, path } = this.options;
    const content = yield* encodeObjects(identity, savedAt, objects);
    const isTooLarge = content.length > MAX_SAVED_BYTES;
    const written = isTooLarge
      ? Promise.reject(new Error(`${content.length} bytes, more than ${MAX_SAVED_BYTES}`))
      : replaceFile(path, content);
    written.then(
      () => this.onWritten(),
      (error: unknown) => this.onError(errorMessage(error), read),
    );
  }

  private onWritten(): void {
    const { path, logger } = this.options;
    if (this.problem !== undefined) {
      logger.info(() => `kubernetes: objects are saved in ${path} again`, {
        event: 'snapshot-recovered',
      });
    }
    this.problem = undefined;
    this.endWriting();
  }

  private onError(text: string, read: () => Iterable<KubernetesObject>): void {
    const { path, clock, logger } = this.options;
    if (this.problem?.text !== text) {
      const sinceMs = this.problem?.sinceMs ?? clock.now();
      this.problem = { text, sinceMs };
      const line = () =>
        withSince(`kubernetes: objects cannot be saved in ${path}: ${text}`, sinceMs);
      logger.error(line, { event: 'snapshot-failed', error: text });
    }
    if (!this.isStopped)
      this.timer ??= clock.setTimer(() => this.write(this.next ?? read), RETRY_MS);
    this.endWriting();
  }

  private endWriting(): void {
    const { next } = this;
    this.isWriting = false;
    this.next = undefined;
    if (next !== undefined && !this.isStopped) this.save(next);
  }
}
