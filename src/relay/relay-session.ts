import type { Bootstrap } from '../bootstrap/bootstrap';
import { AdsService } from '../control-plane/ads/ads-service';
import type { ClientEvent, ClientState } from '../control-plane/client-state';
import type { ListenAddress } from '../control-plane/grpc-listener';
import { LoadService } from '../control-plane/lrs/load-service';
import { clusterKind } from '../control-plane/resource';
import { ServiceHost, type HostedService } from '../control-plane/service-host';
import { createCsdsHandlers, csdsDefinition } from '../observe/admin/csds';
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
import { XdsClient } from '../xds-client/xds-client';
import { ClientRejections } from './client-rejections';
import { ClientSubscriptions } from './client-subscriptions';
import { createInspectService } from './inspect-service';
import type { RelayClientReport, RelayReport } from './relay-report';
import { RelayStats } from './relay-stats';
import { observeRelayClient } from './relay-status';
import { RelayedLoads } from './relayed-loads';
import { UpstreamResources } from './upstream-resources';

/** Constructor options of a session. */
export interface RelaySessionOptions {
  readonly environment: PolicyEnvironment;
  readonly bootstrap: Bootstrap;
  readonly userAgent: UserAgent;
  readonly transportFactory: XdsTransportFactory;
  /** Describes the whole relay, with this session. */
  readonly describe: () => RelayReport;
}

/** A relay from its start to its stop. */
export class RelaySession {
  private readonly client: XdsClient;
  private readonly resources: UpstreamResources;
  private readonly subscriptions: ClientSubscriptions;
  private readonly rejections = new ClientRejections();
  private readonly loadStreams: LoadStreams;
  private readonly ads: AdsService;
  private readonly lrs: LoadService;
  private readonly loads: RelayedLoads;
  private readonly server: ServiceHost;
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
    const transportFactory = new SharedTransports(options.transportFactory);
    const servers = this.createServers(transportFactory);
    this.client = new XdsClient(
      { ...this.clientOptions(transportFactory), target: RELAY_TARGET },
      servers,
    );
    this.resources = new UpstreamResources(this.client, clock);
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
    [this.lrs, this.loads] = this.createLoadService(servers, transportFactory);
    const inspectService = createInspectService(options.describe, clock);
    const services = [this.ads, this.lrs, this.createStatusService(servers), inspectService];
    this.server = new ServiceHost({ name: 'relay', services, clock });
  }

  /** Starts to listen. @returns the port; 0 for a path. */
  start(address: ListenAddress): Promise<number> {
    return this.server.start(address);
  }

  /** Where it listens, in the form of `server_uri`; `undefined` if it does not. */
  get address(): string | undefined {
    return this.server.address;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.loadStreams.end(DRAIN_TIMEOUT_MS);
    this.close();
  }

  kill(): void {
    this.server.kill();
    void this.loadStreams.end(0);
    this.close();
  }

  inspect(): Omit<RelayReport, 'pid' | 'address' | 'nodeId'> {
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
    };
  }

  /** Not those of the channels of the process: they decode resources of the same types. */
  private createServers(transportFactory: XdsTransportFactory): ManagementServers {
    return new ManagementServers(this.clientOptions(transportFactory));
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
      view: this.resources,
      onEvent: (event) => this.onEvent(event),
      onRequest: () => {},
      onDeltaRequest: () => {},
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
      addTo: (server) => server.addService(csdsDefinition, createCsdsHandlers(observe, clock)),
      // Their callers are not clients of the relay: they are cut off with the connections.
      endStreams: () => {},
    };
  }

  private createLoadService(
    { node }: ManagementServers,
    transportFactory: XdsTransportFactory,
  ): readonly [LoadService, RelayedLoads] {
    const { environment, bootstrap } = this.options;
    const { clock, random, logger, flags } = environment;
    const [defaultServer] = bootstrap.servers;
    if (defaultServer === undefined) throw new Error('the bootstrap has no server');
    const reporter = new LoadReporter({
      ...{ node, transportFactory, choosesMetrics: flags.lrsPropagation },
      ...{ clock, random, logger, streams: this.loadStreams },
      onRequested: (server, response) => loads.onResponse(server, response),
    });
    const loads: RelayedLoads = new RelayedLoads({
      ...{ reporter, defaultServer },
      serverOf: (cluster) => {
        if (!this.resources.has(clusterKind.typeUrl, cluster)) return undefined;
        return this.resources.serverOf(clusterKind.typeUrl, cluster) ?? defaultServer;
      },
      onRequested: (reporting) => service.setReporting(reporting),
      onLeftOut: (cluster) => this.onLeftOut(cluster),
    });
    const service: LoadService = new LoadService(undefined, {
      nextStreamId: () => ++this.streamCount,
      view: this.resources,
      onOpened: (client) => loads.open(client),
      onReport: (client, report) => loads.add(client, report),
      onClosed: (client) => loads.close(client),
    });
    return [service, loads];
  }

  private onEvent(event: ClientEvent): void {
    const { logger } = this.options.environment;
    const { nodeId, streamId } = event.client;
    const client = `client ${quoteName(nodeId)} (stream ${streamId})`;
    this.subscriptions.onEvent(event);
    this.stats.onEvent(event);
    if (event.kind === 'connected' || event.kind === 'disconnected') {
      logger.info(() => sanitizeText(`relay: ${client} ${event.kind}`));
    } else if (event.kind === 'nacked') {
      const rejection = this.rejections.add(event);
      if (rejection === undefined) return;
      logger.error(() => sanitizeText(`relay: ${rejection}`));
      this.client.reject(event.typeUrl, rejection);
    }
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
