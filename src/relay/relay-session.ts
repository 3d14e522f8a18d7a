import type { Bootstrap } from '../bootstrap/bootstrap';
import { AdsService } from '../control-plane/ads/ads-service';
import type { ClientEvent, ClientState } from '../control-plane/client-state';
import type { ListenAddress, ListeningSocket } from '../control-plane/grpc-listener';
import { LoadService } from '../control-plane/lrs/load-service';
import { clusterKind } from '../control-plane/resource';
import type { StreamMethod } from '../control-plane/server-stream';
import { ServiceHost, type HostedService } from '../control-plane/service-host';
import { createCsdsHandlers, csdsDefinition } from '../observe/admin/csds';
import { resetCall } from '../grpc-js/host-internals';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { processStats } from '../observe/stats/stats-registry';
import { ClientStats } from '../runtime/client-stats';
import type { Handle } from '../util/handle';
import { RELAY_TARGET } from '../util/relay-method';
import { quoteName, sanitizeText } from '../util/text';
import { DRAIN_TIMEOUT_MS } from '../xds-client/limits';
import { LoadReporter, LoadStreams } from '../xds-client/lrs/load-reporter';
import { ManagementServers, type UserAgent } from '../xds-client/management-servers';
import { formatRelayIdentifier } from '../xds-client/relay-hop';
import { SharedTransports, type XdsTransportFactory } from '../xds-client/transport';
import { startFrom } from '../xds-client/saved-snapshot/saved-start';
import { SavedResources } from '../xds-client/saved-snapshot/snapshot-file';
import { XdsClient, type WatchClient } from '../xds-client/xds-client';
import { ClientRejections } from './client-rejections';
import { ClientSubscriptions } from './client-subscriptions';
import { InheritedResources, type InheritedResource } from './inherited-resources';
import { createInspectService } from './inspect-service';
import { RelayChain } from './relay-chain';
import type { RelayIdentity } from './relay-identity';
import type { RelayClientReport, RelayReport } from './relay-report';
import { RelayStats } from './relay-stats';
import { observeRelayClient } from './relay-status';
import { RelayedLoads } from './relayed-loads';
import { describeUpstream } from './upstream';
import { UpstreamResources } from './upstream-resources';

/** Constructor options of a session. */
export interface RelaySessionOptions {
  readonly environment: PolicyEnvironment;
  readonly bootstrap: Bootstrap;
  /** What is served while no server can be reached and until one has answered. */
  readonly inherited: Iterable<InheritedResource>;
  readonly userAgent: UserAgent;
  readonly transportFactory: XdsTransportFactory;
  /** Describes the relay to the processes that look for one. */
  readonly identify: () => RelayIdentity;
  /** Describes the whole relay, with this session. */
  readonly describe: () => RelayReport;
}

/** Serves the services of a relay to the processes that it is for, by other means than a socket. */
export interface RelayHost {
  /**
   * Starts.
   *
   * @param upstream The management servers of the relay: see `describeUpstream`.
   * @returns the address, in the form of `server_uri` of the clients.
   */
  start(services: readonly HostedService<StreamMethod>[], upstream: string): string;
  /** Ends all streams with UNAVAILABLE, and ends serving. */
  stop(): void;
}

/** A relay from its start to its stop. */
export class RelaySession {
  private readonly client: XdsClient;
  private readonly resources: UpstreamResources;
  private readonly subscriptions: ClientSubscriptions;
  private readonly rejections = new ClientRejections();
  private readonly chain = new RelayChain({
    address: () => this.options.identify().address ?? '',
    isRelay: (serverUri) =>
      this.client.serverStates().some((each) => each.serverUri === serverUri && each.relay),
  });
  private readonly loadStreams: LoadStreams;
  private readonly ads: AdsService;
  private readonly loads: RelayedLoads;
  private readonly lrs: LoadService;
  private readonly server: ServiceHost;
  private host: RelayHost | undefined;
  private readonly upstreamStats: ClientStats;
  private readonly upstreamGauges: Handle | undefined;
  private readonly stats: RelayStats;
  private streamCount = 0;
  /** Clusters whose load was left out, of which the first is logged. */
  private hasLeftOut = false;

