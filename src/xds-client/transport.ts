import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Result } from '../util/result';

/** How a stream ended, in gRPC's terms. */
export interface StreamStatus {
  /** A gRPC status code. */
  readonly code: number;
  readonly details: string;
}

/** What a stream tells its owner. No method is called after `onClosed`, nor after `XdsStream.close`. */
export interface XdsStreamHandler {
  /** The message last given to `send` is on a connected transport; the next one may be sent. */
  onSent(): void;
  /** A message arrived. Called once per `read`. */
  onMessage(bytes: Uint8Array): void;
  /** The stream has ended by itself: the server closed it, or no connection could be made. */
  onClosed(status: StreamStatus): void;
}

/** One bidirectional stream of bytes. All calls back are asynchronous to the calls made on it. */
export interface XdsStream {
  /** Sends a message. At most one may be outstanding: wait for `onSent`. */
  send(bytes: Uint8Array): void;
  /** Asks for one more message. Withholding it is flow control. */
  read(): void;
  /** Tells the server that nothing follows; it may still answer, and ends the stream. Nothing is to be sent afterwards. */
  halfClose(): void;
  /** Ends the stream without a call to `onClosed`. Harmless on a stream that has ended by itself. */
  close(): void;
}

/** A connection to one management server. */
export interface XdsTransport {
  /** @param method Full method path, such as `/package.Service/Method`. */
  openStream(method: string, handler: XdsStreamHandler): XdsStream;
  /** Closes the connection and every stream on it. */
  close(): void;
}

/** Makes transports. This is the only seam between the XdsClient and the network. */
export interface XdsTransportFactory {
  /** @returns the transport, or why none can be made (bad credentials, an unknown URI scheme). */
  create(server: ServerConfig): Result<XdsTransport, string>;
}
