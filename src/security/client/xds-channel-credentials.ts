import {
  ChannelCredentials,
  type CallCredentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { Brand, ownCopy } from '../../util/package-copy';
import type * as Connectors from './channel-connector';
import { checkArgument, type Rule } from '../../util/check-arguments';
import { lazy } from '../../util/lazy';
import { isXdsCredentials } from './other-copies';

/** Late: an application creates credentials before there is a channel. */
const loadConnectors = lazy<typeof Connectors>(() => require('./channel-connector'));

const FALLBACK: Rule = {
  legal:
    'channel credentials, such as grpc.credentials.createSsl(), of the copy of @grpc/grpc-js that grpc-xds uses (npm ls ' +
    '@grpc/grpc-js shows whether there are two)',
  accepts: (value) => value instanceof ChannelCredentials,
};

/**
 * Channel credentials that secure connections as the control plane configures (gRFC A29). The fallback credentials are used where
 * the control plane configures no security: for targets that are not `xds:` and for clusters without a `transport_socket`. They are
 * never used because of an error.
 */
export class XdsChannelCredentials extends ChannelCredentials {
  static {
    Object.defineProperty(this.prototype, Brand.CHANNEL_CREDENTIALS, { value: ownCopy });
  }

  /**
   * @param fallback Such as `credentials.createInsecure()` or `credentials.createSsl()`.
   * @throws XdsError if the fallback is missing, or comes from another copy of `@grpc/grpc-js`.
   */
  constructor(private readonly fallback: ChannelCredentials) {
    super();
    checkArgument('new XdsChannelCredentials()', 'fallback', fallback, FALLBACK);
  }

  /** Whether call credentials may be added: a connection that turns out insecure refuses them. */
  _isSecure(): boolean {
    return true;
  }

  /** Whether other credentials make the same connections. Credentials that connect in another way are not equal. */
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
    const { createChannelConnector } = loadConnectors();
    return createChannelConnector(this.fallback, channelTarget, options, callCredentials);
  }
}

/**
 * Creates channel credentials that secure connections as the control plane configures (gRFC A29).
 *
 * @param fallback The credentials for targets that are not `xds:` and for clusters without a security configuration.
 * @throws XdsError if the fallback is missing, or comes from another copy of `@grpc/grpc-js`.
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
  checkArgument('createXdsChannelCredentials()', 'fallback', fallback, FALLBACK);
  return new XdsChannelCredentials(fallback);
}
