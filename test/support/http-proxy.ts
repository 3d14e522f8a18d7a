// An HTTP proxy for tests.

import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** A proxy that carries out CONNECT for addresses of this machine, and counts what it was asked for. */
export class HttpProxy {
  port = 0;
  /** The targets of CONNECT, in order. */
  readonly targets: string[] = [];
  /** The status of answers; other than 200 no connection is made. */
  status = 200;
  /** Whether the answer comes together with the first bytes of the server, which then must speak first. */
  waitsForServer = false;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer();

  constructor() {
    this.server.on('connect', ({ url = '' }, socket: Socket) => this.relay(url, socket));
  }

  /** @param host The address to listen on. */
  async start(host = '127.0.0.1'): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, host, resolve));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private relay(target: string, socket: Socket): void {
    this.targets.push(target);
    this.track(socket);
    if (this.status !== 200) {
      socket.end(`HTTP/1.1 ${this.status} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${target}`);
    const upstream = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''));
    this.track(upstream);
    const answer = Buffer.from('HTTP/1.1 200 OK\r\nVia: test\r\n\r\n');
    const start = (first = Buffer.alloc(0)) => {
      socket.write(Buffer.concat([answer, first]));
      upstream.pipe(socket);
    };
    if (this.waitsForServer) upstream.once('data', start);
    else upstream.once('connect', () => start());
    socket.pipe(upstream);
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
  }
}
