import cluster, { type Worker } from 'node:cluster';
import type { StreamMethod } from '../../control-plane/server-stream';
import type { HostedService } from '../../control-plane/service-host';
import { createClusterPort, localRelay, type IpcPort } from './ipc-port';
import { createHandle, type Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { createName, type Random } from '../../util/random';
import type { RelayHost } from '../relay-session';
import { IpcConnection } from './ipc-connection';
import { CLUSTER_URI } from './ipc-message';

/** The options of a host. */
export interface ClusterHostOptions {
  readonly random: Random;
  readonly logger: Logger;
}

interface Started {
  readonly connections: Set<IpcConnection>;
  readonly listening: Handle;
}

/**
 * Serves services to the workers of node:cluster, over the IPC channels that they have, and to the clients in the primary
 * itself. To be used in the primary.
 */
export class ClusterHost implements RelayHost {
  private started: Started | undefined;
  private isMalformedLogged = false;

  constructor(private readonly options: ClusterHostOptions) {}

  /** Starts to serve the workers there are, and those that are forked later. */
  start(services: readonly HostedService<StreamMethod>[], upstream: string): string {
    const connections = new Set<IpcConnection>();
    const session = createName(this.options.random);
    const all = services.flatMap((service) => service.methods);
    const methods = new Map(all.map((method) => [method.path, method]));
    const accept = (port: IpcPort) => {
      if (!port.isConnected) return;
      const connection: IpcConnection = new IpcConnection({
        ...{ port, session, upstream, methods },
        onMalformed: (peer) => this.onMalformed(peer),
        onClosed: () => connections.delete(connection),
      });
      connections.add(connection);
    };
    this.started = { connections, listening: listen(accept) };
    return CLUSTER_URI;
  }

  stop(): void {
    const { started } = this;
    this.started = undefined;
    if (started === undefined) return;
    started.listening.release();
    for (const connection of started.connections) connection.close();
  }

  private onMalformed(peer: string): void {
    if (this.isMalformedLogged) return;
    this.isMalformedLogged = true;
    this.options.logger.error(
      () => `relay: a message from ${peer} with the property grpcXds cannot be read: ignored`,
    );
  }
}

function listen(accept: (port: IpcPort) => void): Handle {
  const onFork = (worker: Worker) => accept(createClusterPort(worker));
  cluster.on('fork', onFork);
  for (const worker of Object.values(cluster.workers ?? {})) {
    if (worker !== undefined) onFork(worker);
  }
  const local = localRelay.serve(accept);
  return createHandle(() => {
    cluster.off('fork', onFork);
    local.release();
  });
}
