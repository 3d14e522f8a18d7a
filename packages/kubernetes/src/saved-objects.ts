import { createHash } from 'node:crypto';
import type { KubernetesObject } from './objects';
import { readObjectOf } from './read-objects';
import { toApiJson } from './write-objects';
import { MAX_OBJECT_BYTES, MAX_VALUES } from './api/api-limits';
import { parseBoundedJson } from '../../../src/util/bounded-json';
import type { Clock } from '../../../src/util/clock';
import { errorMessage } from '../../../src/util/errors';
import type { Handle } from '../../../src/util/handle';
import type { Logger } from '../../../src/util/logger';
import { readRegularFile } from '../../../src/util/read-regular-file';
import { replaceFile } from '../../../src/util/replace-file';
import { err, ok, type Result } from '../../../src/util/result';
import { withSince } from '../../../src/util/since';
import type { Steps } from '../../../src/util/time-slices';
import { inSteps, runSteps } from './steps';
import { sanitizeText } from '../../../src/util/text';
import type { TimeSlices } from '../../../src/util/time-slices';
import { valueAt } from '../../../src/util/value-at';

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
  const problems: string[] = [];
  let number = 1;
  yield* inSteps(linesOf(lines), (line) => {
    const object = readObject(line);
    number++;
    if (!object.ok) problems.push(`line ${number} ${object.error}`);
    else if (object.value !== undefined) objects.push(object.value);
  });
  const [problem] = problems;
  // Without one of them, clients would be notified that it does not exist.
  return problem === undefined ? ok({ savedAt, objects }) : err(problem);
}

function* linesOf(content: Buffer): IterableIterator<Buffer> {
  let start = 0;
  for (let end = content.indexOf('\n'); end >= 0; end = content.indexOf('\n', start)) {
    yield content.subarray(start, end);
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

/** @returns undefined for one of a kind that only a later version reads. */
function readObject(line: Buffer): Result<KubernetesObject | undefined, string> {
  if (line.length > MAX_OBJECT_BYTES) return err(`has more than ${MAX_OBJECT_BYTES} bytes`);
  const json = readJson(line.toString('utf8'));
  if (json === undefined) return err('is no JSON');
  const kind = KINDS.find((each) => each === valueAt(json, 'kind'));
  if (kind === undefined) return ok(undefined);
  const object = readObjectOf(kind, json);
  if (object.ok) return ok(object.value.kind === 'Namespace' ? undefined : object.value);
  const { key = '?', violations } = object.error;
  return err(sanitizeText(`has the ${kind} ${key}, which cannot be read: ${violations[0] ?? ''}`));
}

/** Milliseconds from the first list to its writing: clients that wait are served before. */
const FIRST_DELAY_MS = 1000;
/** Milliseconds from a change to its writing, together with later changes. */
const DELAY_MS = 10_000;
/** Milliseconds until a file that could not be written is tried again. */
const RETRY_MS = 60_000;

export interface ObjectFileOptions {
  readonly path: string;
  /** What is watched: the API server and the namespaces. */
  readonly identity: string;
  /** Returns the objects as they are. */
  readonly read: () => Iterable<KubernetesObject>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timeSlices: TimeSlices;
}

/** The file from which a process starts while the API server is away. */
export class ObjectFile {
  private timer: Handle | undefined;
  private encoding: Handle | undefined;
  /** Resolves when the file that is being written is, or cannot be. */
  private writing: Promise<void> | undefined;
  /** Milliseconds from a change to its writing. */
  private delayMs = FIRST_DELAY_MS;
  /** Whether the objects have changed since they were last read to be written. */
  private isChanged = false;
  private isStopped = false;
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
      event: 'snapshot-failed',
      error,
    });
    return undefined;
  }

  /** Writes the objects, which have changed, some time from now, as they are then. */
  save(): void {
    this.isChanged = true;
    this.writeLater(this.delayMs);
  }

  /** Writes what has changed since it was written, and then nothing more. @returns a promise that is not rejected. */
  async stop(): Promise<void> {
    const isUnwritten = this.isChanged || this.encoding !== undefined;
    this.isStopped = true;
    this.timer?.release();
    this.encoding?.release();
    await this.writing;
    if (isUnwritten) runSteps(this.write());
    await this.writing;
  }

  private writeLater(delayMs: number): void {
    const { timer, encoding, writing, isStopped } = this;
    if (isStopped || (timer ?? encoding ?? writing) !== undefined) return;
    const { clock, timeSlices } = this.options;
    this.timer = clock.setTimer(() => {
      this.timer = undefined;
      const batch = { run: (task: () => void) => task() };
      this.encoding = timeSlices.startLater({ batch, steps: this.write() });
    }, delayMs);
  }

  private *write(): Steps<void> {
    const { identity, path, clock, read } = this.options;
    this.isChanged = false;
    this.delayMs = DELAY_MS;
    const savedAt = new Date(clock.now()).toISOString();
    const content = yield* encodeObjects(identity, savedAt, [...read()]);
    this.encoding = undefined;
    const isTooLarge = content.length > MAX_SAVED_BYTES;
    const written = isTooLarge
      ? Promise.reject(new Error(`${content.length} bytes, more than ${MAX_SAVED_BYTES}`))
      : replaceFile(path, content);
    this.writing = written.then(
      () => this.onWritten(),
      (error: unknown) => this.onError(errorMessage(error)),
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
    this.writing = undefined;
    if (this.isChanged) this.writeLater(DELAY_MS);
  }

  private onError(text: string): void {
    const { path, clock, logger } = this.options;
    if (this.problem?.text !== text) {
      const sinceMs = this.problem?.sinceMs ?? clock.now();
      this.problem = { text, sinceMs };
      const line = () =>
        withSince(`kubernetes: objects cannot be saved in ${path}: ${text}`, sinceMs);
      logger.error(line, { event: 'snapshot-failed', error: text });
    }
    this.writing = undefined;
    this.writeLater(RETRY_MS);
  }
}
