import type { CredentialConfig, ServerConfig, ServiceCredentials } from '../../bootstrap/bootstrap';
import type { CredentialsSupport } from '../../bootstrap/server-config-parser';
import { credentials, type CallCredentials, type ChannelCredentials } from '../../grpc-js';
import { systemClock, type Clock } from '../../util/clock';
import type { FeatureFlags } from '../../util/feature-flags';
import { readObject, readRequiredString } from '../../util/json-fields';
import { lazy } from '../../util/lazy';
import { silentLogger, type Logger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import type { WatchedCertificates } from '../providers/watched-certificates';
import type * as CachedTokens from './cached-token';
import { CredentialsRegistry, type CredentialsType } from './credentials-registry';
import type * as Definitions from './define-channel-credentials';
import type { ChannelCredentialsDefinition } from './define-channel-credentials';
import type * as GoogleDefault from './google-default';
import type * as Tls from './tls';

// Late: many connections to management servers are not secured, or by a sidecar.
const loadCachedTokens = lazy<typeof CachedTokens>(() => require('./cached-token'));
const loadDefinitions = lazy<typeof Definitions>(() => require('./define-channel-credentials'));
const loadGoogleDefault = lazy<typeof GoogleDefault>(() => require('./google-default'));
const loadTls = lazy<typeof Tls>(() => require('./tls'));

interface CredentialRegistries {
  readonly channel: CredentialsRegistry<ChannelCredentials>;
  readonly call: CredentialsRegistry<CallCredentials>;
}

/** Creates the credentials for management servers: channel credentials and, on each stream, call credentials. */
export class ManagementCredentials {
  constructor(private readonly registries: CredentialRegistries) {}

  /** The supported types. */
  get support(): CredentialsSupport {
    return { channelCreds: this.registries.channel, callCreds: this.registries.call };
  }

  /** @returns the credentials of a server, or an error text. */
  create(server: ServerConfig): Result<ChannelCredentials, string> {
    const channel = this.registries.channel.create(server.channelCreds);
    return channel.ok && server.callCreds.length > 0
      ? this.combine(channel.value, server)
      : channel;
  }

  /** Adds the call credentials of a server to its channel credentials. @returns both, or an error text. */
  combine(
    channel: ChannelCredentials,
    server: ServiceCredentials,
  ): Result<ChannelCredentials, string> {
    if (!channel._isSecure()) return err(insecure(server.channelCreds, server.callCreds));
    const call = this.createCall(server);
    if (!call.ok) return call;
    const combine = credentials.combineChannelCredentials;
    return ok(call.value.reduce((combined, each) => combine(combined, each), channel));
  }

  /** @returns the certificates for a server reached over HTTPS, or an error text. */
  createForHttps(server: ServerConfig): Result<WatchedCertificates, string> {
    return this.registries.channel.createForHttps(server.channelCreds);
  }

  /** Creates all call credentials of a server (gRFC A97). */
  createCall(
    server: Pick<ServiceCredentials, 'callCreds'>,
  ): Result<readonly CallCredentials[], string> {
    const all: CallCredentials[] = [];
    for (const credential of server.callCreds) {
      const made = this.registries.call.create(credential);
      if (!made.ok) return made;
      all.push(made.value);
    }
    return ok(all);
  }
}

/** Call credentials are not sent over an insecure connection (gRFC A97). */
function insecure(channel: CredentialConfig, call: readonly CredentialConfig[]): string {
  const types = call.map(({ type }) => JSON.stringify(type)).join(', ');
  return `call credentials of type ${types} are not sent over channel credentials of type ${JSON.stringify(channel.type)}`;
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
): readonly CredentialsType<ChannelCredentials>[] {
  const { clock = systemClock, logger = silentLogger } = options;
  const { spiffeBundles = true } = options.flags ?? {};
  const createTls = () => loadTls().createTlsCredentialsType({ clock, logger, spiffeBundles });
  return [
    { type: 'insecure', parse: () => () => ok(credentials.createInsecure()) },
    {
      type: 'google_default',
      parse: () => () => loadGoogleDefault().createGoogleDefault(loadTls().createSystemTls),
    },
    {
      type: 'tls',
      parse: (...args) => createTls().parse(...args),
      parseForHttps: (...args) => createTls().parseForHttps?.(...args),
    },
  ];
}

/** Creates the type `jwt_token_file` (gRFC A97): the token in the file of that name, as a bearer token. */
export function createJwtTokenFileType(
  dependencies: CachedTokens.TokenDependencies,
): CredentialsType<CallCredentials> {
  return {
    type: 'jwt_token_file',
    parse(config, violations) {
      const fields = readObject(config ?? {}, violations);
      const path = fields && readRequiredString(fields, 'jwt_token_file', violations);
      return path === undefined
        ? undefined
        : () => ok(loadCachedTokens().createJwtTokenFile(path, dependencies).toCredentials());
    },
  };
}

/**
 * The types of channel credentials of this process: those of the application, and those of this package, which the
 * composition root adds. An application may register its types before or after it calls `register`.
 */
export const processChannelCredentials = new CredentialsRegistry<ChannelCredentials>('channel', []);

/** Implements `registerChannelCredentials` of the package. */
export function registerChannelCredentials<Config>(
  definition: ChannelCredentialsDefinition<Config>,
): void {
  processChannelCredentials.register(loadDefinitions().defineChannelCredentials(definition));
}
