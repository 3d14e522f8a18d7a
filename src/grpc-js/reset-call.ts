import { constants } from 'node:http2';

/** What is used of the private HTTP/2 stream of a call. */
interface Resettable {
  close(code: number): void;
}

/** More interceptors than any server has. */
const MAX_CALLS = 100;

/**
 * Resets the HTTP/2 stream of a call that a server is answering, and so frees a response that the caller does not read.
 * A status would wait behind that response. The caller sees RESOURCE_EXHAUSTED. grpc-js keeps the stream in the innermost
 * of its private calls
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server-interceptors.ts,
 * `BaseServerInterceptingCall`). Where it is missing, the call lasts until the caller ends it.
 */
export function resetCall(call: object): void {
  let inner = property(call, 'call');
  for (let i = 0; i < MAX_CALLS && property(inner, 'nextCall') !== undefined; i++) {
    inner = property(inner, 'nextCall');
  }
  const stream = property(inner, 'stream');
  if (isResettable(stream)) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Reflect.get(value, name);
}

function isResettable(value: unknown): value is Resettable {
  return (
    typeof value === 'object' &&
    value !== null &&
    'close' in value &&
    typeof value.close === 'function'
  );
}
