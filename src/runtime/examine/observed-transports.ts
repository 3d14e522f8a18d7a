import type { Result } from '../../util/result';
import { isDisplaced } from '../../xds-client/stream-ends';
import type {
  StreamStatus,
  XdsStreamHandler,
  XdsTransport,
  XdsTransportFactory,
} from '../../xds-client/transport';

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

/** Wraps transports so that the server of each stream that another process has displaced is handed over. */
export function observeDisplaced(
  factory: XdsTransportFactory,
  onDisplaced: (serverUri: string) => void,
): XdsTransportFactory {
  return {
    create: (server) =>
      observeTransports(factory, {
        onMessage() {},
        onClosed: (status) => {
          if (isDisplaced(status)) onDisplaced(server.serverUri);
        },
      }).create(server),
  };
}

/** Says that streams of a command were displaced, and what that means for the processes of an application. */
export function describeDisplaced(serverUri: string, count: number): string {
  const streams = count === 1 ? 'a stream' : `${count} streams`;
  return (
    `${serverUri} ended ${streams} of this command with OK, and got another one: it keeps one stream for each host, as the agent of ` +
    'Istio does, and another process uses it. Without GRPC_XDS_SHARE, which lets processes share one stream, changes are in use up ' +
    'to 10 s late in several processes of an application, authorization policies included'
  );
}
