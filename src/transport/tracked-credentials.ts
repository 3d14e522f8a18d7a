import { ChannelCredentials } from '../grpc-js';
import type { SentSecrets } from './sent-secrets';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Socket = Parameters<SecureConnector['connect']>[0];

/**
 * Channel credentials that end with their channel. A closed channel forgets a connection that is being made,
 * and one that has failed is tried once more behind its back: without this, a server that accepts connections
 * and says nothing, or that comes back, would be left with connections that nobody uses and nobody closes.
 */
export class TrackedCredentials extends ChannelCredentials {
  private readonly sockets = new Set<Socket>();
  private isRetired = false;

  constructor(
    private readonly inner: ChannelCredentials,
    private readonly secrets: SentSecrets,
  ) {
    super();
  }

  /** Lets no further connection come about. */
  retire(): void {
    this.isRetired = true;
  }

  /** Cuts all connections. */
  destroySockets(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  override _isSecure(): boolean {
    return this.inner._isSecure();
  }

  override _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  override _createSecureConnector(
    ...args: Parameters<ChannelCredentials['_createSecureConnector']>
  ): SecureConnector {
    const connector = this.inner._createSecureConnector(...args);
    return {
      connect: (socket) => {
        if (this.isRetired) return retired();
        this.sockets.add(socket);
        socket.once('close', () => this.sockets.delete(socket));
        return connector.connect(socket);
      },
      waitForReady: () => (this.isRetired ? retired() : connector.waitForReady()),
      getCallCredentials: () => this.secrets.watch(connector.getCallCredentials()),
      destroy: () => connector.destroy(),
    };
  }
}

// A socket whose connection is refused here is destroyed by the channel.
function retired(): Promise<never> {
  return Promise.reject(new Error('the channel is closed'));
}
