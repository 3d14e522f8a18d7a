import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Json } from './xds-json';
import { listen } from './listen';

/** What a request said. */
export interface RestRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
}

/** What to answer; nothing to leave the request unanswered. */
export type RestAnswer =
  | {
      readonly status?: number;
      readonly headers?: Record<string, string>;
      /** An object is sent as JSON. */
      readonly body?: Json | string;
    }
  | undefined;

/** A real HTTP server that remembers what it was asked and answers as a test says. */
export class RestServer {
  readonly requests: RestRequest[] = [];
  private port = 0;

  private constructor(
    private readonly server: Server,
    private readonly scheme: string,
  ) {}

  static async start(
    answer: (request: RestRequest) => RestAnswer,
    tls?: ServerOptions,
  ): Promise<RestServer> {
    const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.on('end', () => {
        const request: RestRequest = {
          method: message.method ?? '',
          path: message.url ?? '',
          headers: message.headers,
          body: JSON.parse(Buffer.concat(chunks).toString()),
        };
        started.requests.push(request);
        respond(response, answer(request));
      });
    };
    const server = tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest);
    const started = new RestServer(server, tls === undefined ? 'http' : 'https');
    await listen(server);
    started.port = addressOf(server).port;
    return started;
  }

  get uri(): string {
    return `${this.scheme}://${this.scheme === 'https' ? 'localhost' : '127.0.0.1'}:${this.port}`;
  }

  /** The bodies of the requests for a path so far. */
  bodies(path: string): Json[] {
    return this.requests.filter((request) => request.path === path).map(({ body }) => body);
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

function respond(response: ServerResponse, answer: RestAnswer): void {
  if (answer === undefined) return;
  const { status = 200, headers = {}, body = '' } = answer;
  response.writeHead(status, headers);
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return address;
}
