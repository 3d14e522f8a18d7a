import { LoadReporter } from '../load-reporting/load-reporter';
import type * as Snapshots from '../transport/snapshot/keep-snapshot';
import { PACKAGE_VERSION } from '../util/version';
import { ClientPool } from '../xds-client/client-pool';
import type { XdsTransportFactory } from '../xds-client/transport';
import { XdsClient } from '../xds-client/xds-client';
import type { PolicyEnvironment } from '../lb/create-policy-registry';

/** Makes the clients of the process, one for each bootstrap. */
export function createClientPool(
  { clock, random, logger, flags }: PolicyEnvironment,
  transportFactory: XdsTransportFactory,
): ClientPool<XdsClient> {
  const userAgent = { name: 'grpc-xds (Node.js)', version: PACKAGE_VERSION };
  const { dataErrorHandling, endpointFallback } = flags;
  const clientFeatures = endpointFallback ? ['xds.endpoint.supports_lb_endpoint_collection'] : [];
  return new ClientPool((bootstrap) => {
    const config = bootstrap.servers.at(-1)?.snapshot;
    const keeper = config && loadSnapshots().keepSnapshot({ config, clock, logger });
    const client = new XdsClient({
      ...{ bootstrap, transportFactory, userAgent, clientFeatures, dataErrorHandling },
      ...{ clock, random, logger },
      ...(keeper && { events: keeper.events }),
    });
    keeper?.start(() => client.snapshot());
    return client;
  });
}

/** Makes the function that gives each client its load reports (gRFC A27), which outlive it by the calls that run. */
export function createLoadReporters(
  { clock, random, logger, flags }: PolicyEnvironment,
  transportFactory: XdsTransportFactory,
): (client: XdsClient) => LoadReporter {
  const reporters = new WeakMap<XdsClient, LoadReporter>();
  const { lrsPropagation: choosesMetrics } = flags;
  return (client) => {
    const known = reporters.get(client);
    if (known !== undefined) return known;
    const { node } = client;
    const created = new LoadReporter({
      ...{ node, transportFactory, choosesMetrics },
      ...{ clock, random, logger },
    });
    reporters.set(client, created);
    return created;
  };
}

/** Few processes keep what they were sent. */
function loadSnapshots(): typeof Snapshots {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('../transport/snapshot/keep-snapshot');
}
