import type { ChannelCredentials, ChannelOptions, Subchannel } from '../../grpc-js';
import {
  channelCredentialsOf,
  subchannelOptionsOf,
  withoutCallCredentials,
} from '../../grpc-js/host-internals';
import { TlsPolicy } from './tls-policy';
import { decisionOf, isXdsCredentials } from './xds-channel-credentials';

/** What secures a connection. */
export type ConnectionSecurity =
  /** Nothing: it has neither privacy nor integrity. */
  | { readonly kind: 'insecure' }
  /** The policy of its cluster (gRFC A29). */
  | { readonly kind: 'policy' }
  /** The credentials of the application, or those it has given as the fallback of xDS credentials. */
  | { readonly kind: 'application'; readonly credentials: ChannelCredentials }
  /** Credentials or options that cannot be seen. */
  | { readonly kind: 'unknown' };

/** Returns what secures the connections of a subchannel. */
export function securityOf(subchannel: Subchannel): ConnectionSecurity {
  return connectionSecurity(channelCredentialsOf(subchannel), subchannelOptionsOf(subchannel));
}

/**
 * Returns what secures a connection.
 *
 * @param credentials Those of the channel, without call credentials; `undefined` if they cannot be seen.
 * @param options Those of the subchannel; `undefined` if they cannot be seen.
 */
export function connectionSecurity(
  credentials: ChannelCredentials | undefined,
  options: ChannelOptions | undefined,
): ConnectionSecurity {
  // Whatever is around the xDS credentials that were asked.
  const decision = options && decisionOf(options);
  if (decision !== undefined) return { kind: decision };
  if (credentials === undefined) return { kind: 'unknown' };
  if (!isXdsCredentials(credentials)) {
    return credentials._isSecure() ? { kind: 'application', credentials } : { kind: 'insecure' };
  }
  if (options === undefined) return { kind: 'unknown' };
  if (TlsPolicy.of(options) !== undefined) return { kind: 'policy' };
  return connectionSecurity(withoutCallCredentials(credentials['fallback']), options);
}
