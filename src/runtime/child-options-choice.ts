import { CHILD_CHANNEL_OPTION, CheckedChildOptions } from '../grpc-js/child-channel-options';
import { REQUIRED_OPTIONS } from '../transport/grpc-transport';
import type { Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import type { ConnectionOptions } from '../xds-client/transport';
import { REGISTERED_CHILD_OPTIONS } from './register-options';

/** The options of the child channels of a channel: its own, over those of the process (gRFC A110). */
export class ChildOptionsChoice {
  private registered: CheckedChildOptions | undefined;
  /** Groups of clients for which it was logged that options have no effect. */
  private readonly reported = new WeakSet<object>();
  /** The options that are always set by this package, and were logged as such. */
  private readonly reportedNames = new Set<string>();

  constructor(private readonly logger: Pick<Logger, 'error'>) {}

  /** Sets those of the process for channels that are created from now on; `undefined` if there are none. */
  register(options: CheckedChildOptions | undefined): void {
    this.registered = options;
    this.reportRequired(options, REGISTERED_CHILD_OPTIONS);
  }

  /** Returns the options of the child channels of a channel with these options, or why they cannot be used. */
  of(channelOption: unknown): Result<CheckedChildOptions | undefined, string> {
    if (channelOption === undefined) return ok(this.registered);
    const name = `channel option ${CHILD_CHANNEL_OPTION}`;
    const checked = CheckedChildOptions.check(channelOption);
    if (!checked.ok) return err(`${name}: ${checked.error}`);
    this.reportRequired(checked.value, name);
    return ok(checked.value.over(this.registered));
  }

  /**
   * Logs, once for each group of clients, that the connections of a channel have other options than it would have: those of
   * the channel for which they were made.
   */
  reportUnused(
    target: string,
    options: CheckedChildOptions | undefined,
    group: { readonly connectionOptions?: ConnectionOptions | undefined },
  ): void {
    if (options === undefined || options.equals(group.connectionOptions)) return;
    if (this.reported.has(group)) return;
    this.reported.add(group);
    this.logger.error(
      () =>
        `${target}: the child channel options of this channel have no effect, because its connections to management ` +
        'servers are those of an earlier channel with the same bootstrap and other child channel options (gRFC A110)',
      { target },
    );
  }

  private reportRequired(options: CheckedChildOptions | undefined, where: string): void {
    const names = options?.among(REQUIRED_OPTIONS) ?? [];
    for (const name of names) {
      if (this.reportedNames.has(name)) continue;
      this.reportedNames.add(name);
      this.logger.error(
        () =>
          `${where}: ${name} has no effect on connections to management servers: it is always set`,
      );
    }
  }
}
