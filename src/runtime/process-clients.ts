import { LoadReporter } from '../load-reporting/load-reporter';
import type * as SavedStart from '../saved-snapshot/saved-start';
import { PACKAGE_VERSION } from '../util/version';
import { ClientPool, type ClientGroup } from '../xds-client/client-pool';
import { ManagementServers } from '../xds-client/management-servers';
import { mergeResources } from '../xds-client/client-snapshot';
import type { XdsTransportFactory } from '../xds-client/transport';
import { XdsClient, type WatchClient } from '../xds-client/xds-client';
import type { PolicyEnvironment } from '../lb/create-policy-registry';

/** The clients of one bootstrap, and the load reports of their channels (gRFC A27). */
export interface XdsClientGroup extends ClientGroup<WatchClient> {
  /** One LRS stream per server for all clients. Outlives them by the calls that run. */
  readonly loads: LoadReporter;
}

/** Creates the clients of the process: one for each target, with what all targets of a bootstrap share. */
export function createClientPool(
  { clock, random, logger, flags, limits }: PolicyEnvironment,
  transportFactory: XdsTransportFactory,
): ClientPool<WatchClient, XdsClientGroup> {
  const userAgent = { name: 'grpc-xds (Node.js)', version: PACKAGE_VERSION };
  const { dataErrorHandling, endpointFallback, federation } = flags;
  const { lrsPropagation: choosesMetrics } = flags;
  const { maxUpdateTimePercent } = limits;
  const clientFeatures = endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
  return new ClientPool((bootstrap, clients) => {
    const { savedSnapshot: config } = bootstrap;
    const read = () => mergeResources(clients());
    const savedStart =
      config && loadSavedStart().createSavedStart({ config, bootstrap, clock, logger, read });
    const options = {
      ...{ bootstrap, transportFactory, userAgent, clientFeatures },
      ...{ dataErrorHandling, federation },
      ...{ clock, random, logger, maxUpdateTimePercent },
      ...(savedStart && { events: savedStart.events }),
    };
    const servers = new ManagementServers(options);
    const { node, parseName } = servers;
    return {
      createClient: (target) => {
        const client = new XdsClient({ ...options, target }, servers);
        return savedStart?.wrap(client, { target, parseName }) ?? client;
      },
      loads: new LoadReporter({
        ...{ node, transportFactory, choosesMetrics },
        ...{ clock, random, logger },
      }),
    };
  });
}

/** Loaded late, because few processes save resources. */
function loadSavedStart(): typeof SavedStart {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('../saved-snapshot/saved-start');
}