  constructor(private readonly options: RelaySessionOptions) {
    const { environment } = options;
    const { clock, logger } = environment;
    this.upstreamStats = new ClientStats(processStats, logger);
    const transportFactory = new SharedTransports(this.chain.chain(options.transportFactory));
    const servers = this.createServers(transportFactory);
    this.client = new XdsClient(
      { ...this.clientOptions(transportFactory), target: RELAY_TARGET },
      servers,
    );
    this.resources = new UpstreamResources(this.startClient(servers), clock);
    this.resources.watch(() => this.rejections.onServed(this.resources.resourcesFor()));
    this.subscriptions = new ClientSubscriptions((...change) => this.resources.refer(...change));
    const { parseName } = servers;
    this.upstreamGauges = this.upstreamStats.observe(this.client, {
      ...{ target: RELAY_TARGET, parseName },
    });
    this.stats = new RelayStats(
      processStats,
      { resources: this.resources, clients: () => this.ads.clients() },
      logger,
    );
    this.loadStreams = new LoadStreams(clock);
    this.ads = this.createAdsService();
    this.loads = this.createLoads(servers, transportFactory);
    this.lrs = this.createLoadService();
    this.resources.watch(() => this.loads.onClusters());
    const inspectService = createInspectService(options, clock);
    const services = [this.ads, this.lrs, this.createStatusService(servers), inspectService];
    this.server = new ServiceHost({ name: 'relay', services, clock });
  }

  /** Starts to listen. @returns the port; 0 for a path. */
  start(address: ListenAddress): Promise<number> {
    return this.server.start(address);
  }

  /** Listens on another socket; clients that are connected stay. */
  move(to: ListeningSocket): void {
    this.server.move(to);
  }

  /** Where it listens, in the form of `server_uri`; `undefined` if it does not. */
  get address(): string | undefined {
    return this.server.address;
  }

  /** Starts to serve by a host. @returns its address. */
  serve(host: RelayHost): string {
    this.host = host;
    return host.start([this.ads, this.lrs], describeUpstream(this.options.bootstrap));
  }

  /** Reports the loads that clients have reported, acknowledges them, and ends the streams. */
  async stop(): Promise<void> {
    this.loads.end();
    await this.loadStreams.end(DRAIN_TIMEOUT_MS);
    this.host?.stop();
    await this.server.stop();
    this.close();
  }

  kill(): void {
    this.loads.end();
    this.host?.stop();
    this.server.kill();
    this.loadStreams.close();
    this.close();
  }

  inspect(): Omit<RelayReport, keyof RelayIdentity> {
    return {
      servers: this.client.serverStates(),
      types: this.resources.describe(),
      clients: this.ads.clients().map(describeClient),
      loadClients: this.lrs.clients().map((client) => this.loads.describe(client)),
    };
  }

  private close(): void {
    this.upstreamGauges?.release();
    this.stats.close();
    this.resources.close();
    this.client.close();
  }

  private clientOptions(transportFactory: XdsTransportFactory) {
    const { bootstrap, userAgent, environment } = this.options;
    const { clock, random, logger, flags, limits } = environment;
    const { maxUpdateTimePercent, maxCachedBytes } = limits;
    const features = flags.endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
    return {
      ...{ bootstrap, transportFactory, userAgent, clientFeatures: features },
      ...{ clock, random, logger, federation: flags.federation },
      ...{ maxUpdateTimePercent, maxCachedBytes, events: this.upstreamStats },
      // The errors of resources are for clients to judge.
      dataErrorHandling: true,
      rejectionOf: (typeUrl: string) =>
        this.resources.isOutdated ? undefined : this.rejections.textOf(typeUrl),
    };
  }

  /** Not those of the channels of the process: they decode resources of the same types. */
  private createServers(transportFactory: XdsTransportFactory): ManagementServers {
    return new ManagementServers(this.clientOptions(transportFactory));
  }

  /** Adds what the relay starts from. */
  private startClient({ parseName }: ManagementServers): WatchClient {
    const { bootstrap, inherited, environment } = this.options;
    const { clock, logger } = environment;
    const { savedSnapshot: config, node } = bootstrap;
    const file = config && new SavedResources({ config, bootstrap, clock, logger });
    const saved = new InheritedResources(inherited, bootstrap, file);
    return startFrom(saved, this.client, { parseName, target: RELAY_TARGET, nodeId: node.id });
  }

