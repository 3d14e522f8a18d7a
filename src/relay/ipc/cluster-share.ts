import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { err, ok, type Result } from '../../util/result';
import { sanitizeText } from '../../util/text';
import { toIso } from '../../util/since';
import type { ShareReport } from '../../observe/admin/share-report';
import type { XdsTransport } from '../../xds-client/transport';
import type { InheritedResource } from '../inherited-resources';
import type { RelayServer } from '../relay-server';
import type { RelayHost } from '../relay-session';
import type { Share } from '../share/share';
import { ClusterHost } from './cluster-host';
import { CLUSTER_URI } from './ipc-message';
import { createClusterPort, localRelay } from './ipc-port';
import { IpcTransport } from './ipc-transport';

export { CLUSTER_URI };

/** Constructor options of the share of a cluster. */
export interface ClusterShareOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Creates the relay of a primary. @throws Error if the bootstrap cannot be used. */
  readonly createRelay: (host: RelayHost) => RelayServer;
  /** Returns the resources that the clients of the primary have accepted. */
  readonly inherited: () => Iterable<InheritedResource>;
}

/** Milliseconds until a relay that could not be started is tried again: an agent may write the bootstrap later. */
const RETRY_MS = 5000;

/**
 * The processes of node:cluster share the streams of the primary. A process that is no worker of a cluster is the primary of one,
 * also if another process has forked it by `child_process`.
 */
export class ClusterShare implements Share {
  readonly serverUri = CLUSTER_URI;
  /** The management servers of this process, once they are known: see `describeUpstream`. */
  upstream: string | undefined;
  /** The latest one. */
  private transport: IpcTransport | undefined;
  private seenCount = 0;
  private readyAtMs: number | undefined;
  private relay: RelayServer | undefined;
  private timer: Handle | undefined;
  private isStopped = false;
  /** Why the relay could not be started, as logged. */
  private reported: string | undefined;

  constructor(private readonly options: ClusterShareOptions) {}

  start(): void {
    const serves = isMainThread && cluster.isPrimary;
    if (!serves || this.isStopped || this.relay !== undefined || this.timer !== undefined) return;
    void this.serve();
  }

  createTransport(server: ServerConfig): Result<XdsTransport, string> {
    if (!isMainThread) {
      return err(
        `${server.serverUri}: a worker thread is no process of node:cluster: use register({ share: 'threads' })`,
      );
    }
    const { upstream } = this;
    const options = { ...this.options, upstream, onWelcome: () => this.onWelcome() };
    if (cluster.worker !== undefined) {
      this.transport = new IpcTransport(createClusterPort(cluster.worker), options);
    } else {
      const connection = localRelay.connect(options.clock);
      this.transport = new IpcTransport(connection.port, options, connection);
    }
    return ok(this.transport);
  }

  describe(): Omit<ShareReport, 'text'> {
    const { relay, transport, seenCount, readyAtMs } = this;
    const serves = relay !== undefined;
    const reason = transport?.problem ?? this.reported;
    const upstream = this.upstream ?? relay?.inspect().upstream ?? '';
    const takeovers = Math.max(0, seenCount - 1);
    const common = { address: this.serverUri, upstream, takeovers };
    if (reason !== undefined) return { ...common, state: 'unavailable', reason, role: 'none' };
    if (transport === undefined && !serves) return { ...common, state: 'unused', role: 'none' };
    return {
      ...{ ...common, state: 'ready', role: serves ? 'relay' : 'client' },
      ...(serves && { clients: relay.clientCount }),
      pid: cluster.isPrimary ? process.pid : process.ppid,
      ...(readyAtMs !== undefined && { since: toIso(readyAtMs) }),
    };
  }

  private onWelcome(): void {
    this.seenCount++;
    this.readyAtMs = this.options.clock.now();
  }

  async stop(timeoutMs: number): Promise<void> {
    this.isStopped = true;
    this.timer?.release();
    const { relay } = this;
    this.relay = undefined;
    if (relay === undefined) return;
    const keepsAlive = true;
    const timer = this.options.clock.setTimer(() => relay.kill(), timeoutMs, keepsAlive);
    await relay.stop();
    timer.release();
  }

  private async serve(): Promise<void> {
    const { createRelay, inherited, clock, logger } = this.options;
    this.timer = undefined;
    try {
      this.relay = createRelay(new ClusterHost(this.options));
      await this.relay.start({ inherited: inherited() });
      const before = this.reported;
      this.reported = undefined;
      if (before !== undefined) {
        logger.info(() => 'relay of node:cluster: can be used again', { event: 'recovered' });
      }
    } catch (error) {
      this.relay = undefined;
      if (this.isStopped) return;
      this.timer = clock.setTimer(() => void this.serve(), RETRY_MS);
      this.report(errorMessage(error));
    }
  }

  private report(reason: string): void {
    if (this.reported === reason) return;
    this.reported = reason;
    const text = `relay of node:cluster: cannot be used: ${reason}; the workers use their management servers directly: see docs/guides/several-processes.md`;
    this.options.logger.error(() => sanitizeText(text), { event: 'relay-failed', error: reason });
  }
}
