import {
  CallCredentials,
  ChannelCredentials,
  Metadata,
  Status,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { currentProxyVariable } from '../../util/grpc-js-variables';
import { Brand, copyOf, describeOtherCopy, ownCopy } from '../../util/package-copy';
import { createContainedConnector, RefusingConnector } from './contained-connector';
import { HTTP_CONNECT_ARG, HttpConnectConnector } from './http-connect';
import type * as Connectors from './secure-connector';
import { TLS_POLICY_ARG, TlsPolicy } from './tls-policy';
import { late } from '../../util/late';

/** Late: an application may create credentials long before a cluster configures TLS, if any ever does. */
const loadConnectors = late<typeof Connectors>(() => require('./secure-connector'));

/** The option by which grpc-js connects a channel to the proxy of a variable; its value is the target of the channel. */
const PROXIED_TARGET = 'grpc.http_connect_target';

/** Not the name of the class below, which a bundler may shorten to that of any other class. */
const CLASS_NAME = 'XdsChannelCredentials';

/** What was decided for the subchannels with these options, whatever credentials are around those that decided. */
const decisions = new WeakMap<ChannelOptions, 'policy' | 'insecure'>();

/** Returns what xDS credentials have decided for the subchannel with these options; `undefined` if they have not, or not so. */
export function decisionOf(options: ChannelOptions): 'policy' | 'insecure' | undefined {
  return decisions.get(options);
}

/**
 * Returns why channel credentials are xDS credentials that cannot read the policy of a cluster, and would take the fallback
 * in its place; `undefined` if they are not. Those of versions without a brand, and those of `@grpc/grpc-js-xds`, are
 * recognised by the name of their class.
 */
export function describeForeignXdsCredentials(value: object): string | undefined {
  const copy = copyOf(value, Brand.CHANNEL_CREDENTIALS);
  if (copy === ownCopy) return undefined;
  const reason =
    "the cluster configures TLS, which the channel's credentials cannot read: they are of ";
  if (copy !== undefined) return reason + describeOtherCopy(copy);
  for (let type: unknown = Object.getPrototypeOf(value); type !== null;) {
    if (typeof type !== 'object') return undefined;
    if (type.constructor.name !== CLASS_NAME) {
      type = Object.getPrototypeOf(type);
      continue;
    }
    return `${reason}another package, or of an older copy of grpc-xds: create them by createXdsChannelCredentials() of the copy that was registered, ${ownCopy.path}`;
  }
  return undefined;
}

/** Whether channel credentials are xDS credentials of this copy of the package, or inherit from such. */
export function isXdsCredentials(value: unknown): value is XdsChannelCredentials {
  return copyOf(value, Brand.CHANNEL_CREDENTIALS) === ownCopy;
}

/**
 * Channel credentials that leave it to the control plane how connections are secured (gRFC A29). The fallback
 * credentials are used where the control plane configures no security: for targets that are not `xds:` and for clusters
 * without a `transport_socket`. They are never used because of an error.
 */
export class XdsChannelCredentials extends ChannelCredentials {
  static {
    Object.defineProperty(this.prototype, Brand.CHANNEL_CREDENTIALS, { value: ownCopy });
  }

  /**
   * @param fallback Such as `credentials.createInsecure()` or `credentials.createSsl()`.
   * @throws TypeError if the fallback is missing, or is not of the same copy of `@grpc/grpc-js`.
   */
  constructor(private readonly fallback: ChannelCredentials) {
    super();
    if (!(fallback instanceof ChannelCredentials)) {
      throw new TypeError(
        'grpc-xds: createXdsChannelCredentials() needs the channel credentials to use for targets and clusters without ' +
          'a security configuration; these are none of the @grpc/grpc-js that grpc-xds uses. If they are credentials, ' +
          'two copies of @grpc/grpc-js are installed: see npm ls @grpc/grpc-js',
      );
    }
  }

  /** Whether call credentials may be added: a connection that turns out insecure refuses them. */
  _isSecure(): boolean {
    return true;
  }

  /** Whether other credentials make the same connections. Those that make them in another way are others. */
  _equals(other: ChannelCredentials): boolean {
    if (this === other) return true;
    return (
      isXdsCredentials(other) &&
      this._createSecureConnector === other._createSecureConnector &&
      this.fallback._equals(other.fallback)
    );
  }

  /** Called by grpc-js for each subchannel. */
  _createSecureConnector(
    channelTarget: GrpcUri,
    options: ChannelOptions,
    callCredentials?: CallCredentials,
  ): SecureConnector {
    const connector = this.createConnector(channelTarget, options, callCredentials);
    const proxied: unknown = options[HTTP_CONNECT_ARG];
    return typeof proxied === 'string' ? new HttpConnectConnector(connector, proxied) : connector;
  }

  private createConnector(
    channelTarget: GrpcUri,
    options: ChannelOptions,
    callCredentials: CallCredentials | undefined,
  ): SecureConnector {
    const policy = TlsPolicy.of(options);
    if (policy?.ok === false) return new RefusingConnector(policy.error, callCredentials);
    if (policy !== undefined) {
      decisions.set(options, 'policy');
      const { XdsSecureConnector } = loadConnectors();
      return new XdsSecureConnector(policy.value, options, callCredentials);
    }
    const proxied: unknown = options[PROXIED_TARGET];
    if (typeof proxied === 'string' && proxied.startsWith('xds:')) {
      return new RefusingConnector(describeBypass(proxied), callCredentials);
    }
    if (channelTarget.scheme === 'xds' && options[TLS_POLICY_ARG] === undefined) {
      return new RefusingConnector(ARGUMENTS_LOST, callCredentials);
    }
    if (!this.fallback._isSecure()) decisions.set(options, 'insecure');
    const connector = createContainedConnector(
      this.fallback,
      channelTarget,
      options,
      callCredentials,
    );
    if (this.fallback._isSecure() || callCredentials === undefined) return connector;
    return {
      connect: (socket) => connector.connect(socket),
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => refused,
      destroy: () => connector.destroy(),
    };
  }
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

/** Fails every call that uses them: without privacy and integrity, a token could be read on the way. */
const refused = CallCredentials.createFromMetadataGenerator((_options, callback) => {
  const details =
    'call credentials are not sent over an insecure connection: the cluster has no security configuration, and the ' +
    'fallback credentials are insecure';
  const metadata = new Metadata();
  callback(Object.assign(new Error(details), { code: Status.UNAUTHENTICATED, details, metadata }));
});

/**
 * Creates channel credentials that leave it to the control plane how connections are secured (gRFC A29).
 *
 * @param fallback The credentials for targets that are not `xds:` and for clusters without a security configuration.
 * @throws TypeError if the fallback is missing, or is not of the same copy of `@grpc/grpc-js`.
 *
 * @example
 * ```ts
 * import * as grpc from '@grpc/grpc-js';
 * import { createXdsChannelCredentials } from 'grpc-xds';
 *
 * const credentials = createXdsChannelCredentials(grpc.credentials.createSsl());
 * const client = new EchoClient('xds:///echo', credentials);
 * ```
 */
export function createXdsChannelCredentials(fallback: ChannelCredentials): XdsChannelCredentials {
  return new XdsChannelCredentials(fallback);
}
