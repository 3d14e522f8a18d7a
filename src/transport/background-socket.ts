import { createHandle, type Handle } from '../util/handle';

/** What is used of a socket. */
export interface RefCountedSocket {
  ref?(): unknown;
  unref?(): unknown;
}

/**
 * Lets the process end although the socket is open, until the handle is released. An open stream of resources is
 * nothing an application waits for. An HTTP/2 session keeps the process alive through `ref()` of its socket
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
    // What was put over the method of the prototype.
    Reflect.deleteProperty(socket, 'ref');
    socket.ref?.();
  });
}
