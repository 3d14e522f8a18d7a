import { createServer, type Server } from 'node:http';

/** What probes are answered from. */
export interface Probes {
  /** Returns why clients are not served; `undefined` if they are. */
  readiness(): string | undefined;
  /** Returns the text of the metrics. */
  metrics(): string;
}

/** Connections at once: the kubelet and two or three that collect metrics. */
const MAX_CONNECTIONS = 100;
const REQUEST_TIMEOUT_MS = 5000;

/** Answers `/healthz`, `/readyz` and `/metrics` over HTTP, to anyone who reaches it. */
export class ProbeServer {
  private constructor(private readonly server: Server) {}

  /** @throws the system's error if the address cannot be used. */
  static start(address: { host: string; port: number }, probes: Probes): Promise<ProbeServer> {
    const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
      const [status, text] = answer(request.url ?? '', probes);
      response.writeHead(status, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
      response.end(request.method === 'HEAD' ? undefined : text);
    });
    server.maxConnections = MAX_CONNECTIONS;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(address, () => {
        server.off('error', reject);
        // A later error is that of one accept.
        server.on('error', () => {});
        resolve(new ProbeServer(server));
      });
    });
  }

  get port(): number {
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function answer(url: string, probes: Probes): readonly [status: number, text: string] {
  switch (url.split('?', 1)[0]) {
    case '/healthz':
      return [200, 'ok\n'];
    case '/readyz': {
      const reason = probes.readiness();
      return reason === undefined ? [200, 'ok\n'] : [503, `${reason}\n`];
    }
    case '/metrics':
      return [200, probes.metrics()];
    default:
      return [404, 'use /healthz, /readyz or /metrics\n'];
  }
}
