import type { CredentialConfig, ServiceCredentials } from '../../bootstrap/bootstrap';
import { CallCredentials, Metadata, type ChannelCredentials } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { readObject, readRequiredString } from '../../util/json-fields';
import { ok, type Result } from '../../util/result';
import { createXdsChannelCredentials } from '../client/xds-channel-credentials';
import { InstanceTls } from '../providers/instance-tls';
import type { CertificateProviders } from '../providers/certificate-providers';
import { TlsCredentials } from './tls';
import { CredentialsRegistry, type CredentialsType } from './credentials-registry';
import { ManagementCredentials } from './management-credentials';

/** An access token as a bearer token (gRFC A102). Not for a bootstrap. */
const accessTokenType: CredentialsType<CallCredentials> = {
  type: 'access_token',
  parse(config, violations) {
    const fields = readObject(config, violations);
    const token = fields && readRequiredString(fields, 'token', violations);
    return token === undefined ? undefined : () => ok(createBearer(token));
  },
};

function createBearer(token: string): CallCredentials {
  return CallCredentials.createFromMetadataGenerator((_options, callback) => {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    callback(null, metadata);
  });
}

/**
 * Returns a function that creates the credentials of a channel to a service that the control plane names (gRFC A102).
 *
 * @param channel The types of channel credentials that a bootstrap may name.
 * @param callTypes The types of call credentials that a bootstrap may name.
 * @param certificates Those of provider instances.
 */
export function createServiceCredentials(
  channel: CredentialsRegistry<ChannelCredentials>,
  callTypes: readonly CredentialsType<CallCredentials>[],
  certificates: CertificateProviders,
  clock: Clock,
): (service: ServiceCredentials) => Result<ChannelCredentials, string> {
  const call = new CredentialsRegistry('call', [...callTypes, accessTokenType]);
  const all = new ManagementCredentials({ channel, call });
  const createChannel = (named: CredentialConfig): Result<ChannelCredentials, string> => {
    const { config } = named;
    if (!(config instanceof InstanceTls)) return channel.create(named);
    const { root, identity, instances } = config;
    const rootCertificates = { kind: 'instance', ...root } as const;
    const source = certificates.of(instances);
    return ok(new TlsCredentials({ rootCertificates, identity }, source, clock));
  };
  return ({ channelCreds, callCreds }) => {
    const fallback = fallbackOf(channelCreds);
    const made = createChannel(fallback ?? channelCreds);
    if (!made.ok) return made;
    const base = fallback === undefined ? made.value : createXdsChannelCredentials(made.value);
    // A token of the control plane is left out of an insecure connection, where those of the bootstrap are a mistake.
    const sent = base._isSecure()
      ? callCreds
      : callCreds.filter(({ type }) => type !== 'access_token');
    if (sent.length === 0) return ok(base);
    return all.combine(base, { channelCreds, callCreds: sent });
  };
}

/** Returns the fallback of XdsCredentials; `undefined` for credentials of another type. */
function fallbackOf({ type, config }: CredentialConfig): CredentialConfig | undefined {
  if (type !== 'xds') return undefined;
  const fallback: unknown = Reflect.get(Object(config), 'fallback');
  return isCredential(fallback) ? (fallbackOf(fallback) ?? fallback) : undefined;
}

function isCredential(value: unknown): value is CredentialConfig {
  return typeof value === 'object' && value !== null && 'type' in value;
}
