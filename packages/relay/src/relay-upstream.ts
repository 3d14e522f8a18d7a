import {
  type Bootstrap,
  type PolicyEnvironment,
  type Budgets,
  type ClientEvents,
  DRAIN_TIMEOUT_MS,
  LoadReporter,
  LoadStreams,
  ManagementServers,
  type UserAgent,
  startFrom,
  SavedResources,
  SharedTransports,
  type XdsTransportFactory,
  XdsClient,
  type WatchClient,
} from 'grpc-xds/internal';
import { type ClientEvent, type LoadReporting, clusterKind } from 'grpc-xds/control-plane';
import { afterRunning } from '../../../src/util/running-time';
import { RELAY_TARGET } from '../../../src/util/report-targets';
import type { Handle } from '../../../src/util/handle';
import { quoteName, sanitizeText } from '../../../src/util/text';
import { ClientRejections } from './client-rejections';
import { ClientSubscriptions } from './client-subscriptions';
import { InheritedResources, type InheritedResource } from './inherited-resources';
import { REPEAT_MS } from './limits';
import { RelayedLoads } from './relayed-loads';
import { UpstreamResources } from './upstream-resources';

/** Constructor options of `RelayUpstream`. */
export interface RelayUpstreamOptions {
  readonly environment: PolicyEnvironment;
  /** The servers, and the node that they receive. */
  readonly bootstrap: Bootstrap;
  /** What is served while no server can be reached and until one has answered. */
  readonly inherited: Iterable<InheritedResource>;
  readonly userAgent: UserAgent;
  readonly transportFactory: XdsTransportFactory;
  readonly events: ClientEvents;
  /** Of all nodes. */
  readonly budgets: Budgets;
  /** Returns how many names are requested for all nodes. */
  readonly countNames: () => number;
  /** Called when servers request other load reports than before. */
  readonly onReporting: () => void;
}

/** The clients of a relay with one node at the management servers: their resources, rejections and loads. */
export class RelayUpstream {
  readonly client: XdsClient;
  /** The node that the servers receive. */
  readonly node: ManagementServers['node'];
  readonly resources: UpstreamResources;
  readonly loads: RelayedLoads;
  private readonly subscriptions: ClientSubscriptions;
  private readonly rejections = new ClientRejections();
  private readonly loadStreams: LoadStreams;
  private requestedReports: LoadReporting | undefined;
  /** Clusters whose load was left out, of which the first is logged. */
  private hasLeftOut = false;
  /** Rejections that are about to be repeated, by type. */
  private readonly repeating = new Map<string, Handle>();

  constructor(private readonly options: RelayUpstreamOptions) {
    const { clock } = options.environment;
    const transportFactory = new SharedTransports(options.transportFactory);
    // Not those of the channels of the process: they decode resources of the same types.
    const servers = new ManagementServers(this.clientOptions(transportFactory));
    this.node = servers.node;
    const clientOptions = { ...this.clientOptions(transportFactory), target: RELAY_TARGET };
    this.client = new XdsClient(clientOptions, servers);
    const { countNames } = options;
    this.resources = new UpstreamResources(this.startClient(servers), clock, countNames);
    this.resources.watch(() => this.rejections.onServed(this.resources.resourcesFor()));
    this.subscriptions = new ClientSubscriptions((...change) => this.resources.refer(...change));
    this.loadStreams = new LoadStreams(clock);
    this.loads = this.createLoads(servers, transportFactory);
  }

  /**
   * What the servers request of clients that report loads; `undefined` before they have, and while there is no cluster: after the
   * start of the relay, clients keep the loads of clusters that it does not know yet.
   */
  get reporting(): LoadReporting | undefined {
    const clusters = this.resources.resourcesFor().set(clusterKind.typeUrl);
    return clusters === undefined || clusters.byName.size === 0 ? undefined : this.requestedReports;
  }

  /** Handles an event of the stream of a client. */
  onEvent(event: ClientEvent): void {
    this.subscriptions.onEvent(event);
    const rejection = this.rejections.onEvent(event);
    if (event.kind !== 'nacked' || rejection === undefined) return;
    this.options.environment.logger.error(() => sanitizeText(`relay: ${rejection}`), {
      ...{ event: 'resource-nacked', typeUrl: event.typeUrl, error: rejection },
    });
    this.client.reject(event.typeUrl, rejection);
  }

  /** Ends the acceptance of load reports, and reports those of clients, which takes up to a second. */
  async finishLoads(): Promise<void> {
    // A client that is requested nothing keeps its counts for the next relay.
    this.requestedReports = undefined;
    this.loads.end();
    await this.loadStreams.end(DRAIN_TIMEOUT_MS);
  }

  /** Ends at once. */
  close(): void {
    this.loads.end();
    this.loadStreams.close();
    for (const timer of this.repeating.values()) timer.release();
    this.resources.close();
    this.client.close();
  }

  private clientOptions(transportFactory: XdsTransportFactory) {
    const { bootstrap, userAgent, environment, events, budgets } = this.options;
    const { clock, random, logger, flags } = environment;
    const features = flags.endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
    return {
      ...{ bootstrap, transportFactory, userAgent, clientFeatures: features },
      ...{ clock, random, logger, federation: flags.federation },
      budgets,
      events: {
        onServerFailure: (...failure: Parameters<ClientEvents['onServerFailure']>) =>
          events.onServerFailure(...failure),
        onResponse: (...response: Parameters<ClientEvents['onResponse']>) => {
          events.onResponse(...response);
          this.repeatRejection(response[1]);
        },
      },
      // The errors of resources are for clients to judge.
      dataErrorHandling: true,
    };
  }

  /**
   * Rejects a response as clients have rejected the one before, if it changes nothing, because they do not receive it. A server that
   * answers the rejection with the same response waits for the next one.
   */
  private repeatRejection(typeUrl: string): void {
    const { rejections, resources, repeating } = this;
    if (rejections.textOf(typeUrl) === undefined || repeating.has(typeUrl)) return;
    const versionOf = () => resources.resourcesFor().set(typeUrl)?.version;
    const version = versionOf();
    const repeat = () => {
      repeating.delete(typeUrl);
      const text = rejections.textOf(typeUrl);
      if (text === undefined || resources.isOutdated || versionOf() !== version) return;
      this.client.reject(typeUrl, text);
    };
    repeating.set(typeUrl, afterRunning(this.options.environment.clock, repeat, REPEAT_MS));
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
      ...{ reporter, defaultServer },
      serverOf: (cluster) => {
        if (!this.resources.has(typeUrl, cluster)) return undefined;
        return this.resources.serverOf(typeUrl, cluster) ?? defaultServer;
      },
      onRequested: (reporting) => {
        this.requestedReports = reporting;
        this.options.onReporting();
      },
      onLeftOut: (cluster) => this.onLeftOut(cluster),
    });
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
