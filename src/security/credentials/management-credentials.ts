import type { CredentialConfig, ServerConfig } from '../../bootstrap/bootstrap';
import type { CredentialsSupport } from '../../bootstrap/server-config-parser';
import {
  credentials,
  type CallCredentials,
  type CertificateProvider,
  type ChannelCredentials,
} from '../../grpc-js';
import { readObject, readRequiredString } from '../../util/json-fields';
import { late } from '../../util/late';
import { err, ok, type Result } from '../../util/result';
import type * as CachedTokens from './cached-token';
import type { CallCredentialsRegistry, CallCredentialsType } from './call-creds-registry';
import type { ChannelCredentialsRegistry } from './channel-creds-registry';

const loadCachedTokens = late<typeof CachedTokens>(() => require('./cached-token'));

interface CredentialRegistries {
  readonly channel: ChannelCredentialsRegistry;
  readonly call: CallCredentialsRegistry;
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
    if (!channel.ok) return channel;
    if (server.callCreds.length === 0) return channel;
    if (!channel.value._isSecure()) return err(insecure(server.channelCreds, server.callCreds));
    const call = this.createCall(server);
    if (!call.ok) return call;
    const combine = credentials.combineChannelCredentials;
    return ok(call.value.reduce((combined, each) => combine(combined, each), channel.value));
  }

  /** @returns the certificates for a server reached over HTTPS, or an error text. */
  createForHttps(server: ServerConfig): Result<CertificateProvider, string> {
    return this.registries.channel.createForHttps(server.channelCreds);
  }

  /** Creates all call credentials of a server (gRFC A97). */
  createCall(server: ServerConfig): Result<readonly CallCredentials[], string> {
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

/** Creates the type `jwt_token_file` (gRFC A97): the token in the file of that name, as a bearer token. */
export function createJwtTokenFileType(
  options: CachedTokens.JwtTokenFileOptions,
): CallCredentialsType {
  return {
    type: 'jwt_token_file',
    parse(config, violations) {
      const fields = readObject(config ?? {}, violations);
      const path = fields && readRequiredString(fields, 'jwt_token_file', violations);
      return path === undefined
        ? undefined
        : () => loadCachedTokens().createJwtTokenFile(path, options).toCredentials();
    },
  };
}
