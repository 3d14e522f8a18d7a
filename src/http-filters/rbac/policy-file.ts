import type { Clock } from '../../util/clock';
import { watchFile, type FileWatchOptions } from '../../util/file-watch';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { readRegularText } from '../../util/read-regular-file';
import { err, type Result } from '../../util/result';
import { XdsError, type XdsErrorCode } from '../../util/xds-error';

/** Constructor options of a policy file. */
interface PolicyFileOptions<T> {
  readonly path: string;
  /** @returns why the text cannot be used. */
  parse(text: string): Result<T, string>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: that of `watchFile`. */
  readonly watch?: FileWatchOptions | undefined;
}

/** Bytes of a policy. */
export const MAX_POLICY_BYTES = 4 * 1024 * 1024;

/**
 * A policy in a file, which is read again when it changes. One that cannot be read or used replaces nothing: the last good one stays in
 * use, and each problem is logged once. Does not keep the process alive.
 */
export class PolicyFile<T> {
  /** The text of the last good policy. */
  private text: string;
  private policy: T;
  private problem: string | undefined;
  private readonly watch: Handle;

  /** @throws Error if the file cannot be used now. */
  constructor(private readonly options: PolicyFileOptions<T>) {
    const { path, clock, watch } = options;
    // Before the reading, so that no change is missed.
    this.watch = watchFile(path, () => this.reload(), { clock, ...watch });
    try {
      this.text = unwrap('XDS_FILE_UNREADABLE', this.read());
      this.policy = unwrap('XDS_POLICY_INVALID', this.parse(this.text));
    } catch (error) {
      this.watch.release();
      throw error;
    }
  }

  /** The last good policy. */
  get current(): T {
    return this.policy;
  }

  /** Ends the watch. */
  close(): void {
    this.watch.release();
  }

  private reload(): void {
    const text = this.read();
    if (!text.ok) this.fail(text.error);
    else if (text.value === this.text) this.recover();
    else this.replace(text.value);
  }

  private replace(text: string): void {
    const policy = this.parse(text);
    if (!policy.ok) {
      this.fail(policy.error);
      return;
    }
    this.text = text;
    this.policy = policy.value;
    this.recover();
  }

  private fail(problem: string): void {
    if (problem === this.problem) return;
    this.problem = problem;
    this.options.logger.error(() => `${problem}; the last good policy stays in use`);
  }

  private recover(): void {
    if (this.problem === undefined) return;
    this.problem = undefined;
    this.options.logger.info(() => `${this.options.path} can be used again`, {
      event: 'recovered',
    });
  }

  private read(): Result<string, string> {
    const { path } = this.options;
    const content = readRegularText(path, { maxBytes: MAX_POLICY_BYTES });
    return content.ok ? content : err(`${path} cannot be read: ${content.error}`);
  }

  private parse(text: string): Result<T, string> {
    const parsed = this.options.parse(text);
    return parsed.ok ? parsed : err(`${this.options.path} cannot be used: ${parsed.error}`);
  }
}

function unwrap<T>(code: XdsErrorCode, result: Result<T, string>): T {
  if (result.ok) return result.value;
  throw new XdsError(code, `grpc-xds: ${result.error}`);
}
