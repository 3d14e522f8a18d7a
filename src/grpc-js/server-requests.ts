import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { streamOf } from './host-internals';

/** By the stream: interceptors of an application may start calls in another order than that of the requests. */
const headersOfStreams = new WeakMap<object, IncomingHttpHeaders>();
const onStream = headersOfStreams.set.bind(headersOfStreams);

/**
 * Makes the headers of the requests of a server visible to {@link requestHeadersOf}: grpc-js hides the method and the content type from
 * interceptors. It creates its HTTP/2 servers in a private method
 * (https://github.com/grpc/grpc-node/blob/@grpc/grpc-js@1.14.0/packages/grpc-js/src/server.ts, `createHttp2Server`). Where that is
 * missing, they stay hidden.
 */
export function showRequestHeaders(server: object): void {
  const create: unknown = Reflect.get(server, 'createHttp2Server');
  if (typeof create !== 'function') return;
  Reflect.set(server, 'createHttp2Server', (...args: readonly unknown[]): unknown => {
    const http2Server: unknown = Reflect.apply(create, server, args);
    if (http2Server instanceof EventEmitter) http2Server.prependListener('stream', onStream);
    return http2Server;
  });
}

/**
 * Returns the headers of a call as they were sent.
 *
 * @param call What an interceptor is called with.
 * @returns `undefined` where they are hidden.
 */
export function requestHeadersOf(call: object): IncomingHttpHeaders | undefined {
  const stream = streamOf(call);
  return typeof stream === 'object' && stream !== null ? headersOfStreams.get(stream) : undefined;
}
