import type { PolicyEnvironment } from '../lb/registry/policy-table';
import { LoadReporter } from '../xds-client/lrs/load-reporter';
import type { LoadStreams } from '../xds-client/lrs/load-streams';
import type * as SavedStart from '../xds-client/saved-snapshot/saved-start';
import { processStats } from '../observe/stats/stats-registry';
import { PACKAGE_VERSION } from '../util/version';
import { ClientPool, type ClientGroup } from '../xds-client/client-pool';
import { mergeResources } from '../xds-client/client-snapshot';
import { ManagementServers } from '../xds-client/management-servers';
import type { UserAgent } from '../xds-client/node';
import { withConnectionOptions, type XdsTransportFactory } from '../xds-client/transport';
import { type WatchClient, XdsClient } from '../xds-client/xds-client';
import { ClientStats } from './client-stats';
import { late } from '../util/late';

/** Loaded late, because few processes save resources. */
const loadSavedStart = late<typeof SavedStart>(() =>
  require('../xds-client/saved-snapshot/saved-start'),
);

/** The name and version that management servers receive. */
export const USER_AGENT: UserAgent = { name: 'grpc-xds (Node.js)', version: PACKAGE_VERSION };

/** The clients of one bootstrap, and the load reports of their channels (gRFC A27). */
export interface XdsClientGroup extends ClientGroup<WatchClient> {
  /** One LRS stream per server for all clients, until their last calls end. */
  readonly loads: LoadReporter;
  /** See `ManagementServers.spendTime`. */
  spendTime(costMs: number): void;
}

/**
 * Creates the clients of the process: one for each target, sharing the connections of a bootstrap.
 * @param streams Has the streams of load reports that are in use. Default: nothing does.
 */
export function createClientPool(
  { clock, random, logger, flags, limits }: PolicyEnvironment,
  transports: XdsTransportFactory,
  streams?: LoadStreams,
): ClientPool<WatchClient, XdsClientGroup> {
  const { dataErrorHandling, endpointFallback, federation, lrsPropagation } = flags;
  const { maxUpdateTimePercent, maxCachedBytes } = limits;
  const clientFeatures = endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
  return new ClientPool<WatchClient, XdsClientGroup>((bootstrap, clients, connectionOptions) => {
    const transportFactory = withConnectionOptions(transports, connectionOptions);
    const { savedSnapshot: config } = bootstrap;
    const read = () => mergeResources(clients());
    const savedStart =
      config && loadSavedStart().createSavedStart({ config, bootstrap, clock, logger, read });
    const stats = new ClientStats(processStats, logger, savedStart?.events);
    const options = {
      ...{ bootstrap, transportFactory, userAgent: USER_AGENT, clientFeatures },
      ...{ clock, random, logger, dataErrorHandling, federation },
      ...{ maxUpdateTimePercent, maxCachedBytes, events: stats },
    };
    const servers = new ManagementServers(options);
    const { node, parseName } = servers;
    return {
      connectionOptions,
      createClient: (target) => {
        const onClosed = () => observation?.release();
        const client = new XdsClient({ ...options, target, onClosed }, servers);
        const used = savedStart?.wrap(client, { target, parseName }) ?? client;
        const observation = stats.observe(used, { target, parseName });
        return used;
      },
      spendTime: (costMs) => servers.spendTime(costMs),
      loads: new LoadReporter({
        ...{ node, transportFactory, choosesMetrics: lrsPropagation },
        ...{ clock, random, logger },
        ...(streams && { streams }),
      }),
    };
  });
}
