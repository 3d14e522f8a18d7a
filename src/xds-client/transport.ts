import type { ServerConfig } from '../bootstrap/bootstrap';
import { createHandle, type Handle } from '../util/handle';
import { ok, type Result } from '../util/result';

/** The status with which a stream ended. */
export interface StreamStatus {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
  /** Whether the server, or a proxy before it, has answered: then it can be reached. Default: not known. */
  readonly hasAnswered?: boolean;
  /**
   * Whether another process has taken the place of the server, which is no failure: a stream to it is opened at once. Default:
   * `false`.
   */
  readonly isSucceeded?: boolean;
  /**
   * Notifies once when a new stream can be opened, which ends the backoff before it. Default: nothing is known of that.
   *
   * @returns a handle that ends the notification.
   */
  readonly retryWhen?: (onReady: () => void) => Handle;
  /** The connection that the stream was on, as a number of the transport, if it outlived the stream. Default: it did not. */
  readonly connection?: number;
}

/** Receives the events of a stream. No method is called after `onClosed`, nor after `XdsStream.close`. */
export interface XdsStreamHandler {
  /** The message last given to `send` is on a connected transport; the next one may be sent. */
  onSent(): void;
  /** A message arrived. Called once per `read`. */
  onMessage(bytes: Uint8Array): void;
  /** The server has closed the stream, or no connection could be made. */
  onClosed(status: StreamStatus): void;
}

/** One bidirectional stream of bytes. Its handler is never called from within a call of its methods. */
export interface XdsStream {
  /** Sends a message. At most one may be outstanding: wait for `onSent`. */
  send(bytes: Uint8Array): void;
  /** Requests one more message: this is flow control. */
  read(): void;
  /** Half-closes the stream: no message may be sent afterwards. The server may still respond, and ends the stream. */
  halfClose(): void;
  /** Ends the stream without a call to `onClosed`. Has no effect on a stream that has ended. */
  close(): void;
}

/** Binary headers of a stream, by name. */
export type StreamHeaders = Readonly<Record<string, Buffer>>;

/** A connection to one management server. */
export interface XdsTransport {
  /**
   * @param method Full method path, such as `/package.Service/Method`.
   * @param headers Of streams of gRPC; other transports send none. Default: none.
   */
  openStream(method: string, handler: XdsStreamHandler, headers?: StreamHeaders): XdsStream;
  /** Closes the connection. The user has closed its streams. */
  close(): void;
}

/** Options of the application for connections to servers (gRFC A110), of which only the transport knows what they are. */
export interface ConnectionOptions {
  /** Whether two objects have the same options. */
  equals(other: unknown): boolean;
}

/** Creates transports. This is the only interface between the XdsClient and the network. */
export interface XdsTransportFactory {
  /**
   * @param options Default: the application has none.
   * @returns the transport, or why there can be none (bad credentials, an unknown URI scheme).
   */
  create(server: ServerConfig, options?: ConnectionOptions): Result<XdsTransport, string>;
}

/** Returns a factory whose transports have these options. */
export function withConnectionOptions(
  factory: XdsTransportFactory,
  options: ConnectionOptions | undefined,
): XdsTransportFactory {
  return options === undefined ? factory : { create: (server) => factory.create(server, options) };
}

interface Shared {
  readonly serverKey: string;
  readonly options: ConnectionOptions | undefined;
  readonly transport: XdsTransport;
  users: number;
}

/**
 * Shares one connection among the users of a server with the same options. It closes with the last of them: each closes its
 * own streams.
 */
export class SharedTransports implements XdsTransportFactory {
  private readonly open = new Set<Shared>();

  constructor(private readonly factory: XdsTransportFactory) {}

  create(server: ServerConfig, options?: ConnectionOptions): Result<XdsTransport, string> {
    const { key: serverKey } = server;
    const known = [...this.open].find(
      (each) => each.serverKey === serverKey && isSame(each.options, options),
    );
    if (known !== undefined) return ok(this.use(known));
    const made = this.factory.create(server, options);
    if (!made.ok) return made;
    const shared: Shared = { serverKey, options, transport: made.value, users: 0 };
    this.open.add(shared);
    return ok(this.use(shared));
  }

  private use(shared: Shared): XdsTransport {
    const { transport } = shared;
    shared.users++;
    const use = createHandle(() => {
      if (--shared.users > 0) return;
      this.open.delete(shared);
      transport.close();
    });
    return {
      openStream: (...args) => transport.openStream(...args),
      close: () => use.release(),
    };
  }
}

function isSame(a: ConnectionOptions | undefined, b: ConnectionOptions | undefined): boolean {
  return a === undefined ? b === undefined : a.equals(b);
}
