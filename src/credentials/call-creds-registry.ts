import type { CredentialConfig } from '../bootstrap/bootstrap';
import type { CredentialSupport } from '../bootstrap/server-config-parser';
import type { CallCredentials } from '../grpc-js';
import { err, ok, type Result } from '../util/result';
import { Violations } from '../util/violations';
import type { CallCredentialsType } from './call-credentials-type';

/** The types of call credentials for management servers (gRFC A97). */
export class CallCredentialsRegistry implements CredentialSupport {
  private readonly byName: ReadonlyMap<string, CallCredentialsType>;

  constructor(types: readonly CallCredentialsType[]) {
    this.byName = new Map(types.map((type) => [type.type, type]));
  }

  /** Whether there is such a type. */
  has(type: string): boolean {
    return this.byName.has(type);
  }

  /** The names of all types. */
  keys(): Iterable<string> {
    return this.byName.keys();
  }

  /** Adds what is wrong with a configuration, without making anything. */
  check({ type, config }: CredentialConfig, violations: Violations): void {
    this.byName.get(type)?.parse(config, violations);
  }

  /** Makes the credentials, or says why that cannot be done. */
  create({ type, config }: CredentialConfig): Result<CallCredentials, string> {
    const violations = Violations.root();
    const subject = `call credentials of type ${JSON.stringify(type)}`;
    const known = this.byName.get(type);
    if (known === undefined) return err(`there are no ${subject}`);
    const create = known.parse(config, violations);
    return create === undefined ? err(`${subject}: ${violations.all.join('; ')}`) : ok(create());
  }
}
