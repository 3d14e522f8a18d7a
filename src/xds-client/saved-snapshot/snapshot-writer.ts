import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { rename, unlink, writeFile } from 'node:fs/promises';
import type { SavedSnapshotConfig } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/error-message';
import { kindOf } from '../../util/files/read-regular-file';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { ResourceSnapshot } from '../client-snapshot';
import {
  encodeSnapshot,
  MAX_SAVED_RESOURCES,
  MAX_SNAPSHOT_BYTES,
  type SavedResource,
} from './snapshot-file';

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

/** The delay of a change after a file that took long to make: so many times as long. */
const PAUSE_FACTOR = 20;

/**
 * Writes the file of the resources last accepted. Changes are written together, some time after the first, and never
 * two at a time. The file is replaced atomically.
 */
export class SnapshotWriter {
  private timer: Handle | undefined;
  private isWriting = false;
  private isDirty = false;
  /** How long it took to make the last file. */
  private costMs = 0;
  /** The problem logged last, so that each is logged once. */
  private lastProblem: string | undefined;

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
    if (resources.length > MAX_SAVED_RESOURCES) {
      this.report(
        `${resources.length} resources are more than the ${MAX_SAVED_RESOURCES} it may have`,
      );
      return;
    }
    const content = encodeSnapshot({ ...config, savedAtMs: clock.now(), resources });
    this.costMs = clock.monotonicMs() - startMs;
    if (content.length > MAX_SNAPSHOT_BYTES) {
      this.report(`${content.length} bytes are more than the ${MAX_SNAPSHOT_BYTES} it may have`);
      return;
    }
    this.isWriting = true;
    write(config.path, content)
      .then(
        () => this.report(undefined),
        (error: unknown) => this.report(errorMessage(error)),
      )
      .finally(() => {
        this.isWriting = false;
        if (this.isDirty) this.changed();
      });
  }

  private report(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.lastProblem) {
      const { path } = this.options.config;
      this.options.logger.error(
        () => `the resources in use cannot be saved in ${path}: ${problem}`,
      );
    }
    this.lastProblem = problem;
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

/** Readable by the owner only: a configuration may have confidential names. */
const FILE_MODE = 0o600;

async function replaceFile(path: string, content: Buffer): Promise<void> {
  checkReplaceable(path);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, content, { mode: FILE_MODE, flush: true });
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
}

/**
 * A process of root could replace a device, such as `/dev/null`, for all others.
 * @throws Error if there is something other than a file, also behind a link.
 */
function checkReplaceable(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() === false) throw new Error(`${kindOf(stats)}, not a regular file`);
}
