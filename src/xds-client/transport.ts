import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Result } from '../util/result';

/** The status with which a stream ended. */
export interface StreamStatus {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
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

/** A connection to one management server. */
export interface XdsTransport {
  /** @param method Full method path, such as `/package.Service/Method`. */
  openStream(method: string, handler: XdsStreamHandler): XdsStream;
  /** Closes the connection and every stream on it. */
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
