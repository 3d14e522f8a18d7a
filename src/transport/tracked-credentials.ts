import { ChannelCredentials } from '../grpc-js';
import type { Handle } from '../util/handle';
import { putInBackground } from './background-socket';
import type { SentSecrets } from './sent-secrets';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Socket = Parameters<SecureConnector['connect']>[0];

/**
 * Channel credentials that end with their channel. A closed channel forgets a connection that is being made,
 * and one that has failed is tried once more behind its back: without this, a server that accepts connections
 * and says nothing, or that comes back, would be left with connections that nobody uses and nobody closes.
 *
 * Connections that are established do not keep the process alive, until the credentials are retired: a connection
 * that is being closed holds the process until the server has received what was sent.
 */
export class TrackedCredentials extends ChannelCredentials {
  private readonly sockets = new Set<Socket>();
  private readonly inBackground = new Set<Handle>();
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
    for (const background of this.inBackground) background.release();
    this.inBackground.clear();
  }

  /** Cuts all connections. */
  destroySockets(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private putInBackground(socket: Socket): void {
    const background = putInBackground(socket);
    this.inBackground.add(background);
    socket.once('close', () => this.inBackground.delete(background));
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
        return connector.connect(socket).then((connected) => {
          if (!this.isRetired) this.putInBackground(connected.socket);
          return connected;
        });
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
