import type { Bootstrap, ServerConfig } from '../bootstrap/bootstrap';
import { resolveLimits } from '../bootstrap/limits';
import { loadBootstrap } from '../bootstrap/load-bootstrap';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import type { ChannelStats } from '../observe/stats/stats-plugin';
import { processStats } from '../observe/stats/stats-registry';
import type { Clock } from '../util/clock';
import { readFeatureFlags, type Environment } from '../util/feature-flags';
import type { Handle } from '../util/handle';
import { containLogger, type Logger } from '../util/logger';
import { RELAY_TARGET } from '../util/report-targets';
import { ok } from '../util/result';
import { PACKAGE_VERSION } from '../util/version';
import { XdsError } from '../util/xds-error';
import { createBudgets } from '../xds-client/budgets';
import type { ClientEvents } from '../xds-client/client-snapshot';
import { DRAIN_TIMEOUT_MS } from '../xds-client/limits';
import { LoadReporter, LoadStreams } from '../xds-client/lrs/load-reporter';
import type { LrsResponse } from '../xds-client/lrs/lrs-response';
import { ManagementServers, type UserAgent } from '../xds-client/management-servers';
import { parseOpaqueName, parseResourceName } from '../xds-client/resource-name';
import { SavedStartClient } from '../xds-client/saved-snapshot/saved-start';
import { SavedResources } from '../xds-client/saved-snapshot/snapshot-file';
import {
  SharedTransports,
  type XdsTransport,
  type XdsTransportFactory,
} from '../xds-client/transport';
import type { XdsClient } from '../xds-client/xds-client';
import { createEnvironment, createServerAccess, type ServerAccess } from './built-in-parts';
import { ClientStats, type StatsSource } from './client-stats';
import { InheritedResources, type InheritedResource } from './inherited-resources';

/** The name that management servers receive. */
const USER_AGENT: UserAgent = { name: 'grpc-xds (relay)', version: PACKAGE_VERSION };

/** Constructor options of a runtime. */
interface RelayRuntimeOptions {
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: those of every process. */
  readonly limits: {
    readonly maxMessageBytes: number | undefined;
    readonly maxCachedBytes: number | undefined;
  };
}

/** The options of the client of one node. */
interface RelayClientOptions {
  /** The servers, and the node that they receive. */
  readonly bootstrap: Bootstrap;
  readonly events: ClientEvents;
  /** What is served while no server can be reached and until one has answered, before the saved snapshot. */
  readonly inherited: Iterable<InheritedResource>;
  /** Called when a server requests load reports. */
  readonly onLoadsRequested: (server: ServerConfig, response: LrsResponse) => void;
}

/** A client of a relay, and its load reports. */
export interface RelayClient {
  readonly client: XdsClient;
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

/** The plugins that observe a relay. */
interface RelayObservation extends Handle {
  /** Receives what the clients experience. */
  readonly events: ClientEvents;
  /** For the metrics of the relay itself; `undefined` if no plugin observes it. */
  readonly stats: ChannelStats | undefined;
}

/** What a relay has of the library: its clients at the management servers. */
export class RelayRuntime {
  readonly clock: Clock;
  readonly logger: Logger;
  private readonly env: Environment;
  private readonly environment: PolicyEnvironment;
  private readonly access: ServerAccess;

  constructor({ env, clock, logger, limits }: RelayRuntimeOptions) {
    this.env = env;
    this.clock = clock;
    this.logger = containLogger(logger);
    this.environment = createEnvironment({
      clock,
      logger: this.logger,
      flags: readFeatureFlags(env),
      limits: resolveLimits(limits),
    });
    this.access = createServerAccess(this.environment, USER_AGENT);
  }

  /**
   * Loads the bootstrap of a relay, which is not its own server: `GRPC_XDS_RELAY` has no effect.
   *
   * @param inline That of its options. Default: the one of the environment.
   * @param inlineSource Names these options in messages.
   * @throws XdsError if it cannot be used.
   */
  loadBootstrap(inline: object | string | undefined, inlineSource: string): Bootstrap {
    const { flags } = this.environment;
    const env = { ...this.env, GRPC_XDS_RELAY: '' };
    const { support } = this.access;
    const loaded = loadBootstrap({ env, inline, inlineSource, support, flags });
    if (loaded.ok) return loaded.value;
    throw new XdsError(loaded.error.code, loaded.error.message);
  }

  /** Observes the clients for the plugins that were added before, until the handle is released. */
  observe(clients: StatsSource): RelayObservation {
    const { logger, flags } = this.environment;
    const events = new ClientStats(processStats, logger);
    const parseName = flags.federation ? parseResourceName : parseOpaqueName;
    const handle = events.observe(clients, { target: RELAY_TARGET, parseName });
    const stats = processStats.forChannel(RELAY_TARGET, logger);
    return { events, stats, release: () => handle?.release() };
  }

  /**
   * Returns what opens the clients, which share budgets and nothing else.
   *
   * @param wrap Returns what is used in place of a transport to a server.
   */
  createClients(
    wrap: (transport: XdsTransport, serverUri: string) => XdsTransport,
  ): OpenRelayClient {
    const { clock, limits } = this.environment;
    const budgets = createBudgets(limits, clock.monotonicMs());
    const transports: XdsTransportFactory = {
      create: (server, options) => {
        const made = this.access.transportFactory.create(server, options);
        return made.ok ? ok(wrap(made.value, server.serverUri)) : made;
      },
    };
    return (options) => {
      const transportFactory = new SharedTransports(transports);
      return openClient(this.environment, { ...options, transportFactory, budgets });
    };
  }
}

function openClient(
  { clock, random, logger, flags }: PolicyEnvironment,
  {
    bootstrap,
    events,
    inherited,
    onLoadsRequested: onRequested,
    transportFactory,
    budgets,
  }: RelayClientOptions & {
    readonly transportFactory: XdsTransportFactory;
    readonly budgets: ReturnType<typeof createBudgets>;
  },
): RelayClient {
  const shared = {
    bootstrap,
    transportFactory,
    userAgent: USER_AGENT,
    clientFeatures: flags.endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [],
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
  const { node } = servers;
  const { savedSnapshot: config } = bootstrap;
  const file = config && new SavedResources({ config, bootstrap, clock, logger });
  const saved = new InheritedResources(inherited, bootstrap, file);
  const client = new SavedStartClient({ ...shared, target: RELAY_TARGET }, servers, saved);
  const streams = new LoadStreams(clock);
  const choosesMetrics = flags.lrsPropagation;
  return {
    client,
    node,
    reporter: new LoadReporter({
      node,
      transportFactory,
      choosesMetrics,
      clock,
      random,
      logger,
      streams,
      onRequested,
    }),
    endLoads: () => streams.end(DRAIN_TIMEOUT_MS),
    close() {
      streams.close();
      client.close();
    },
  };
}
