import {
  CallCredentials,
  type ChannelCredentials,
  type ChannelOptions,
  type GrpcUri,
  type SecureConnector,
} from '../../grpc-js';
import { withoutAddress } from '../../grpc-js/host-internals';
import { contained } from '../../util/contained';
import { errorMessage } from '../../util/errors';
import { isHttpConnectConnector } from './other-copies';

/**
 * The subchannel argument that has the address to connect to through an HTTP proxy, such as `10.0.0.1:80` or `[::1]:80`;
 * the address of the subchannel is that of the proxy (gRFC A86). It is part of the identity of a subchannel.
 */
export const HTTP_CONNECT_ARG = 'grpc_xds.http_connect';

/**
 * Creates the connector of credentials that are not of this package, for grpc-js, which catches nothing that they throw:
 * without a connector, every attempt to connect fails with the reason, before anything is sent.
 */
export function createContainedConnector(
  credentials: ChannelCredentials,
  target: GrpcUri,
  options: ChannelOptions,
  callCredentials?: CallCredentials,
): SecureConnector {
  try {
    const created = credentials._createSecureConnector(target, options, callCredentials);
    const connector = withoutAddress(created);
    // Connectors of this package, or of another copy of it, are recognised by their brand.
    return isHttpConnectConnector(connector) ? connector : new ForwardingConnector(connector);
  } catch (error) {
    return new RefusingConnector(describe(error), callCredentials);
  }
}

/** Forwards everything to a connector. grpc-js awaits what may fail, and catches nothing that the other two methods throw. */
export class ForwardingConnector implements SecureConnector {
  constructor(protected readonly connector: SecureConnector) {}

  connect(...args: Parameters<SecureConnector['connect']>): ReturnType<SecureConnector['connect']> {
    return this.connector.connect(...args);
  }

  waitForReady(): Promise<void> {
    return this.connector.waitForReady();
  }

  getCallCredentials(): CallCredentials {
    try {
      return this.connector.getCallCredentials();
    } catch (error) {
      return CallCredentials.createFromMetadataGenerator((_options, callback) =>
        callback(new Error(describe(error))),
      );
    }
  }

  destroy(): void {
    // There is nothing left that could fail.
    contained(
      () => this.connector.destroy(),
      () => undefined,
    )();
  }
}

function describe(error: unknown): string {
  return `unexpected error in the channel credentials: ${errorMessage(error)}`;
}

/** Makes no connection: every attempt fails with a reason, before anything is sent. */
export class RefusingConnector implements SecureConnector {
  constructor(
    private readonly reason: string,
    private readonly callCredentials = CallCredentials.createEmpty(),
  ) {}

  /** @throws Error always. */
  waitForReady(): Promise<void> {
    return Promise.reject(new Error(this.reason));
  }

  /** @throws Error always. */
  connect(): Promise<never> {
    return Promise.reject(new Error(this.reason));
  }

  getCallCredentials(): CallCredentials {
    return this.callCredentials;
  }

  destroy(): void {}
}

/** Thrown away with the connection that was made. */
const PLAIN_TEXT =
  "the cluster configures TLS, and the channel's credentials connected in plain text without reading its policy: they are none of " +
  'grpc-js, and have no xDS credentials of grpc-xds inside: use createXdsChannelCredentials() of the copy that was registered, or ' +
  'credentials.createInsecure() of grpc-js if plain text is meant';

/**
 * Uses only secure connections of another connector. Credentials of an application may have the xDS credentials of another
 * package inside, which take their fallback for a policy that they cannot read: that is seen by what they connect.
 */
export class SecureOnlyConnector extends ForwardingConnector {
  /** @throws Error if the connection is not secure; nothing has been sent over it. */
  override async connect(
    ...args: Parameters<SecureConnector['connect']>
  ): ReturnType<SecureConnector['connect']> {
    const result = await super.connect(...args);
    if (result.secure) return result;
    result.socket.destroy();
    throw new Error(PLAIN_TEXT);
  }
}
