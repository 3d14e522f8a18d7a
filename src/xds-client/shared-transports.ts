import type { ServerConfig } from '../bootstrap/bootstrap';
import { ok, type Result } from '../util/result';
import type { ConnectionOptions, XdsStream, XdsTransport, XdsTransportFactory } from './transport';

interface Shared {
  readonly transport: XdsTransport;
  readonly options: ConnectionOptions | undefined;
  users: number;
}

/**
 * Shares one connection among the users of a server with the same options. Each of them closes its own transport, which
 * ends its streams; the connection closes with the last.
 */
export class SharedTransports implements XdsTransportFactory {
  private readonly byServer = new Map<string, Set<Shared>>();

  constructor(private readonly factory: XdsTransportFactory) {}

  create(server: ServerConfig, options?: ConnectionOptions): Result<XdsTransport, string> {
    const open = this.byServer.get(server.key) ?? new Set();
    let shared = [...open].find((each) => isSame(each.options, options));
    if (shared === undefined) {
      const made = this.factory.create(server, options);
      if (!made.ok) return made;
      shared = { transport: made.value, options, users: 0 };
      this.byServer.set(server.key, open.add(shared));
    }
    const { transport } = shared;
    const used = shared;
    used.users++;
    return ok(
      new TransportUse(transport, () => {
        if (--used.users > 0) return;
        open.delete(used);
        if (open.size === 0) this.byServer.delete(server.key);
        transport.close();
      }),
    );
  }
}

function isSame(a: ConnectionOptions | undefined, b: ConnectionOptions | undefined): boolean {
  return a === undefined ? b === undefined : a.equals(b);
}

/** The transport of one user of a connection. */
class TransportUse implements XdsTransport {
  private readonly streams = new Set<XdsStream>();
  private isClosed = false;

  constructor(
    private readonly transport: XdsTransport,
    private readonly onClose: () => void,
  ) {}

  openStream(...[method, handler]: Parameters<XdsTransport['openStream']>): XdsStream {
    const stream = this.transport.openStream(method, {
      onSent: () => handler.onSent(),
      onMessage: (bytes) => handler.onMessage(bytes),
      onClosed: (status) => {
        this.streams.delete(stream);
        handler.onClosed(status);
      },
    });
    this.streams.add(stream);
    return {
      send: (bytes) => stream.send(bytes),
      read: () => stream.read(),
      halfClose: () => stream.halfClose(),
      close: () => {
        this.streams.delete(stream);
        stream.close();
      },
    };
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const stream of this.streams) stream.close();
    this.onClose();
  }
}
