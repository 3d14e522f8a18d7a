import type { ServerConfig } from '../bootstrap/bootstrap';
import type { Node } from '../generated/envoy/config/core/v3/base';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import { createHandle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import { SerialQueue } from '../util/serial-queue';
import type { XdsTransportFactory } from '../xds-client/transport';
import { describeServer } from '../xds-client/xds-errors';
import type { ClusterId } from './cluster-load';
import type * as LrsStreamModule from './lrs-stream';
import type { LrsStream } from './lrs-stream';
import { parseMetricRules, type MetricRules } from './metrics';
import { ServerLoads, type ClusterLoadHold } from './server-loads';

/** What a reporter is made of. */
export interface LoadReporterOptions {
  /** Who reports. */
  readonly node: Node;
  readonly transportFactory: XdsTransportFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Whether clusters choose which metrics of backends are reported (gRFC A85); if not, gRFC A64 applies. */
  readonly choosesMetrics: boolean;
}

/** What is to be reported, and where. */
export interface LoadSource extends ClusterId {
  readonly server: ServerConfig;
  /** `lrs_report_endpoint_metrics` of the cluster. */
  readonly metrics: readonly string[];
}

/** A hold on what the calls of a cluster are counted by. */
export interface LoadSourceHold extends ClusterLoadHold {
  /** Which metrics of backends are wanted; `undefined` if none are. */
  readonly metrics: MetricRules | undefined;
}

/** A server and what is to be reported to it. */
interface Destination {
  readonly loads: ServerLoads;
  stream: LrsStream | undefined;
}

/** A client that asks for reports of all clusters by saying so, instead of by listing them (gRFC A27). */
const ALL_CLUSTERS_FEATURE = 'envoy.lrs.supports_send_all_clusters';

/**
 * Reports the load of clusters over LRS (gRFC A27): one stream for each server named by a cluster, which exists only
 * while some cluster of that server is in use. A process whose control plane wants no reports does not even load
 * the code for it.
 */
export class LoadReporter {
  private readonly destinations = new Map<string, Destination>();
  private readonly queue: SerialQueue;

  constructor(private readonly options: LoadReporterOptions) {
    this.queue = new SerialQueue((error) =>
      options.logger.error(() => `unexpected error in load reporting: ${errorMessage(error)}`),
    );
  }

  /** Begins to count the calls of a cluster, and to report them. */
  acquire({ server, cluster, edsServiceName, metrics }: LoadSource): LoadSourceHold {
    const { loads } = this.destinationOf(server);
    const hold = loads.acquire({ cluster, edsServiceName });
    const handle = createHandle(() => hold.release());
    return {
      load: hold.load,
      metrics: parseMetricRules(metrics, this.options.choosesMetrics),
      release: () => handle.release(),
    };
  }

  private destinationOf(server: ServerConfig): Destination {
    const known = this.destinations.get(server.key);
    if (known !== undefined) return known;
    const { clock } = this.options;
    const created: Destination = {
      loads: new ServerLoads(
        () => clock.monotonicMs(),
        () => this.queue.run(() => this.update(server, created)),
      ),
      stream: undefined,
    };
    this.destinations.set(server.key, created);
    return created;
  }

  private update(server: ServerConfig, destination: Destination): void {
    destination.stream ??= this.createStream(server, destination.loads);
    destination.stream.update();
  }

  private createStream(server: ServerConfig, loads: ServerLoads): LrsStream {
    const { node, transportFactory, clock, random, logger } = this.options;
    return new (loadLate().LrsStream)({
      loads,
      connect: () => transportFactory.create(server),
      description: describeServer(server, node.id),
      node: { ...node, clientFeatures: [...node.clientFeatures, ALL_CLUSTERS_FEATURE] },
      queue: this.queue,
      clock,
      random,
      logger,
    });
  }
}

function loadLate(): typeof LrsStreamModule {
  // eslint-disable-next-line @typescript-eslint/no-require-imports, @typescript-eslint/no-unsafe-return -- the only way to load a module late without waiting for it; the type is that of the module
  return require('./lrs-stream');
}
