import type { CredentialConfig } from '../../bootstrap/bootstrap';
import type { CredentialSupport } from '../../bootstrap/server-config-parser';
import type { CallCredentials } from '../../grpc-js';
import { err, ok, type Result } from '../../util/result';
import { Violations } from '../../util/violations';

/** An error that has no token. The host library converts it to the status of the call. */
export class TokenError extends Error {
  override readonly name = 'TokenError';

  /** @param code A gRPC status code. */
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** A type of call credentials that a bootstrap may name (gRFC A97). */
export interface CallCredentialsType {
  /** The name in `call_creds[].type`. */
  readonly type: string;
  /**
   * Parses `call_creds[].config`, which is absent or an object.
   * @returns a function that creates the credentials; `undefined` after adding a violation.
   */
  parse(config: unknown, violations: Violations): (() => CallCredentials) | undefined;
}

/** The types of call credentials for management servers (gRFC A97). */
export class CallCredentialsRegistry implements CredentialSupport {
  private readonly byName: ReadonlyMap<string, CallCredentialsType>;

  constructor(types: readonly CallCredentialsType[]) {
    this.byName = new Map(types.map((type) => [type.type, type]));
  }

  /** Whether the type is supported. */
  has(type: string): boolean {
    return this.byName.has(type);
  }

  keys(): Iterable<string> {
    return this.byName.keys();
  }

  /** Validates a configuration without creating credentials. */
  check({ type, config }: CredentialConfig, violations: Violations): void {
    this.byName.get(type)?.parse(config, violations);
  }

  /** Creates the credentials. @returns the credentials, or an error text. */
  create({ type, config }: CredentialConfig): Result<CallCredentials, string> {
    const violations = Violations.root();
    const subject = `call credentials of type ${JSON.stringify(type)}`;
    const known = this.byName.get(type);
    if (known === undefined) return err(`there are no ${subject}`);
    const create = known.parse(config, violations);
    return create === undefined ? err(`${subject}: ${violations.all.join('; ')}`) : ok(create());
  }
}
