import { CallCredentials, ChannelCredentials, type Metadata } from '../grpc-js';
import { createContainedConnector } from '../security/client/contained-connector';
import { errorMessage } from '../util/errors';
import { createHandle, type Handle } from '../util/handle';
import { MAX_TEXT_LENGTH, redactCut, REDACTED } from '../util/text';

type SecureConnector = ReturnType<ChannelCredentials['_createSecureConnector']>;
type Socket = Parameters<SecureConnector['connect']>[0];

/** Decides whether a connection is made, and whether it is used. */
export interface ConnectionGuard {
  /** @throws Error if there is to be no connection. */
  onConnecting(): void;
  /** Called before anything is sent. @throws Error if the connection is not to be used. */
  onConnected(): void;
}

/**
 * Channel credentials that close their connections with their channel. A closed channel of grpc-js forgets a connection
 * attempt, and retries one that has failed: without this, a server that accepts connections and is silent, or becomes
 * reachable later, would keep connections that are never used or closed
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/subchannel.ts).
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
    private readonly guard?: ConnectionGuard,
  ) {
    super();
  }

  /** Prevents further connections. */
  retire(): void {
    this.isRetired = true;
    for (const background of this.inBackground) background.release();
    this.inBackground.clear();
  }

  /** Calls back when the last of the present connections has closed. */
  whenClosed(callback: () => void): void {
    const onClosed = () => {
      if (this.sockets.size === 0) callback();
    };
    for (const socket of this.sockets) socket.once('close', onClosed);
    onClosed();
  }

  /** Destroys all connections. */
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
    const connector = createContainedConnector(this.inner, ...args);
    return {
      connect: (socket) => {
        if (this.isRetired) return retired();
        this.sockets.add(socket);
        socket.once('close', () => this.sockets.delete(socket));
        try {
          this.guard?.onConnected();
        } catch (error) {
          return refused(error);
        }
        // A handshake that is not answered does not keep the process alive either.
        this.putInBackground(socket);
        return connector.connect(socket).then((connected) => {
          if (!this.isRetired) this.putInBackground(connected.socket);
          return connected;
        });
      },
      waitForReady: () => {
        if (this.isRetired) return retired();
        try {
          this.guard?.onConnecting();
        } catch (error) {
          return refused(error);
        }
        return connector.waitForReady();
      },
      getCallCredentials: () => this.secrets.watch(connector.getCallCredentials()),
      destroy: () => connector.destroy(),
    };
  }
}

// A socket whose connection is refused here is destroyed by the channel.
function retired(): Promise<never> {
  return Promise.reject(new Error('the channel is closed'));
}

function refused(error: unknown): Promise<never> {
  return Promise.reject(error instanceof Error ? error : new Error(errorMessage(error)));
}

/** The part of a socket that is used here. */
export interface RefCountedSocket {
  ref?(): unknown;
  unref?(): unknown;
}

/**
 * Lets the process end although the socket is open, until the handle is released. An open ADS stream must not keep the
 * process alive. An HTTP/2 session keeps the process alive through `ref()` of its socket
 * (https://github.com/nodejs/node/blob/v20.20.2/lib/internal/http2/core.js, `Http2Session.ref`), and grpc-js calls that
 * whenever the first stream is opened, so `unref()` alone would not last. Where a socket has neither method, or a
 * session stops using it, the process stays alive until the channel is closed.
 */
export function putInBackground(socket: RefCountedSocket): Handle {
  if (typeof socket.ref !== 'function' || typeof socket.unref !== 'function') {
    return createHandle(() => undefined);
  }
  socket.unref();
  socket.ref = () => socket;
  return createHandle(() => {
    // Uncovers the method of the prototype.
    Reflect.deleteProperty(socket, 'ref');
    socket.ref?.();
  });
}

/** Names of headers whose values are secret. */
const SECRET_NAME = /auth|token|secret|cookie|jwt|credential|assertion|api-?key/i;
/** Shorter values cannot be distinguished from other text. */
const MIN_LENGTH = 16;
/** Tokens that are kept: the one in use, and those that it has just replaced. */
const MAX_SECRETS = 8;

/**
 * The tokens that were sent to one management server. A server may echo them in the text of an error, which ends up
 * in logs and in the statuses of calls: there they are redacted.
 */
export class SentSecrets {
  private readonly secrets = new Set<string>();

  /** Keeps the secrets among the headers of a request. */
  note(metadata: Metadata): void {
    for (const [name, value] of Object.entries(metadata.getMap())) {
      if (typeof value === 'string' && SECRET_NAME.test(name)) this.add(value);
    }
  }

  /** Cuts a text and replaces every secret in it, also one that is cut short after 16 characters. */
  redact(text: string): string {
    return redactCut(text, MAX_TEXT_LENGTH, (read) => {
      let redacted = read;
      for (const secret of this.secrets) redacted = redactOne(redacted, secret);
      return redacted;
    });
  }

  /** Wraps credentials so that the secrets they generate are kept. */
  watch(credentials: CallCredentials): CallCredentials {
    return new WatchedCredentials(credentials, this);
  }

  /** @param header Such as `Bearer abc`. */
  private add(header: string): void {
    const secret = header.slice(header.lastIndexOf(' ') + 1);
    if (secret.length < MIN_LENGTH) return;
    // The latest is last.
    this.secrets.delete(secret);
    this.secrets.add(secret);
    for (const oldest of this.secrets) {
      if (this.secrets.size <= MAX_SECRETS) return;
      this.secrets.delete(oldest);
    }
  }
}

class WatchedCredentials extends CallCredentials {
  constructor(
    private readonly inner: CallCredentials,
    private readonly secrets: SentSecrets,
  ) {
    super();
  }

  override async generateMetadata(
    ...args: Parameters<CallCredentials['generateMetadata']>
  ): Promise<Metadata> {
    const metadata = await this.inner.generateMetadata(...args);
    this.secrets.note(metadata);
    return metadata;
  }

  override compose(other: CallCredentials): CallCredentials {
    return new WatchedCredentials(this.inner.compose(other), this.secrets);
  }

  override _equals(other: CallCredentials): boolean {
    return other instanceof WatchedCredentials && this.inner._equals(other.inner);
  }
}

function redactOne(text: string, secret: string): string {
  const start = secret.slice(0, MIN_LENGTH);
  let redacted = '';
  let position = 0;
  for (;;) {
    const found = text.indexOf(start, position);
    if (found < 0) return redacted + text.slice(position);
    redacted += text.slice(position, found) + REDACTED;
    position = found + start.length;
    while (position < text.length && text[position] === secret[position - found]) position++;
  }
}
