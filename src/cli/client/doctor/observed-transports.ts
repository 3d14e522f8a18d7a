import type { Result } from '../../../util/result';
import type {
  StreamStatus,
  XdsStreamHandler,
  XdsTransport,
  XdsTransportFactory,
} from '../../../xds-client/transport';

/** Receives what happens on the streams to a server. */
export interface StreamObserver {
  /** A message was received. */
  onMessage(): void;
  /** The server has closed the stream, or there was no connection. */
  onClosed(status: StreamStatus): void;
}

/** Wraps transports so that an observer receives what happens on their streams. */
export function observeTransports(
  factory: XdsTransportFactory,
  observer: StreamObserver,
): XdsTransportFactory {
  return {
    create(server): Result<XdsTransport, string> {
      const created = factory.create(server);
      if (!created.ok) return created;
      const transport = created.value;
      return {
        ok: true,
        value: {
          openStream: (method, handler) =>
            transport.openStream(method, observed(handler, observer)),
          close: () => transport.close(),
        },
      };
    },
  };
}

function observed(handler: XdsStreamHandler, observer: StreamObserver): XdsStreamHandler {
  return {
    onSent: () => handler.onSent(),
    onMessage(bytes) {
      observer.onMessage();
      handler.onMessage(bytes);
    },
    onClosed(status) {
      observer.onClosed(status);
      handler.onClosed(status);
    },
  };
}
