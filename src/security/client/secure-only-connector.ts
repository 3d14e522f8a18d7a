import type { SecureConnector } from '../../grpc-js';

/** Thrown away with the connection that was made. */
const PLAIN_TEXT =
  "the cluster configures TLS, and the channel's credentials connected in plain text without reading its policy: they are none of " +
  'grpc-js, and have no xDS credentials of grpc-xds inside: use createXdsChannelCredentials() of the copy that was registered, or ' +
  'credentials.createInsecure() of grpc-js if plain text is meant';

/**
 * Uses only secure connections of another connector. Credentials of an application may have the xDS credentials of another
 * package inside, which take their fallback for a policy that they cannot read: that is seen by what they connect.
 */
export class SecureOnlyConnector implements SecureConnector {
  constructor(private readonly connector: SecureConnector) {}

  /** @throws Error if the connection is not secure; nothing has been sent over it. */
  async connect(
    ...args: Parameters<SecureConnector['connect']>
  ): ReturnType<SecureConnector['connect']> {
    const result = await this.connector.connect(...args);
    if (result.secure) return result;
    result.socket.destroy();
    throw new Error(PLAIN_TEXT);
  }

  waitForReady(): Promise<void> {
    return this.connector.waitForReady();
  }

  getCallCredentials(): ReturnType<SecureConnector['getCallCredentials']> {
    return this.connector.getCallCredentials();
  }

  destroy(): void {
    this.connector.destroy();
  }
}
