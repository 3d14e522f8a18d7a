import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What becomes of the bytes of a connection. */
export type LinkMode =
  | { readonly kind: 'pass' }
  /** They arrive when the mode changes, as after a network was away for some time. */
  | { readonly kind: 'hold' }
  /** They never arrive, and nobody is told. */
  | { readonly kind: 'lose' }
  /** Those for the client arrive slowly. */
  | { readonly kind: 'trickle'; readonly bytesPerSecond: number }
  /** After so many for the client, the connection is reset. */
  | { readonly kind: 'cut'; readonly afterBytes: number };

const PASS: LinkMode = { kind: 'pass' };
const TRICKLE_INTERVAL_MS = 20;

/** A TCP proxy in front of a server, with the faults of a network. */
export class FaultyLink {
  private readonly connections = new Set<Connection>();
  private server: Server | undefined;
  private newMode = PASS;
  private port = 0;
  /** Connections made by clients, ever. */
  accepted = 0;
  /** Connections made since the server last answered; whoever knows sets it back. */
  sinceAnswer = 0;

  constructor(private readonly targetPort: number) {}

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Whether connections are taken. */
  get isListening(): boolean {
    return this.server !== undefined;
  }

  /** Listens; after `refuse`, on the same port. */
  async listen(): Promise<void> {
    const server = createServer((socket) => this.accept(socket));
    this.server = server;
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as AddressInfo;
    this.port = address.port;
  }

  /** Resets every connection and takes no more. */
  refuse(): void {
    this.server?.close();
    this.server = undefined;
    this.reset();
  }

  /** Resets every connection (RST). */
  reset(): void {
    for (const connection of this.connections) connection.reset();
  }

  /** Applies to all connections there are. */
  setMode(mode: LinkMode): void {
    for (const connection of this.connections) connection.setMode(mode);
  }

  /** Applies to connections yet to be made. */
  setModeOfNew(mode: LinkMode): void {
    this.newMode = mode;
  }

  private accept(client: Socket): void {
    this.accepted++;
    this.sinceAnswer++;
    const connection = new Connection(client, connect(this.targetPort, '127.0.0.1'), this.newMode);
    this.connections.add(connection);
    client.once('close', () => this.connections.delete(connection));
  }
}

/** A connection through the link. */
class Connection {
  private readonly down: Buffer[] = [];
  private readonly up: Buffer[] = [];
  private passed = 0;
  private drip: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private mode: LinkMode,
  ) {
    for (const socket of [client, upstream]) socket.on('error', () => {}).setNoDelay(true);
    client.on('data', (bytes) => this.onUp(bytes));
    upstream.on('data', (bytes) => this.onDown(bytes));
    client.on('close', () => {
      clearInterval(this.drip);
      upstream.destroy();
    });
    // Who is cut off does not learn that the other side has gone.
    upstream.on('close', () => {
      if (this.mode.kind !== 'lose' && this.mode.kind !== 'hold') client.destroy();
    });
    this.setMode(mode);
  }

  setMode(mode: LinkMode): void {
    clearInterval(this.drip);
    this.mode = mode;
    this.passed = 0;
    if (mode.kind === 'pass') this.flush();
    if (mode.kind === 'trickle') {
      const share = Math.max(1, Math.round((mode.bytesPerSecond * TRICKLE_INTERVAL_MS) / 1000));
      this.drip = setInterval(() => this.dripDown(share), TRICKLE_INTERVAL_MS);
    }
  }

  reset(): void {
    this.client.resetAndDestroy();
  }

  private onUp(bytes: Buffer): void {
    if (this.mode.kind === 'hold') this.up.push(bytes);
    else if (this.mode.kind !== 'lose') this.upstream.write(bytes);
  }

  private onDown(bytes: Buffer): void {
    switch (this.mode.kind) {
      case 'hold':
      case 'trickle':
        this.down.push(bytes);
        return;
      case 'lose':
        return;
      case 'cut': {
        const room = this.mode.afterBytes - this.passed;
        this.passed += bytes.length;
        if (bytes.length <= room) this.client.write(bytes);
        else this.client.write(bytes.subarray(0, room), () => this.reset());
        return;
      }
      case 'pass':
        this.client.write(bytes);
    }
  }

  private flush(): void {
    for (const bytes of this.up.splice(0)) this.upstream.write(bytes);
    for (const bytes of this.down.splice(0)) this.client.write(bytes);
    if (this.upstream.destroyed) this.client.end();
  }

  private dripDown(share: number): void {
    const [first] = this.down;
    if (first === undefined) return;
    this.client.write(first.subarray(0, share));
    if (first.length > share) this.down[0] = first.subarray(share);
    else this.down.shift();
  }
}
