import type { Clock } from '../util/clock';
import { watchFile } from '../util/file-watch';
import type { Handle } from '../util/handle';
import { LastGood } from '../util/last-good';
import { MAX_POLICY_BYTES } from '../util/limits';
import type { Logger } from '../util/logger';
import { readRegularText } from '../util/read-regular-file';
import { err, type Result } from '../util/result';
import { XdsError } from '../util/xds-error';

/** Constructor options of a policy file. */
interface PolicyFileOptions<T> {
  readonly path: string;
  /** @returns why the text cannot be used. */
  parse(text: string): Result<T, string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A policy in a file, which is read again when it changes. If it cannot be read or used, the last good policy stays in use, and each
 * problem is logged once. Does not keep the process alive.
 */
export class PolicyFile<T> {
  private readonly policy: LastGood<T>;
  private readonly watch: Handle;
  /** The last good policy. */
  current: T;

  /** @throws XdsError if the file cannot be used now. */
  constructor(private readonly options: PolicyFileOptions<T>) {
    const { path, clock, logger } = options;
    this.policy = new LastGood({
      subject: `authorization policy ${path}: `,
      noun: 'the file',
      logsFirstFailure: false,
      clock,
      logger,
    });
    // Before the first read, so that no change is missed.
    this.watch = watchFile(path, () => this.read(), { clock });
    const isRead = this.read();
    const { result, reason } = this.policy;
    if (result?.ok !== true) {
      this.close();
      const code = isRead ? 'XDS_POLICY_INVALID' : 'XDS_FILE_UNREADABLE';
      throw new XdsError(code, reason ?? path);
    }
    this.current = result.value;
  }

  /** Ends the watch. */
  close(): void {
    this.watch.release();
  }

  /** @returns Whether the file could be read. */
  private read(): boolean {
    const { path } = this.options;
    const text = readRegularText(path, { maxBytes: MAX_POLICY_BYTES });
    if (!text.ok) {
      this.policy.fail(`cannot be read: ${text.error}`);
      return false;
    }
    const isChanged = this.policy.update([Buffer.from(text.value)], () => {
      const parsed = this.options.parse(text.value);
      return parsed.ok ? parsed : err(`cannot be used: ${parsed.error}`);
    });
    if (isChanged && this.policy.result?.ok === true) this.current = this.policy.result.value;
    return true;
  }
}
