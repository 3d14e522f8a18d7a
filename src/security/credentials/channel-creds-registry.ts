import type { CredentialConfig } from '../../bootstrap/bootstrap';
import type { CredentialSupport } from '../../bootstrap/server-config-parser';
import { credentials, type CertificateProvider, type ChannelCredentials } from '../../grpc-js';
import { systemClock, type Clock } from '../../util/clock';
import type { FeatureFlags } from '../../util/feature-flags';
import { late } from '../../util/late';
import { silentLogger, type Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import { Violations } from '../../util/violations';
import {
  defineChannelCredentials,
  type ChannelCredentialsDefinition,
  type ChannelCredentialsType,
} from './define-channel-credentials';
import { createGoogleDefaultCredentialsType } from './google-default';
import type * as Tls from './tls';

const loadTls = late<typeof Tls>(() => require('./tls'));

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

  /** Adds a type, unless its name is registered. */
  registerDefault(type: ChannelCredentialsType): void {
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
  create(credential: CredentialConfig): Result<ChannelCredentials, string> {
    return this.make(credential, (type, ...args) => type.parse(...args));
  }

  /** Creates the certificates for a server reached over HTTPS. @returns the certificates, or an error text. */
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

interface BuiltInCredentialsOptions {
  /** The clock of certificate reloads. Default: that of the system. */
  readonly clock?: Clock;
  /** Receives the errors of reloads. Default: none. */
  readonly logger?: Logger;
  /** Default: all features are on. */
  readonly flags?: Pick<FeatureFlags, 'spiffeBundles'>;
}

/** Creates the types `insecure`, `google_default` (gRFC A27) and `tls` (gRFC A65). */
export function builtInChannelCredentials(
  options: BuiltInCredentialsOptions = {},
): readonly ChannelCredentialsType[] {
  const { clock = systemClock, logger = silentLogger } = options;
  const { spiffeBundles = true } = options.flags ?? {};
  const createTls = () => loadTls().createTlsCredentialsType({ clock, logger, spiffeBundles });
  return [
    { type: 'insecure', parse: () => () => ok(credentials.createInsecure()) },
    createGoogleDefaultCredentialsType(() => loadTls().createSystemTls()),
    {
      type: 'tls',
      parse: (...args) => createTls().parse(...args),
      parseForHttps: (...args) => createTls().parseForHttps?.(...args),
    },
  ];
}

/**
 * The types of channel credentials of this process: those of the application, and those of this package, which the
 * composition root adds. An application may register its types before or after it calls `register`.
 */
export const processChannelCredentials = new ChannelCredentialsRegistry([]);

/** Implements `registerChannelCredentials` of the package. */
export function registerChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): void {
  processChannelCredentials.register(defineChannelCredentials(definition));
}
