import type { Bootstrap, ServerConfig } from '../bootstrap/bootstrap';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { RELAY_TARGET } from '../util/report-targets';
import { createBudgets } from '../xds-client/budgets';
import type { ClientEvents } from '../xds-client/client-snapshot';
import { DRAIN_TIMEOUT_MS } from '../xds-client/limits';
import { LoadReporter, LoadStreams } from '../xds-client/lrs/load-reporter';
import type { LrsResponse } from '../xds-client/lrs/lrs-response';
import { ManagementServers, type UserAgent } from '../xds-client/management-servers';
import { startFrom, type SavedSource } from '../xds-client/saved-snapshot/saved-start';
import { SavedResources } from '../xds-client/saved-snapshot/snapshot-file';
import { SharedTransports, type XdsTransportFactory } from '../xds-client/transport';
import { XdsClient, type WatchClient } from '../xds-client/xds-client';

/** What the clients of a relay have in common. */
interface RelayClientsOptions {
  readonly environment: PolicyEnvironment;
  readonly userAgent: UserAgent;
  readonly transportFactory: XdsTransportFactory;
}

/** The options of the client of one node. */
interface RelayClientOptions {
  /** The servers, and the node that they receive. */
  readonly bootstrap: Bootstrap;
  readonly events: ClientEvents;
  /** Returns what the client starts from. @param file The saved snapshot; `undefined` if there is none. */
  readonly startFrom: (file: SavedSource | undefined) => SavedSource;
  /** Called when a server requests load reports. */
  readonly onLoadsRequested: (server: ServerConfig, response: LrsResponse) => void;
}

/** A client of a relay, and its load reports. */
export interface RelayClient {
  readonly client: XdsClient;
  /** The same with what it starts from. */
  readonly started: WatchClient;
  /** The node that the servers receive. */
  readonly node: ManagementServers['node'];
  readonly reporter: LoadReporter;
  /** Reports the last loads, which takes up to a second. */
  endLoads(): Promise<void>;
  /** Ends at once. */
  close(): void;
}

/** Opens the client of one node. */
export type OpenRelayClient = (options: RelayClientOptions) => RelayClient;

/** Returns what opens the clients of a relay, which share budgets and nothing else. */
export function createRelayClients({
  environment,
  userAgent,
  transportFactory: transports,
}: RelayClientsOptions): OpenRelayClient {
  const { clock, random, logger, flags, limits } = environment;
  const budgets = createBudgets(limits, clock.monotonicMs());
  const clientFeatures = flags.endpointFallback
    ? ['xds.endpoint.supports_lb_endpoint_collection']
    : [];
  return ({ bootstrap, events, onLoadsRequested, ...options }) => {
    const transportFactory = new SharedTransports(transports);
    const shared = {
      bootstrap,
      transportFactory,
      userAgent,
      clientFeatures,
      clock,
      random,
      logger,
      federation: flags.federation,
      budgets,
      events,
      // The errors of resources are for clients to judge.
      dataErrorHandling: true,
    };
    // Not those of the channels of the process: they decode resources of the same types.
    const servers = new ManagementServers(shared);
    const client = new XdsClient({ ...shared, target: RELAY_TARGET }, servers);
    const { node, parseName } = servers;
    const { savedSnapshot: config } = bootstrap;
    const file = config && new SavedResources({ config, bootstrap, clock, logger });
    const start = { parseName, target: RELAY_TARGET, nodeId: bootstrap.node.id };
    const streams = new LoadStreams(clock);
    return {
      client,
      node,
      started: startFrom(options.startFrom(file), client, start),
      reporter: new LoadReporter({
        node,
        transportFactory,
        choosesMetrics: flags.lrsPropagation,
        clock,
        random,
        logger,
        streams,
        onRequested: onLoadsRequested,
      }),
      endLoads: () => streams.end(DRAIN_TIMEOUT_MS),
      close() {
        streams.close();
        client.close();
      },
    };
  };
}
