// A metadata server of Google Cloud for tests, on this machine.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

const base64 = (json: unknown) => Buffer.from(JSON.stringify(json)).toString('base64url');

/** A token without a valid signature. */
export function tokenOf(claims: object): string {
  return `${base64({ alg: 'none' })}.${base64(claims)}.c2ln`;
}

/** Answers requests for identity tokens as the test says, and records them. */
export class MetadataServer {
  /** Host and port. */
  address = '';
  /** The audiences of all requests, in order. */
  readonly audiences: (string | null)[] = [];
  /** Answers a request. Default: with a token for the audience that lasts an hour, whose serial number grows. */
  answer = (audience: string | null, response: ServerResponse): void => {
    const exp = Date.now() / 1000 + 3600;
    response.end(`${tokenOf({ aud: audience, exp, serial: this.audiences.length })}\n`);
  };
  private readonly server = createServer((request, response) => this.onRequest(request, response));
  private readonly sockets = new Set<Socket>();

  async start(host = '127.0.0.1'): Promise<this> {
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    await new Promise<void>((resolve) => this.server.listen(0, host, resolve));
    const { port } = this.server.address() as AddressInfo;
    this.address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    return this;
  }

  /** Open connections. */
  get connections(): number {
    return this.sockets.size;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private onRequest({ url = '', method, headers }: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(url, 'http://x');
    response.setHeader('Metadata-Flavor', 'Google');
    const audience = searchParams.get('audience');
    this.audiences.push(audience);
    const isRight =
      method === 'GET' &&
      pathname === '/computeMetadata/v1/instance/service-accounts/default/identity' &&
      headers['metadata-flavor'] === 'Google';
    if (isRight) this.answer(audience, response);
    else response.writeHead(400).end();
  }
}
