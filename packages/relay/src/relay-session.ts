import {
  type Bootstrap,
  AdsService,
  type ListenAddress,
  type ListeningSocket,
  LoadService,
  ServiceHost,
  type HostedService,
  addStatusService,
  resetCall,
  type InheritedResource,
  type RelayRuntime,
} from 'grpc-xds/internal';
import type { ClientEvent, ClientState } from 'grpc-xds/control-plane';
import { ClosedConnections } from '../../../src/util/closed-connections';
import { ConnectionAdmission } from '../../../src/util/connection-admission';
import { RELAY_TARGET } from '../../../src/util/report-targets';
import { afterRunning } from '../../../src/util/running-time';
import { cutText, quoteName, sanitizeText } from '../../../src/util/text';
import { createInspectService } from './inspect-service';
import { LAST_REPORTS_MS, MAX_OWN_TEXT_LENGTH, MAX_REJECTION_LENGTH } from './limits';
import { RELAY_IDENTIFIER, RelayChain } from './relay-chain';
import type { RelayIdentity } from './relay-identity';
import type { RelayNode } from './relay-options';
import type { RelayClientReport, RelayReport } from './relay-report';
import { RelayStats } from './relay-stats';
import { observeRelayClient } from './relay-status';
import { RelayUpstream } from './relay-upstream';
import { describeUpstreams, SeveralClients } from './several-clients';
import { Upstreams } from './upstreams';

/** Constructor options of a session. */
export interface RelaySessionOptions {
  readonly runtime: RelayRuntime;
  readonly bootstrap: Bootstrap;
  readonly node: RelayNode;
  readonly maxNodes: number;
  /** What is served while no server can be reached and until one has answered, to clients with the node of the bootstrap. */
  readonly inherited: Iterable<InheritedResource>;
  /** Describes the relay to the processes that look for one. */
  readonly identify: () => RelayIdentity;
  /** Describes the whole relay, with this session. */
  readonly describe: () => RelayReport;
}

/** A relay from its start to its stop. */
export class RelaySession {
  private readonly chain = new RelayChain({
    address: () => this.options.identify().address ?? '',
  });
  private readonly upstreams: Upstreams;
  private readonly ads: AdsService;
  private readonly lrs: LoadService;
  private readonly server: ServiceHost;
  private readonly observation: ReturnType<RelayRuntime['observe']>;
  private readonly stats: RelayStats;
  private streamCount = 0;
  private isStopping = false;

  constructor(private readonly options: RelaySessionOptions) {
    const { clock, logger } = options.runtime;
    this.observation = options.runtime.observe(
      new SeveralClients(() => this.upstreams.all.map(({ client }) => client)),
    );
    this.upstreams = this.createUpstreams();
    this.stats = new RelayStats(
      {
        servedTo: (client) => this.upstreams.ofClient(client)?.resources.resourcesFor(),
        clients: () => this.ads.clients(),
      },
      this.observation.stats,
    );
    this.ads = this.createAdsService();
    this.lrs = this.createLoadService();
    const inspectService = createInspectService(options, clock);
    const services = [this.ads, this.lrs, this.createStatusService(), inspectService];
    const admission = new ConnectionAdmission(clock, new ClosedConnections(clock, logger));
    this.server = new ServiceHost({ name: 'relay', services, clock, admission });
  }

  /** Starts to listen. @returns the port; 0 for a path. */
  start(address: ListenAddress): Promise<number> {
    return this.server.start(address);
  }

  /** Listens on another socket; clients that are connected stay. */
  move(to: ListeningSocket): void {
    this.server.listenOn(to);
  }

  /** Where it listens, in the form of `server_uri`; `undefined` if it does not. */
  get address(): string | undefined {
    return this.server.address;
  }

  /**
   * Requests no more load reports and waits for those on their way; ends their streams, reports the loads that clients have
   * reported, and ends the other streams.
   */
  async stop(): Promise<void> {
    this.isStopping = true;
    if (this.lrs.clients().length > 0) {
      this.lrs.refresh();
      const { clock } = this.options.runtime;
      await new Promise<void>((resolve) => {
        afterRunning(clock, resolve, LAST_REPORTS_MS, true);
      });
    }
    const finished = this.upstreams.finishLoads();
    this.lrs.endStreams('the relay stops');
    await finished;
    await this.server.stop();
    this.close();
  }

  kill(): void {
    this.server.kill();
    this.close();
  }

  /** How many discovery streams of clients there are. */
  get clientCount(): number {
    return this.ads.streamCount;
  }

