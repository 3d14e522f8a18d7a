import type { PeerCertificate } from 'node:tls';
import type { ChannelCredentials, ChannelOptions, Subchannel } from '../../grpc-js';
import {
  channelCredentialsOf,
  peerCertificateOf,
  serverIdentityCheckOf,
  subchannelOptionsOf,
  withoutCallCredentials,
  type CheckServerIdentity,
} from '../../grpc-js/host-internals';
import type * as HostNames from '../peer/check-host-name';
import { decisions, NO_TLS_POLICY, TLS_POLICY_ARG } from './tls-policy';
import { isXdsCredentials } from './other-copies';
import { errorMessage } from '../../util/errors';
import { lazy } from '../../util/lazy';
import { sanitizeText } from '../../util/text';

/** Late: few routes change the authority. */
const loadHostNames = lazy<typeof HostNames>(() => require('../peer/check-host-name'));

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
  const decision = options && decisions.get(options);
  if (decision !== undefined) return { kind: decision };
  if (credentials === undefined) return { kind: 'unknown' };
  if (!isXdsCredentials(credentials)) {
    return credentials._isSecure() ? { kind: 'application', credentials } : { kind: 'insecure' };
  }
  if (options === undefined) return { kind: 'unknown' };
  const policy: unknown = options[TLS_POLICY_ARG];
  if (policy !== undefined && policy !== NO_TLS_POLICY) return { kind: 'policy' };
  return connectionSecurity(withoutCallCredentials(credentials.fallback), options);
}

/** The outcome of a check; `undefined` if nothing is wrong. */
type Problem = string | undefined;

/** The last outcome of each connection, whose certificate is one object. Most connections have one authority. */
const outcomes = new WeakMap<PeerCertificate, { readonly authority: string; problem: Problem }>();

/**
 * Checks whether the server of a connected subchannel may be sent calls with an authority that a route chose
 * (gRFC A81): with TLS credentials of the application, its certificate must be for that name. Under the policy of the
 * cluster, names are not compared; an insecure connection has none.
 *
 * @returns What is wrong.
 */
export function checkAuthority(authority: string, subchannel: Subchannel): Problem {
  const security = securityOf(subchannel);
  if (security.kind === 'policy' || security.kind === 'insecure') return undefined;
  const certificate = peerCertificateOf(subchannel);
  if (certificate === undefined) {
    return `the route changed the authority to "${authority}", and the certificate of the server is not known`;
  }
  const known = outcomes.get(certificate);
  if (known?.authority === authority) return known.problem;
  const own =
    security.kind === 'application' ? serverIdentityCheckOf(security.credentials) : undefined;
  const problem = compareAuthority(authority, certificate, own ?? loadHostNames().checkHostName);
  outcomes.set(certificate, { authority, problem });
  return problem;
}

/** Compares an authority, without its port, with a certificate. @returns What is wrong. */
export function compareAuthority(
  authority: string,
  certificate: PeerCertificate,
  check: CheckServerIdentity,
): Problem {
  let error: unknown;
  try {
    error = check(hostOf(authority), certificate);
  } catch (thrown) {
    error = thrown;
  }
  if (error === undefined) return undefined;
  return `the route changed the authority to "${authority}", which the certificate of the server is not for: ${sanitizeText(errorMessage(error))}`;
}

/** Returns the host of an authority: without a port, and without the brackets of an IPv6 address. */
function hostOf(authority: string): string {
  const [, address = '', name = authority] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(authority) ?? [];
  return address === '' ? name : address;
}
