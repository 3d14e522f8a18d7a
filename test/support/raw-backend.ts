import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { listen } from './listen';

/** A server of HTTP/2 whose streams a test handles itself. */
export class RawBackend {
  private readonly server: Http2Server;
  private readonly sessions = new Set<{ destroy(): void }>();

  constructor(onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) {
    this.server = createServer();
    this.server.on('session', (session) => {
      this.sessions.add(session);
      session.on('close', () => this.sessions.delete(session));
    });
    this.server.on('stream', (stream, headers) => {
      stream.on('error', () => {});
      onStream(stream, headers);
    });
  }

  /** @returns its port. */
  async listen(): Promise<number> {
    await listen(this.server);
    const address: string | AddressInfo | null = this.server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return address.port;
  }

  close(): void {
    for (const session of this.sessions) session.destroy();
    this.server.close();
  }
}

/** Ends a stream with a status, and no messages. */
export function endWith(stream: ServerHttp2Stream, code: number, message: string): void {
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': String(code),
      'grpc-message': message,
    },
    { endStream: true },
  );
}
