import type { ChannelCredentials } from '../grpc-js';
import type { Result } from '../util/result';
import type { Violations } from '../util/violations';

/** Makes credentials whose configuration has been read. May be called again after a failure. */
export type CreateChannelCredentials = () => Result<ChannelCredentials, string>;

/** A type of channel credentials that a bootstrap may name (gRFC A27). */
export interface ChannelCredentialsType {
  /** The name in `channel_creds[].type`. */
  readonly type: string;
  /**
   * Reads `channel_creds[].config`, which is absent or an object.
   * @returns what makes the credentials; `undefined` after adding a violation.
   */
  parse(config: unknown, violations: Violations): CreateChannelCredentials | undefined;
}
