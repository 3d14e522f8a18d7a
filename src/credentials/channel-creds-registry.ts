import type { CredentialConfig } from '../bootstrap/bootstrap';
import type { CredentialSupport } from '../bootstrap/server-config-parser';
import { credentials, type CertificateProvider, type ChannelCredentials } from '../grpc-js';
import { systemClock, type Clock } from '../util/clock';
import { silentLogger, type Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import { Violations } from '../util/violations';
import type { ChannelCredentialsType } from './channel-credentials-type';
import { createGoogleDefaultCredentialsType } from './google-default';
import { createTlsCredentialsType } from './tls';

/** The types of channel credentials for management servers. */
export class ChannelCredentialsRegistry implements CredentialSupport {
  private readonly byName = new Map<string, ChannelCredentialsType>();

  constructor(types: Iterable<ChannelCredentialsType>) {
    for (const type of types) this.register(type);
  }

  /** Adds a type, or replaces the one of that name. */
  register(type: ChannelCredentialsType): void {
    this.byName.set(type.type, type);
  }

  /** Adds a type, unless there is one of that name already. */
  registerDefault(type: ChannelCredentialsType): void {
    if (!this.byName.has(type.type)) this.register(type);
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

  /** Makes the credentials, or says why that is not possible now. */
  create(credential: CredentialConfig): Result<ChannelCredentials, string> {
    return this.make(credential, (type, ...args) => type.parse(...args));
  }

  /** Makes the certificates for a server that is reached over HTTPS, or says why that is not possible now. */
  createForHttps(credential: CredentialConfig): Result<CertificateProvider, string> {
    return this.make(credential, (type, config, violations) => {
      if (type.parseForHttps !== undefined) return type.parseForHttps(config, violations);
      return violations.add('cannot be used for HTTPS');
    });
  }

  private make<T>(
    { type, config }: CredentialConfig,
    parse: (
      type: ChannelCredentialsType,
      config: unknown,
      violations: Violations,
    ) => (() => Result<T, string>) | undefined,
  ): Result<T, string> {
    const violations = Violations.root();
    const subject = `channel credentials of type ${JSON.stringify(type)}`;
    const known = this.byName.get(type);
    if (known === undefined) return err(`there are no ${subject}`);
    const create = parse(known, config, violations);
    if (create === undefined) return err(`${subject}: ${violations.all.join('; ')}`);
    const created = create();
    return created.ok ? created : err(`${subject}: ${created.error}`);
  }
}

/** What the built-in types need. */
export interface BuiltInCredentialsOptions {
  /** For reading certificates again. Default: the real time. */
  readonly clock?: Clock;
  /** Told when that fails. Default: nobody. */
  readonly logger?: Logger;
}

/** The types `insecure`, `google_default` (gRFC A27) and `tls` (gRFC A65). */
export function builtInChannelCredentials(
  options: BuiltInCredentialsOptions = {},
): readonly ChannelCredentialsType[] {
  const { clock = systemClock, logger = silentLogger } = options;
  return [
    insecureCredentialsType,
    createGoogleDefaultCredentialsType(),
    createTlsCredentialsType({ clock, logger }),
  ];
}

const insecureCredentialsType: ChannelCredentialsType = {
  type: 'insecure',
  parse: () => () => ok(credentials.createInsecure()),
};
