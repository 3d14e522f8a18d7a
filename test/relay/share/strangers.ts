import { chmodSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import { createServer, type Server, type Socket } from 'node:net';
import { Server as GrpcServer, type sendUnaryData } from '@grpc/grpc-js';
import { RELAY_INSPECT_PATH } from '../../../src/util/relay-names';
import { bind } from '../../support/listen';

/** Ends a server with its connections. */
export type End = () => void;

/** Listens at a path that only this user can connect to. */
async function listen(server: Server, path: string): Promise<End> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  chmodSync(path, 0o600);
  return () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
}

/** @param answer The response of the method by which a relay describes itself. Default: calls of it end with UNIMPLEMENTED. */
export async function listenByGrpc(path: string, answer?: string): Promise<End> {
  const server = new GrpcServer();
  const isSame = (bytes: Buffer) => bytes;
  const codec = { requestSerialize: isSame, requestDeserialize: isSame };
  const answers = { responseSerialize: isSame, responseDeserialize: isSame };
  const method = { path: RELAY_INSPECT_PATH, requestStream: false, responseStream: false };
  if (answer !== undefined) {
    const Inspect = (_call: unknown, callback: sendUnaryData<Buffer>) =>
      callback(null, Buffer.from(answer));
    server.addService({ Inspect: { ...method, ...codec, ...answers } }, { Inspect });
  }
  await bind(server, undefined, `unix:${path}`);
  chmodSync(path, 0o600);
  return () => server.forceShutdown();
}

/** Servers that are no relays, each with why it is none. */
export const strangers: readonly (readonly [string, (path: string) => Promise<End>, string])[] = [
  ['gRPC', (path) => listenByGrpc(path), 'it answered with UNIMPLEMENTED'],
  ['another answer', (path) => listenByGrpc(path, '[]'), 'its answer is not that of a relay'],
  [
    'HTTP/1',
    (path) =>
      listen(
        createHttp((_request, response) => void response.end()),
        path,
      ),
    'it does not speak HTTP/2',
  ],
  [
    'HTTP/2 that finds nothing',
    (path) =>
      listen(
        createHttp2().on('stream', (stream) => {
          stream.respond({ ':status': 404 }, { endStream: true });
        }),
        path,
      ),
    'it answered with the HTTP status 404',
  ],
  [
    'HTTP/2 with pages',
    (path) =>
      listen(
        createHttp2().on('stream', (stream) => {
          stream.respond({ ':status': 200, 'content-type': 'text/html' });
          stream.end('<html>');
        }),
        path,
      ),
    'it does not speak gRPC',
  ],
  [
    'an echo',
    (path) =>
      listen(
        createServer((socket) => void socket.pipe(socket)),
        path,
      ),
    'it does not speak HTTP/2',
  ],
  [
    'nothing',
    (path) => listen(createServer(), path),
    'nothing has answered as a relay within 5.0 s',
  ],
  [
    'HTTP/2 without an answer',
    (path) => listen(createHttp2(), path),
    'nothing has answered as a relay within 5.0 s',
  ],
  [
    'settings before an end',
    (path) =>
      listen(
        createServer((socket) => {
          // An empty frame of the type SETTINGS.
          socket.write(Buffer.from('000000040000000000', 'hex'));
          setTimeout(() => socket.destroy(), 5);
        }),
        path,
      ),
    'nothing has answered as a relay within 5.0 s',
  ],
  [
    'an end at once',
    (path) =>
      listen(
        createServer((socket) => void socket.destroy()),
        path,
      ),
    'nothing has answered as a relay within 5.0 s',
  ],
];

/**
 * Serves as a relay that describes itself, and closes nothing.
 * @returns its end, and the number of requests that do not end.
 */
export async function serveIdentity(
  path: string,
): Promise<{ readonly end: End; readonly held: () => number }> {
  let held = 0;
  const server = createHttp2().on('stream', (stream) => {
    held++;
    stream.resume().once('end', () => {
      held--;
      if (stream.destroyed) return;
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc' },
        { waitForTrailers: true },
      );
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      const json = Buffer.from('{"relay":{"pid":12}}');
      stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, json.length), json]));
    });
  });
  return { end: await listen(server, path), held: () => held };
}

/** Relays of other versions of this package. */
export const otherVersions: readonly (readonly [string, (path: string) => Promise<End>])[] = [
  [
    'earlier',
    (path) =>
      listenByGrpc(path, '{"schema":1,"pid":12,"relay":{"pid":12,"nodeId":"n","types":[]}}'),
  ],
  [
    'later',
    (path) => listenByGrpc(path, '{"schema":2,"relay":{"pid":12,"upstream":["a"],"more":{}}}'),
  ],
];
