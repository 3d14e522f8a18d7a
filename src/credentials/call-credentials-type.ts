import type { CallCredentials } from '../grpc-js';
import type { Violations } from '../util/violations';

/** A type of call credentials that a bootstrap may name (gRFC A97). */
export interface CallCredentialsType {
  /** The name in `call_creds[].type`. */
  readonly type: string;
  /**
   * Reads `call_creds[].config`, which is absent or an object.
   * @returns what makes the credentials; `undefined` after adding a violation.
   */
  parse(config: unknown, violations: Violations): (() => CallCredentials) | undefined;
}
