import {
  CallCredentials,
  Metadata,
  Status,
  type ChannelCredentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { currentProxyVariable } from '../../util/grpc-js-variables';
import { lazy } from '../../util/lazy';
import {
  createContainedConnector,
  ForwardingConnector,
  HTTP_CONNECT_ARG,
  RefusingConnector,
} from './contained-connector';
import { HttpConnectConnector } from './http-connect';
import { readPolicy } from './other-copies';
import type * as Connectors from './secure-connector';
import { decisions, NO_TLS_POLICY, TLS_POLICY_ARG } from './tls-policy';

/** Late: an application may have channels long before a cluster configures TLS, if any ever does. */
const loadConnectors = lazy<typeof Connectors>(() => require('./secure-connector'));

/** The option by which grpc-js connects a channel to the proxy of a variable; its value is the target of the channel. */
const PROXIED_TARGET = 'grpc.http_connect_target';

/**
 * Creates the connector of a subchannel of a channel with xDS credentials.
 *
 * @param fallback The credentials for targets and clusters without a security configuration.
 */
export function createChannelConnector(
  fallback: ChannelCredentials,
  channelTarget: GrpcUri,
  options: ChannelOptions,
  callCredentials: CallCredentials | undefined,
): SecureConnector {
  const connector = createConnector(fallback, channelTarget, options, callCredentials);
  const proxied: unknown = options[HTTP_CONNECT_ARG];
  return typeof proxied === 'string' ? new HttpConnectConnector(connector, proxied) : connector;
}

function createConnector(
  fallback: ChannelCredentials,
  channelTarget: GrpcUri,
  options: ChannelOptions,
  callCredentials: CallCredentials | undefined,
): SecureConnector {
  const given: unknown = options[TLS_POLICY_ARG];
  if (given !== undefined && given !== NO_TLS_POLICY) {
    const policy = readPolicy(given);
    // Such a subchannel must not connect.
    if (!policy.ok) return new RefusingConnector(policy.error, callCredentials);
    decisions.set(options, 'policy');
    const { XdsSecureConnector } = loadConnectors();
    return new XdsSecureConnector(policy.value, options, callCredentials);
  }
  const proxied: unknown = options[PROXIED_TARGET];
  if (typeof proxied === 'string' && proxied.startsWith('xds:')) {
    return new RefusingConnector(describeBypass(proxied), callCredentials);
  }
  if (channelTarget.scheme === 'xds' && given === undefined) {
    return new RefusingConnector(ARGUMENTS_LOST, callCredentials);
  }
  if (!fallback._isSecure()) decisions.set(options, 'insecure');
  const connector = createContainedConnector(fallback, channelTarget, options, callCredentials);
  if (fallback._isSecure() || callCredentials === undefined) return connector;
  return new TokenRefusingConnector(connector);
}

/**
 * Describes why a channel is not connected although nothing is known about its cluster: no control plane was involved, so the
 * fallback credentials do not apply, secure or not.
 */
function describeBypass(target: string): string {
  const variable = currentProxyVariable();
  return (
    `grpc-xds: ${variable?.name ?? 'the option grpc.http_connect_target'} makes grpc-js connect the channel for ${target} to a ` +
    'proxy without resolving it, so that the security configuration of its cluster is unknown: add the host to ' +
    `${variable?.exempt?.name ?? 'no_proxy'}, or set the channel option grpc.enable_http_proxy to 0`
  );
}

/** No policy is not the same as a policy that is not known. */
const ARGUMENTS_LOST =
  'the security configuration of the cluster is unknown: what is around the xDS credentials, such as a wrapper, has to hand on ' +
  'all options of _createSecureConnector()';

/** Fails every call with call credentials: without privacy and integrity, a token could be read on the way. */
class TokenRefusingConnector extends ForwardingConnector {
  override getCallCredentials(): CallCredentials {
    return refused;
  }
}

const refused = CallCredentials.createFromMetadataGenerator((_options, callback) => {
  const details =
    'call credentials are not sent over an insecure connection: the cluster has no security configuration, and the ' +
    'fallback credentials are insecure';
  const metadata = new Metadata();
  callback(Object.assign(new Error(details), { code: Status.UNAUTHENTICATED, details, metadata }));
});
