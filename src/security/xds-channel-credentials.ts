import {
  CallCredentials,
  ChannelCredentials,
  Metadata,
  Status,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../grpc-js';
import { HTTP_CONNECT_ARG, HttpConnectConnector } from './http-connect';
import type * as Connectors from './secure-connector';
import { TlsPolicy } from './tls-policy';

/**
 * Channel credentials that leave it to the control plane how connections are secured (gRFC A29). The fallback
 * credentials are used where the control plane configures no security: for targets that are not `xds:` and for clusters
 * without a `transport_socket`. They are never used because of an error.
 */
export class XdsChannelCredentials extends ChannelCredentials {
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

  /** Whether other credentials make the same connections. */
  _equals(other: ChannelCredentials): boolean {
    return other instanceof XdsChannelCredentials && this.fallback._equals(other.fallback);
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
    if (policy !== undefined) {
      const { XdsSecureConnector } = loadConnectors();
      return new XdsSecureConnector(policy, options, callCredentials);
    }
    const connector = this.fallback._createSecureConnector(channelTarget, options, callCredentials);
    if (this.fallback._isSecure() || callCredentials === undefined) return connector;
    return {
      connect: (socket) => connector.connect(socket),
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => refused,
      destroy: () => connector.destroy(),
    };
  }
}

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
 */
export function createXdsChannelCredentials(fallback: ChannelCredentials): XdsChannelCredentials {
  return new XdsChannelCredentials(fallback);
}

/** Late: an application may create credentials long before a cluster asks for TLS, or none ever may. */
function loadConnectors(): typeof Connectors {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./secure-connector');
}