  private createAdsService(): AdsService {
    return new AdsService({
      settings: {
        identifier: () => formatRelayIdentifier(process.pid, this.client.serverStates()),
        wrapResources: true,
        imitate: undefined,
      },
      clock: this.options.environment.clock,
      nextStreamId: () => ++this.streamCount,
      admit: this.chain.admit,
      view: this.resources,
      onEvent: (event) => this.onEvent(event),
      onRequest: () => {},
      onDeltaRequest: () => {},
      reset: resetCall,
    });
  }

  /** CSDS (gRFC A40) of both sides: what the relay has, and what each of its clients has acknowledged. */
  private createStatusService({ node }: ManagementServers): HostedService {
    const observe = () => {
      const served = this.resources.resourcesFor();
      const own = { node, scope: RELAY_TARGET, resources: this.client.resources() };
      return [own, ...this.ads.clients().map((client) => observeRelayClient(client, served))];
    };
    const { clock } = this.options.environment;
    return {
      methods: [
        {
          addTo: (server) => server.addService(csdsDefinition, createCsdsHandlers(observe, clock)),
        },
      ],
      // Their callers are not clients of the relay: they are cut off with the connections.
      endStreams: () => {},
    };
  }

  private createLoads(
    { node }: ManagementServers,
    transportFactory: XdsTransportFactory,
  ): RelayedLoads {
    const { environment, bootstrap } = this.options;
    const { clock, random, logger, flags } = environment;
    const [defaultServer] = bootstrap.servers;
    if (defaultServer === undefined) throw new Error('the bootstrap has no server');
    const reporter = new LoadReporter({
      ...{ node, transportFactory, choosesMetrics: flags.lrsPropagation },
      ...{ clock, random, logger, streams: this.loadStreams },
      onRequested: (server, response) => this.loads.onResponse(server, response),
    });
    const { typeUrl } = clusterKind;
    return new RelayedLoads({
      ...{ reporter, defaultServer, clock },
      isKnown: (cluster) => this.resources.serverOf(typeUrl, cluster) !== undefined,
      serverOf: (cluster) => {
        if (!this.resources.has(typeUrl, cluster)) return undefined;
        return this.resources.serverOf(typeUrl, cluster) ?? defaultServer;
      },
      onRequested: (reporting) => this.lrs.setReporting(reporting),
      onLeftOut: (cluster) => this.onLeftOut(cluster),
    });
  }

  private createLoadService(): LoadService {
    return new LoadService(undefined, {
      acknowledges: true,
      nextStreamId: () => ++this.streamCount,
      admit: this.chain.admit,
      view: this.resources,
      onOpened: (client) => this.loads.open(client),
      onReport: (...report) => this.loads.add(...report),
      onClosed: (client) => this.loads.close(client),
    });
  }

  private onEvent(event: ClientEvent): void {
    const { logger } = this.options.environment;
    const { nodeId, streamId } = event.client;
    const client = `client ${quoteName(nodeId)} (stream ${streamId})`;
    this.subscriptions.onEvent(event);
    this.stats.onEvent(event);
    if (event.kind === 'connected' || event.kind === 'disconnected') {
      logger.info(() => sanitizeText(`relay: ${client} ${event.kind}`));
    }
    const rejection = this.rejections.onEvent(event);
    if (event.kind !== 'nacked' || rejection === undefined) return;
    logger.error(() => sanitizeText(`relay: ${rejection}`));
    this.client.reject(event.typeUrl, rejection);
  }

  private onLeftOut(cluster: string): void {
    if (this.hasLeftOut) return;
    this.hasLeftOut = true;
    this.options.environment.logger.error(() =>
      sanitizeText(
        `relay: load reports: cluster ${quoteName(cluster)}: left out: no client subscribes to it, or it has too many localities`,
      ),
    );
  }
}

function describeClient(client: ClientState): RelayClientReport {
  const { streamId, nodeId, method, connectedAtMs, types } = client;
  return {
    ...{ streamId, nodeId, method, connectedAtMs },
    types: Array.from(types.values(), (type) => ({
      typeUrl: type.typeUrl,
      names: type.subscribed.length,
      sentVersion: type.sentVersion,
      ackedVersion: type.ackedVersion,
      rejection: type.rejection?.message,
    })),
  };
}
