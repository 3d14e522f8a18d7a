import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pageAssets } from '../generated/page-assets';
import type { Clock } from '../../../../src/util/clock';
import { errorMessage } from '../../../../src/util/errors';
import { joinHostPort } from '../../../../src/util/text';
import { LiveStreams } from './live-streams';
import {
  parseOptions,
  checkRequest,
  checkToken,
  type Access,
  type AdminPageOptions,
} from './page-access';
import { parseViewRequests, type About, type PageSource } from './view';
import { XdsError } from 'grpc-xds';

/** A page that is being served. */
export interface AdminPage {
  /** With the token, which the page needs. */
  readonly url: string;
  readonly port: number;
  /** Ends all connections, and stops listening. */
  close(): Promise<void>;
}

/** Connections at once; those beyond it are closed. A page needs two. */
const MAX_CONNECTIONS = 8;
/** The request line and the headers. */
const MAX_REQUEST_BYTES = 8192;
/** The time in which a request has to arrive, and that between two of a connection. */
const REQUEST_TIMEOUT_MS = 5000;

/** Responses of one connection that are not sent yet; a page waits for each. A request beyond them ends the connection. */
const MAX_PIPELINED = 4;
/** The time in which a reader has to read something of a response. Streams have a heartbeat in less. */
const READ_TIMEOUT_MS = 30_000;

/** Sent with each response. Everything is from this origin, and no script can make markup of a text. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/**
 * Serves a page over HTTP until it is closed. It does not keep the process alive.
 *
 * @throws XdsError if an option is invalid.
 * @returns A promise that is rejected if the address cannot be used.
 */
export async function servePage(
  options: AdminPageOptions,
  createSource: () => PageSource,
  clock: Clock,
): Promise<AdminPage> {
  const access = parseOptions(options);
  const { signal } = options;
  signal?.throwIfAborted();
  const page = await new PageServer(access, createSource(), clock).listen();
  if (signal?.aborted === true) await page.close();
  signal?.throwIfAborted();
  return page;
}

class PageServer {
  /** The connections, each with the number of its responses that are not sent yet. */
  private readonly sockets = new Map<Socket, number>();
  private readonly streams: LiveStreams;
  private readonly server: Server;

  constructor(
    private readonly access: Access,
    private readonly source: PageSource,
    clock: Clock,
  ) {
    this.streams = new LiveStreams(source, clock);
    const limits = {
      maxHeaderSize: MAX_REQUEST_BYTES,
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: REQUEST_TIMEOUT_MS / 5,
    };
    this.server = createServer(limits, (request, response) => this.accept(request, response));
    this.server.maxConnections = MAX_CONNECTIONS;
    this.server.timeout = READ_TIMEOUT_MS;
    this.server.on('connection', (socket) => this.track(socket));
  }

  listen(): Promise<AdminPage> {
    const { server, access } = this;
    return new Promise((resolve, reject) => {
      server.once('error', (error) => {
        this.source.release();
        reject(new XdsError('XDS_LISTEN_FAILED', error.message, { cause: error }));
      });
      server.listen({ host: access.host, port: access.port }, () => {
        server.unref();
        const address = server.address();
        const port = typeof address === 'object' && address !== null ? address.port : access.port;
        const url = `http://${joinHostPort(access.host, port)}/#token=${access.token}`;
        resolve({ url, port, close: () => this.close() });
      });
    });
  }

  private close(): Promise<void> {
    this.streams.release();
    this.source.release();
    const closed = new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
    for (const socket of this.sockets.keys()) socket.destroy();
    return closed;
  }

  private track(socket: Socket): void {
    socket.unref();
    this.sockets.set(socket, 0);
    socket.once('close', () => this.sockets.delete(socket));
  }

  private accept(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const unsent = this.sockets.get(socket);
    if (unsent === undefined || socket.destroyed) return;
    if (unsent >= MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    this.sockets.set(socket, unsent + 1);
    response.once('finish', () => {
      const count = this.sockets.get(socket);
      if (count !== undefined) this.sockets.set(socket, count - 1);
    });
    try {
      this.respond(request, response);
    } catch (error) {
      sendFailure(response, error);
    }
  }

  private respond(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const checked = { method: request.method, headers: request.headersDistinct };
    const { pathname, searchParams } = parseUrl(request.url);
    const isState = pathname.startsWith('/api/');
    const refusal =
      checkRequest(checked, this.access) ??
      (isState ? checkToken(checked, this.access) : undefined);
    if (refusal !== undefined) {
      // What is left of the request is not read.
      response.setHeader('Connection', 'close').setHeader('Allow', 'GET, HEAD');
      sendText(response, refusal.status, refusal.text);
    } else if (isState) this.sendState(pathname.slice('/api/'.length), searchParams, response);
    else sendAsset(pathname, this.source.about, response);
  }

  private sendState(name: string, query: URLSearchParams, response: ServerResponse): void {
    if (name === 'stream') {
      this.sendStream(query, response);
      return;
    }
    const { source } = this;
    const answer = name === 'about' ? source.about : source.answer(name, new Map(query));
    void sendAnswer(response, answer);
  }

  private sendStream(query: URLSearchParams, response: ServerResponse): void {
    const requests = parseViewRequests(query);
    if (!requests.ok) {
      sendText(response, 400, requests.error);
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    const stream = this.streams.add(response, requests.value);
    response.once('close', () => stream.release());
  }
}

/** Parses the path and the query of a request; one that is not valid leads nowhere. */
function parseUrl(url = ''): Pick<URL, 'pathname' | 'searchParams'> {
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  return { pathname: path, searchParams: new URLSearchParams(query) };
}

async function sendAnswer(
  response: ServerResponse,
  answer: ReturnType<PageSource['answer']>,
): Promise<void> {
  try {
    const found = await answer;
    if (found === undefined) sendText(response, 404, 'there is no such thing');
    else send(response, 200, 'application/json; charset=utf-8', JSON.stringify(found));
  } catch (error) {
    sendFailure(response, error);
  }
}

/** Answers that the state cannot be shown: it may have anything that a server has sent. */
function sendFailure(response: ServerResponse, error: unknown): void {
  if (response.headersSent) response.destroy();
  else sendText(response, 500, `the state cannot be shown: ${errorMessage(error)}`);
}

/** Sends a file. The page has its kind, which says what it has to request. */
function sendAsset(path: string, { kind }: About, response: ServerResponse): void {
  const asset = pageAssets.get(path);
  if (asset === undefined) sendText(response, 404, 'there is no such page');
  else if (path !== '/') send(response, 200, asset.type, asset.text);
  else send(response, 200, asset.type, asset.text.replace('data-kind=""', `data-kind="${kind}"`));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, 'text/plain; charset=utf-8', `${text}\n`);
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
