import {
  ChannelCredentials,
  type CallCredentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { Brand, copyOf, describeOtherCopy, ownCopy } from '../../util/package-copy';
import type * as Connectors from './channel-connector';
import { checkArgument, type Rule } from '../../util/check-arguments';
import { late } from '../../util/late';

/** Late: an application creates credentials before there is a channel. */
const loadConnectors = late<typeof Connectors>(() => require('./channel-connector'));

const FALLBACK: Rule = {
  legal:
    'channel credentials, such as grpc.credentials.createSsl(), of the copy of @grpc/grpc-js that grpc-xds uses (npm ls ' +
    '@grpc/grpc-js shows whether there are two)',
  accepts: (value) => value instanceof ChannelCredentials,
};

/** Not the name of the class below, which a bundler may shorten to that of any other class. */
const CLASS_NAME = 'XdsChannelCredentials';

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
  for (let type: unknown = Object.getPrototypeOf(value); isObject(type);) {
    if (type.constructor.name === CLASS_NAME) {
      return `${reason}another package, or of an older copy of grpc-xds: create them by createXdsChannelCredentials() of the copy that was registered, ${ownCopy.path}`;
    }
    type = Object.getPrototypeOf(type);
  }
  return undefined;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

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
   * @throws XdsError if the fallback is missing, or is not of the same copy of `@grpc/grpc-js`.
   */
  constructor(private readonly fallback: ChannelCredentials) {
    super();
    checkArgument('createXdsChannelCredentials()', 'fallback', fallback, FALLBACK);
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
    const { createChannelConnector } = loadConnectors();
    return createChannelConnector(this.fallback, channelTarget, options, callCredentials);
  }
}

/**
 * Creates channel credentials that leave it to the control plane how connections are secured (gRFC A29).
 *
 * @param fallback The credentials for targets that are not `xds:` and for clusters without a security configuration.
 * @throws XdsError if the fallback is missing, or is not of the same copy of `@grpc/grpc-js`.
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
