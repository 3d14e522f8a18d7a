import type { CreateCall } from './intercepted-subchannel';

type Call = ReturnType<CreateCall>;

/** What is used of the private transport of a subchannel. */
interface Transport {
  removeActiveCall(call: Call): void;
}

/**
 * Keeps a call from keeping the process alive: a connection without calls of the application does not, and a stream
 * that this package opens on it is none. grpc-js counts calls in its private transport
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/transport.ts, `removeActiveCall`).
 * A call that is not counted gets no keepalive pings, and ends with its HTTP/2 stream. Where the method is missing,
 * the process stays alive until the connection is closed.
 *
 * @param connection What the call was created on.
 */
export function putCallInBackground(connection: object, call: Call): void {
  const transport = 'transport' in connection ? connection.transport : undefined;
  if (isTransport(transport)) transport.removeActiveCall(call);
}

function isTransport(value: unknown): value is Transport {
  return (
    typeof value === 'object' &&
    value !== null &&
    'removeActiveCall' in value &&
    typeof value.removeActiveCall === 'function'
  );
}
