import { LoadReporter } from '../load-reporting/load-reporter';
import type * as Snapshots from '../transport/snapshot/keep-snapshot';
import { PACKAGE_VERSION } from '../util/version';
import { ClientPool, type ClientGroup } from '../xds-client/client-pool';
import { ManagementServers } from '../xds-client/management-servers';
import { mergeSnapshots } from '../xds-client/merge-snapshots';
import type { XdsTransportFactory } from '../xds-client/transport';
import { XdsClient } from '../xds-client/xds-client';
import type { PolicyEnvironment } from '../lb/create-policy-registry';

/** The clients of one bootstrap, and the load reports of their channels (gRFC A27). */
export interface XdsClientGroup extends ClientGroup<XdsClient> {
  /** One LRS stream per server for all clients. Outlives them by the calls that run. */
  readonly loads: LoadReporter;
}

/** Creates the clients of the process: one for each target, with what all targets of a bootstrap share. */
export function createClientPool(
  { clock, random, logger, flags, limits }: PolicyEnvironment,
  transportFactory: XdsTransportFactory,
): ClientPool<XdsClient, XdsClientGroup> {
  const userAgent = { name: 'grpc-xds (Node.js)', version: PACKAGE_VERSION };
  const { dataErrorHandling, endpointFallback, federation } = flags;
  const { lrsPropagation: choosesMetrics } = flags;
  const { maxUpdateTimePercent } = limits;
  const clientFeatures = endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
  return new ClientPool((bootstrap, clients) => {
    const config = bootstrap.servers.at(-1)?.snapshot;
    const keeper = config && loadSnapshots().keepSnapshot({ config, clock, logger });
    keeper?.start(() => mergeSnapshots(clients()));
    const options = {
      ...{ bootstrap, transportFactory, userAgent, clientFeatures },
      ...{ dataErrorHandling, federation },
      ...{ clock, random, logger, maxUpdateTimePercent },
      ...(keeper && { events: keeper.events }),
    };
    const servers = new ManagementServers(options);
    const { node } = servers;
    return {
      createClient: (target) => new XdsClient({ ...options, target }, servers),
      loads: new LoadReporter({
        ...{ node, transportFactory, choosesMetrics },
        ...{ clock, random, logger },
      }),
    };
  });
}

/** Few processes keep what they were sent. */
function loadSnapshots(): typeof Snapshots {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('../transport/snapshot/keep-snapshot');
}
