import type { CredentialConfig, ServerConfig } from '../../bootstrap/bootstrap';
import type { CredentialsSupport, CredentialSupport } from '../../bootstrap/server-config-parser';
import {
  credentials,
  type CallCredentials,
  type CertificateProvider,
  type ChannelCredentials,
} from '../../grpc-js';
import { err, ok, type Result } from '../../util/result';

export interface CredentialSources {
  readonly channel: CredentialSupport & {
    create(credential: CredentialConfig): Result<ChannelCredentials, string>;
    createForHttps(credential: CredentialConfig): Result<CertificateProvider, string>;
  };
  readonly call: CredentialSupport & {
    create(credential: CredentialConfig): Result<CallCredentials, string>;
  };
}

/** Creates the credentials for management servers: channel credentials and, on each stream, call credentials. */
export class ManagementCredentials {
  constructor(private readonly sources: CredentialSources) {}

  /** The supported types. */
  get support(): CredentialsSupport {
    return { channelCreds: this.sources.channel, callCreds: this.sources.call };
  }

  /** @returns the credentials of a server, or an error text. */
  create(server: ServerConfig): Result<ChannelCredentials, string> {
    const channel = this.sources.channel.create(server.channelCreds);
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
    return this.sources.channel.createForHttps(server.channelCreds);
  }

  /** Creates all call credentials of a server (gRFC A97). */
  createCall(server: ServerConfig): Result<readonly CallCredentials[], string> {
    const all: CallCredentials[] = [];
    for (const credential of server.callCreds) {
      const made = this.sources.call.create(credential);
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
