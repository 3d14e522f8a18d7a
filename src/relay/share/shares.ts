import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { BootstrapConfig } from '../../bootstrap/bootstrap-config';
import type { Limits } from '../../bootstrap/limits';
import type { Clock } from '../../util/clock';
import { late } from '../../util/late';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import type { Result } from '../../util/result';
import type { ResourceSnapshot } from '../../xds-client/client-snapshot';
import type {
  ConnectionOptions,
  XdsTransport,
  XdsTransportFactory,
} from '../../xds-client/transport';
import type { ClaimedPath } from '../claimed-path';
import type { InheritedResource } from '../inherited-resources';
import type * as Cluster from '../ipc/cluster-share';
import type * as Relays from '../relay-server';
import { AwaitedTransport } from './awaited-transport';
import { preparePrivateFolder, threadSocketPath } from './private-folder';
import { RelayElection, type ServingRelay } from './relay-election';
import type { Share } from './share';

/** Loaded late, because one process of all serves. */
const loadRelay = late<typeof Relays>(() => require('../relay-server'));
const loadCluster = late<typeof Cluster>(() => require('../ipc/cluster-share'));

/** Constructor options of the shares of a process. */
export interface SharesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
  /** Returns the resources that the clients of a relay have, for a relay of this process in its place. */
  readonly resourcesFrom: (serverUri: string) => readonly ResourceSnapshot[];
}

/** The options of `register()` that a relay of the process has. */
export interface SharedOptions {
  readonly bootstrap?: BootstrapConfig | string;
  readonly limits?: Partial<Limits>;
}

/** What a process shares with the others of its host (see `RegisterOptions.share`). */
export class Shares {
  /** By the `server_uri` of their relays. */
  private readonly shares = new Map<string, Share>();

  constructor(private readonly options: SharesOptions) {}

  /**
   * Adds a share, unless there is one of this value.
   *
   * @param share A checked value of `RegisterOptions.share`.
   * @param options Those of a relay of this process, if it is added.
   * @returns the relay, as its `server_uri`.
   */
  use(share: string, options: SharedOptions): string {
    if (share === 'cluster') return this.useCluster(options);
    const path = share === 'threads' ? threadSocketPath() : share;
    const prepareFolder = share === 'threads' ? preparePrivateFolder : undefined;
    const serverUri = `unix:${path}`;
    if (!this.shares.has(serverUri)) {
      const serve = (claim: ClaimedPath) => this.serve(serverUri, claim, options);
      const election = new RelayElection({ ...this.options, path, prepareFolder, serve });
      this.shares.set(serverUri, new SocketShare(serverUri, election, this.options.clock));
    }
    return serverUri;
  }

  /** The primary serves its workers, whether it has channels or not. */
  private useCluster(options: SharedOptions): string {
    const { ClusterShare, CLUSTER_URI } = loadCluster();
    if (!this.shares.has(CLUSTER_URI)) {
      const share = new ClusterShare({
        ...this.options,
        createRelay: (host) => this.createRelay(host, options),
        inherited: () => acceptedOf(this.options.resourcesFrom(CLUSTER_URI)),
      });
      this.shares.set(CLUSTER_URI, share);
      share.start();
    }
    return CLUSTER_URI;
  }

  /** Creates a transport to a relay; `undefined` for other servers. */
  createTransport(
    server: ServerConfig,
    factory: XdsTransportFactory,
    options?: ConnectionOptions,
  ): Result<XdsTransport, string> | undefined {
    const share = this.shares.get(server.serverUri);
    share?.start();
    return share?.createTransport(server, factory, options);
  }

  /** Leaves all: see `Share.stop`. */
  async stop(timeoutMs: number): Promise<void> {
    const shares = [...this.shares.values()];
    this.shares.clear();
    await Promise.all(shares.map((share) => share.stop(timeoutMs)));
  }

  private async serve(
    listen: string,
    claim: ClaimedPath,
    options: SharedOptions,
  ): Promise<ServingRelay> {
    const relay = this.createRelay(listen, options);
    await relay.start({ claim, inherited: acceptedOf(this.options.resourcesFrom(listen)) });
    return relay;
  }

  private createRelay(
    listen: Relays.RelayServerOptions['listen'],
    { bootstrap, limits }: SharedOptions,
  ): Relays.RelayServer {
    const { env, logger, clock } = this.options;
    const { maxMessageBytes, maxCachedBytes } = limits ?? {};
    const options = {
      ...{ listen, env, logger, clock },
      ...(bootstrap !== undefined && { bootstrap }),
      ...(maxMessageBytes !== undefined && { maxMessageBytes }),
      ...(maxCachedBytes !== undefined && { maxCachedBytes }),
    };
    return new (loadRelay().RelayServer)(options, 'register({ bootstrap })');
  }
}

function* acceptedOf(resources: Iterable<ResourceSnapshot>): IterableIterator<InheritedResource> {
  for (const { typeUrl, name, accepted } of resources) {
    if (accepted !== undefined) yield { typeUrl, name, ...accepted };
  }
}

/** A relay in the process that listens on a socket. */
class SocketShare implements Share {
  constructor(
    readonly serverUri: string,
    private readonly election: RelayElection,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.election.start();
  }

  createTransport(
    server: ServerConfig,
    factory: XdsTransportFactory,
    options?: ConnectionOptions,
  ): Result<XdsTransport, string> {
    const connect = () => factory.create(server, options);
    const { election: relay, clock } = this;
    return { ok: true, value: new AwaitedTransport({ relay, connect, clock }) };
  }

  stop(timeoutMs: number): Promise<void> {
    return this.election.stop(timeoutMs);
  }
}