  inspect(): Pick<RelayReport, 'servers' | 'types' | 'nodes' | 'clients' | 'loadClients'> {
    const clients = this.ads.clients();
    return {
      ...describeUpstreams(this.upstreams.all, (upstream) => {
        return clients.filter((client) => this.upstreams.ofClient(client) === upstream).length;
      }),
      clients: clients.map(describeClient),
      loadClients: this.lrs
        .clients()
        .flatMap((client) => this.upstreams.ofClient(client)?.loads.describe(client) ?? []),
    };
  }

  private close(): void {
    this.observation.release();
    this.stats.close();
    this.upstreams.kill();
  }

  private createUpstreams(): Upstreams {
    const { runtime, bootstrap, node, maxNodes, inherited } = this.options;
    const { clock } = runtime;
    const openClient = runtime.createClients((transport, uri) => this.chain.chain(transport, uri));
    return new Upstreams({
      node,
      maxNodes,
      bootstrap,
      clock,
      create: (bootstrapOfNode, isOwn, countNames) =>
        new RelayUpstream({
          runtime,
          bootstrap: bootstrapOfNode,
          openClient,
          countNames,
          inherited: isOwn ? inherited : [],
          events: this.observation.events,
          onReporting: () => this.lrs.refresh(),
        }),
    });
  }

  private createAdsService(): AdsService {
    return new AdsService({
      settings: {
        identifier: RELAY_IDENTIFIER,
        wrapResources: true,
      },
      clock: this.options.runtime.clock,
      nextStreamId: () => ++this.streamCount,
      admit: this.chain.admit,
      view: this.upstreams,
      onEvent: (event) => this.onEvent(event),
      reset: resetCall,
    });
  }

  /** CSDS (gRFC A40) of both sides: what the relay has for each node, and what each of its clients has acknowledged. */
  private createStatusService(): HostedService {
    const observe = () => {
      const own = this.upstreams.all.map(({ node, client }) => {
        return { node, scope: RELAY_TARGET, resources: client.resources() };
      });
      const below = this.ads.clients().flatMap((client) => {
        const served = this.upstreams.ofClient(client)?.resources.resourcesFor();
        return served === undefined ? [] : [observeRelayClient(client, served)];
      });
      return [...own, ...below];
    };
    const { clock } = this.options.runtime;
    return {
      methods: [{ addTo: (server) => addStatusService(server, observe, clock) }],
      // Their callers are not clients of the relay: they are cut off with the connections.
      endStreams: () => {},
    };
  }

  private createLoadService(): LoadService {
    return new LoadService(undefined, {
      clock: this.options.runtime.clock,
      nextStreamId: () => ++this.streamCount,
      admit: this.chain.admit,
      view: this.upstreams,
      // A client that is requested nothing keeps its counts for the next relay.
      reportingOf: (client) =>
        this.isStopping ? { clusters: [] } : this.upstreams.ofClient(client)?.reporting,
      onOpened: (client) => this.upstreams.ofClient(client)?.loads.open(client),
      onReport: (client, report) => this.upstreams.ofClient(client)?.loads.add(client, report),
      onClosed: (client) => {
        this.upstreams.ofClient(client)?.loads.close(client);
        this.upstreams.close(client.streamId);
      },
    });
  }

  private onEvent(event: ClientEvent): void {
    const { logger } = this.options.runtime;
    const { nodeId, streamId } = event.client;
    const client = `client ${quoteName(nodeId)} (stream ${streamId})`;
    if (event.kind === 'connected' || event.kind === 'disconnected') {
      logger.info(() => sanitizeText(`relay: ${client} ${event.kind}`));
    }
    this.stats.onEvent(event);
    this.upstreams.ofClient(event.client)?.onEvent(event);
    if (event.kind === 'disconnected') this.upstreams.close(streamId);
  }
}

/** What grpc-js has as the address of the client of a Unix socket. */
const NO_PEER = 'unknown';

function describeClient(client: ClientState): RelayClientReport {
  const { streamId, nodeId, peer, method, connectedAtMs, node, types } = client;
  return {
    streamId,
    nodeId: cutText(nodeId, MAX_OWN_TEXT_LENGTH),
    method,
    connectedAtMs,
    peer: peer === NO_PEER ? undefined : peer,
    userAgentName: cutText(node.userAgentName, MAX_OWN_TEXT_LENGTH),
    userAgentVersion: cutText(node.userAgentVersion, MAX_OWN_TEXT_LENGTH),
    types: Array.from(types.values(), (type) => ({
      typeUrl: type.typeUrl,
      names: type.subscribed.length,
      sentVersion: type.sentVersion,
      ackedVersion: type.ackedVersion,
      rejection: type.rejection && cutText(type.rejection.message, MAX_REJECTION_LENGTH),
    })),
  };
}
