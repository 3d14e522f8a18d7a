import type * as SavedStart from '../xds-client/saved-snapshot/saved-start';
import { CHILD_CHANNEL_OPTION } from '../util/channel-options';
import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { LoadReporter, type LoadStreams } from '../xds-client/lrs/load-reporter';
import { processStats } from '../observe/stats/stats-registry';
import { PACKAGE_VERSION } from '../util/version';
import type { Budgets } from '../xds-client/budgets';
import { ClientPool, type ClientGroup } from '../xds-client/client-pool';
import { mergeResources } from '../xds-client/client-snapshot';
import { ManagementServers, type UserAgent } from '../xds-client/management-servers';
import {
  withConnectionOptions,
  type XdsTransportFactory,
  type ConnectionOptions,
} from '../xds-client/transport';
import { XdsClient } from '../xds-client/xds-client';
import { ClientStats } from './client-stats';
import { lazy } from '../util/lazy';
import type * as Children from '../grpc-js/child-channel-options';
import type { CheckedChildOptions } from '../grpc-js/child-channel-options';
import { REQUIRED_OPTIONS } from '../transport/grpc-transport';
import type { Logger } from '../util/logger';
import { err, ok, type Result } from '../util/result';
import { REGISTERED_CHILD_OPTIONS } from './register-options';

/** Loaded lazily, because few processes save resources. */
const loadSavedStart = lazy<typeof SavedStart>(() =>
  require('../xds-client/saved-snapshot/saved-start'),
);

/** Loaded lazily, because few channels have such options. */
const loadChildren = lazy<typeof Children>(() => require('../grpc-js/child-channel-options'));

/** The name and version that management servers receive. */
export const USER_AGENT: UserAgent = { name: 'grpc-xds (Node.js)', version: PACKAGE_VERSION };

/** The clients of one bootstrap, and the load reports of their channels (gRFC A27). */
export interface XdsClientGroup extends ClientGroup<XdsClient> {
  /** One LRS stream per server for all clients, until their last calls end. */
  readonly loads: LoadReporter;
}

/**
 * Creates the clients of the process: one for each target, sharing the connections of a bootstrap.
 * @param budgets What their resources may take.
 * @param streams Has the streams of load reports that are in use. Default: nothing does.
 */
export function createClientPool(
  { clock, random, logger, flags }: PolicyEnvironment,
  transports: XdsTransportFactory,
  budgets: Budgets,
  streams?: LoadStreams,
): ClientPool<XdsClient, XdsClientGroup> {
  const { dataErrorHandling, endpointFallback, federation, lrsPropagation } = flags;
  const clientFeatures = endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
  return new ClientPool<XdsClient, XdsClientGroup>((bootstrap, clients, connectionOptions) => {
    const transportFactory = withConnectionOptions(transports, connectionOptions);
    const { savedSnapshot: config } = bootstrap;
    const read = () => mergeResources(clients());
    const savedStart =
      config && loadSavedStart().createSavedStart({ config, bootstrap, clock, logger, read });
    const stats = new ClientStats(processStats, logger, savedStart?.events);
    const options = {
      bootstrap,
      transportFactory,
      userAgent: USER_AGENT,
      clientFeatures,
      clock,
      random,
      logger,
      dataErrorHandling,
      federation,
      budgets,
      events: stats,
    };
    const servers = new ManagementServers(options);
    const { node, parseName } = servers;
    return {
      connectionOptions,
      createClient: (target) => {
        const onClosed = () => observation?.release();
        const ofTarget = { ...options, target, onClosed };
        const client =
          savedStart?.createClient(ofTarget, servers) ?? new XdsClient(ofTarget, servers);
        const observation = stats.observe(client, { target, parseName });
        return client;
      },
      loads: new LoadReporter({
        node,
        transportFactory,
        choosesMetrics: lrsPropagation,
        clock,
        random,
        logger,
        ...(streams && { streams }),
      }),
    };
  });
}

/** The options of the child channels of a channel: its own, over those of the process (gRFC A110). */
export class ChildOptionsChoice {
  private registered: CheckedChildOptions | undefined;
  /** Groups of clients for which it was logged that options have no effect. */
  private readonly reported = new WeakSet<object>();
  /** The options that are always set by this package, and were logged as such. */
  private readonly reportedNames = new Set<string>();

  constructor(private readonly logger: Pick<Logger, 'error'>) {}

  /** Sets those of the process for channels that are created from now on; `undefined` if there are none. */
  register(options: CheckedChildOptions | undefined): void {
    this.registered = options;
    this.reportRequired(options, REGISTERED_CHILD_OPTIONS);
  }

  /** Returns the options of the child channels of a channel with these options, or why they cannot be used. */
  of(channelOption: unknown): Result<CheckedChildOptions | undefined, string> {
    if (channelOption === undefined) return ok(this.registered);
    const name = `channel option ${CHILD_CHANNEL_OPTION}`;
    const checked = loadChildren().CheckedChildOptions.check(channelOption);
    if (!checked.ok) return err(`${name}: ${checked.error}`);
    this.reportRequired(checked.value, name);
    return ok(checked.value.over(this.registered));
  }

  /**
   * Logs, once for each group of clients, that the connections of a channel have other options than it would have: those of
   * the channel for which they were made.
   */
  reportUnused(
    target: string,
    options: CheckedChildOptions | undefined,
    group: { readonly connectionOptions?: ConnectionOptions | undefined },
  ): void {
    if (options === undefined || options.equals(group.connectionOptions)) return;
    if (this.reported.has(group)) return;
    this.reported.add(group);
    this.logger.error(
      () =>
        `${target}: the child channel options of this channel have no effect, because its connections to management ` +
        'servers are those of an earlier channel with the same bootstrap and other child channel options (gRFC A110)',
      { target },
    );
  }

  private reportRequired(options: CheckedChildOptions | undefined, where: string): void {
    const names = options?.among(REQUIRED_OPTIONS) ?? [];
    for (const name of names) {
      if (this.reportedNames.has(name)) continue;
      this.reportedNames.add(name);
      this.logger.error(
        () =>
          `${where}: ${name} has no effect on connections to management servers: it is always set`,
      );
    }
  }
}
