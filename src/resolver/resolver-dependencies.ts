import type { Bootstrap } from '../bootstrap/bootstrap';
import type { Limits } from '../bootstrap/limits';
import type { ClientResourceTypes } from '../dependency-manager/dependency-manager';
import type { DnsWatcherFactory } from '../dependency-manager/dns-watch';
import type { HeldBack } from '../dependency-manager/held-back';
import type { ClusterStore, XdsConfig } from '../dependency-manager/xds-config';
import type { ChannelOptions } from '../grpc-js';
import type { ChildChannelOptions } from '../grpc-js/child-channel-options';
import type { LoadReporter } from '../xds-client/lrs/load-reporter';
import type { MatchMeter } from '../resources/matching/match-meter';
import type { CertificateProviders } from '../security/providers/certificate-providers';
import type { ProcessRates } from '../observe/rates/process-rates';
import type { StatsRegistry } from '../observe/stats/stats-registry';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { Result } from '../util/result';
import type { TimeSlices } from '../util/time-slices';
import type { ConnectionOptions } from '../xds-client/transport';
import type { FilterPreparer } from './filter-chain';
import type { TextHash } from './request-hash';
import type { RouteTable } from './route-table';
import type { ResourceSource } from '../xds-client/resource-watcher';

/** A reference to the client of a target. */
export interface ClientRef extends Handle {
  readonly client: ResourceSource;
  /** Receives the load reports of every channel of the bootstrap (gRFC A27); absent if nothing does. */
  readonly loads?: LoadReporter;
  /** Of the connections to its management servers (gRFC A110). Default: there are none. */
  readonly connectionOptions?: ConnectionOptions | undefined;
}

/** The dependencies that all xds resolvers of the process share, and the bootstrap of the channel. */
export interface XdsResolverDependencies {
  /**
   * Loads the bootstrap registered when the channel was created. Called for each attempt, because an agent may write the
   * file after the application has started.
   */
  readonly loadBootstrap: () => Result<Bootstrap, { readonly message: string }>;
  /** Acquires the client of a target: every channel of the target shares it (gRFC A71). */
  readonly acquireClient: (bootstrap: Bootstrap, target: string) => ClientRef;
  /** Of the channel, for channels that load-balancing policies create (gRFC A110). Default: none. */
  readonly childChannelOptions?: ChildChannelOptions | undefined;
  readonly types: ClientResourceTypes;
  readonly httpFilters: FilterPreparer;
  readonly hash: TextHash;
  /** Counts the steps of matching for a call. */
  readonly meter: MatchMeter;
  readonly liveResolutions: LiveResolutions;
  /** Those in which the policies apply configuration. */
  readonly timeSlices: Pick<TimeSlices, 'whenIdle'>;
  readonly certificates: CertificateProviders;
  readonly createDns: (options: ChannelOptions) => DnsWatcherFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: Limits;
  /** Aborted by `shutdown()`, which ends the channel. Default: it never is. */
  readonly shutdown?: AbortSignal;
  /** The plugins of the process. Default: none. */
  readonly stats?: StatsRegistry;
  /** Counts calls while a page is served. Default: nothing does. */
  readonly rates?: ProcessRates;
}

/** The config of a channel, and its routes as compiled for calls. */
export interface LiveConfig {
  readonly config: XdsConfig;
  readonly table: RouteTable;
}

/** The resolution of one channel, as the rest of the process may look at it. */
export interface LiveResolution {
  /** The target of the channel, such as `xds:///shop`. */
  readonly target: string;
  /** The client that it has its resources from, by its identity: channels with bootstraps of their own may have the same target. */
  readonly xdsClient: object;
  /** The clusters of the target, by whose identity the policies of the channel are found. */
  readonly clusters: ClusterStore;
  /** The config in use; `undefined` while calls wait or fail. */
  readonly live: LiveConfig | undefined;
  /** Why the target cannot be used; `undefined` if it can, or if its config is incomplete. */
  readonly failure: string | undefined;
  /** When the first failure since the target could be used was, in ISO 8601; `undefined` if it can. */
  readonly failingSince: string | undefined;
  /** Returns the pending resources and DNS names of the config, as sentences. */
  waitingFor(atMost: number): readonly string[];
  /** Returns the resources that were accepted and are not in use because others are pending. */
  heldBack(atMost: number): readonly HeldBack[];
}

/** A channel that is not idle, as calls wait for it. */
export interface ResolvingChannel {
  /** The target of the channel, such as `xds:///shop`. */
  readonly target: string;
  /** Returns why there is no config in use, as sentences; none if there is one. */
  reasons(): readonly string[];
}

/** The resolutions of this process: one for each channel that is not idle. */
export class LiveResolutions {
  private readonly resolutions = new Set<LiveResolution>();
  /** Also those whose resolution has not begun, for lack of a bootstrap. */
  readonly channels = new Set<ResolvingChannel>();

  add(resolution: LiveResolution): void {
    this.resolutions.add(resolution);
  }

  delete(resolution: LiveResolution): void {
    this.resolutions.delete(resolution);
  }

  all(): readonly LiveResolution[] {
    return [...this.resolutions];
  }

  /**
   * Returns the resolution of a target, if possible one with a config, the latest of several.
   *
   * @param xdsClient The client that it has its resources from. Default: any.
   */
  find(target: string, xdsClient?: object): LiveResolution | undefined {
    const found = this.all().filter(
      (each) => each.target === target && (xdsClient === undefined || each.xdsClient === xdsClient),
    );
    return found.findLast(({ live }) => live !== undefined) ?? found.at(-1);
  }
}
