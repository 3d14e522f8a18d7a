import type { CredentialConfig } from '../../bootstrap/bootstrap';
import type { CredentialSupport } from '../../bootstrap/server-config-parser';
import { err, type Result } from '../../util/result';
import { Violations } from '../../util/violations';
import type { WatchedCertificates } from '../providers/watched-certificates';

/** Creates something with a parsed configuration, or says why not. May be called again after a failure. */
type Create<T> = () => Result<T, string>;

/** A type of channel credentials (gRFC A27) or of call credentials (gRFC A97) that a bootstrap may name. */
export interface CredentialsType<T> {
  /** The name in `channel_creds[].type` or `call_creds[].type`. */
  readonly type: string;
  /** Parses the configuration, which is absent or an object. @returns `undefined` after adding a violation. */
  parse(config: unknown, violations: Violations): Create<T> | undefined;
  /**
   * Parses that of channel credentials for a server reached over HTTPS instead of gRPC. Default: the type does not support
   * HTTPS.
   */
  parseForHttps?(config: unknown, violations: Violations): Create<WatchedCertificates> | undefined;
}

/** The types of channel or call credentials for management servers. */
export class CredentialsRegistry<T> implements CredentialSupport {
  private readonly byName = new Map<string, CredentialsType<T>>();

  /** @param kind Names them in errors. */
  constructor(
    private readonly kind: 'channel' | 'call',
    types: Iterable<CredentialsType<T>>,
  ) {
    for (const type of types) this.register(type);
  }

  /** Adds a type, or replaces the one of that name. */
  register(type: CredentialsType<T>): void {
    this.byName.set(type.type, type);
  }

  /** Adds a type, unless its name is registered. */
  registerDefault(type: CredentialsType<T>): void {
    if (!this.byName.has(type.type)) this.register(type);
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
  create(credential: CredentialConfig): Result<T, string> {
    return this.make(credential, (type, violations) => type.parse(credential.config, violations));
  }

  /** Creates the certificates for a server reached over HTTPS. @returns the certificates, or an error text. */
  createForHttps(credential: CredentialConfig): Result<WatchedCertificates, string> {
    return this.make(credential, (type, violations) => {
      if (type.parseForHttps !== undefined)
        return type.parseForHttps(credential.config, violations);
      return violations.add('cannot be used for HTTPS');
    });
  }

  private make<V>(
    { type }: CredentialConfig,
    parse: (type: CredentialsType<T>, violations: Violations) => Create<V> | undefined,
  ): Result<V, string> {
    const violations = Violations.root();
    const subject = `${this.kind} credentials of type ${JSON.stringify(type)}`;
    const known = this.byName.get(type);
    if (known === undefined) return err(`there are no ${subject}`);
    const create = parse(known, violations);
    if (create === undefined) return err(`${subject}: ${violations.all.join('; ')}`);
    const created = create();
    return created.ok ? created : err(`${subject}: ${created.error}`);
  }
}
