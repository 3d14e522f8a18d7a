import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * One address of several replicas, as the `clusterIP` of a Service: each connection leads to the next replica in turn, without
 * those that refuse it, as if kube-proxy knew of each end at once.
 */
export class ServiceAddress {
  private readonly server: Server = createServer((socket) => this.accept(socket));
  private readonly sockets = new Set<Socket>();
  private next = 0;

  private constructor(private readonly ports: readonly number[]) {}

  static async listen(ports: readonly number[]): Promise<ServiceAddress> {
    const address = new ServiceAddress(ports);
    address.server.listen(0, '127.0.0.1');
    await once(address.server, 'listening');
    return address;
  }

  toString(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private accept(client: Socket): void {
    this.keep(client);
    this.forward(client, this.ports.length);
  }

  /** @param attempts How many replicas are tried. */
  private forward(client: Socket, attempts: number): void {
    const port = this.ports[this.next++ % this.ports.length];
    if (port === undefined || attempts === 0) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    this.keep(upstream);
    const tryNext = () => this.forward(client, attempts - 1);
    upstream.once('error', tryNext);
    upstream.once('connect', () => {
      upstream.off('error', tryNext);
      client.pipe(upstream).pipe(client);
      client.once('close', () => upstream.destroy());
      upstream.once('close', () => client.destroy());
    });
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
  }
}
