import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { listen } from '../support/listen';

/** A relay to a port of this machine that holds each piece back for a time, as a long way does. */
export class SlowLink {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: ReturnType<typeof createServer>,
    readonly address: string,
  ) {}

  /** @param delayMs One way. */
  static async start(port: number, delayMs: number): Promise<SlowLink> {
    const server = createServer();
    await listen(server);
    const link = new SlowLink(server, `127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('connection', (near: Socket) => {
      const far = connect(port, '127.0.0.1');
      link.relay(near, far, delayMs);
      link.relay(far, near, delayMs);
    });
    return link;
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private relay(from: Socket, to: Socket, delayMs: number): void {
    this.sockets.add(from);
    from.setNoDelay(true);
    // Timers of one length run in the order in which they were started.
    from.on('data', (bytes) => setTimeout(() => !to.destroyed && to.write(bytes), delayMs));
    from.on('close', () => {
      this.sockets.delete(from);
      setTimeout(() => to.destroy(), delayMs);
    });
    from.on('error', () => undefined);
  }
}
