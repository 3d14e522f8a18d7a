import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import type { Clock } from '../../util/clock';
import { errorStack } from '../../util/error-message';
import type { Logger } from '../../util/logger';
import type { Random } from '../../util/random';
import { SerialQueue } from '../../util/serial-queue';
import type { XdsTransportFactory } from '../transport';
import { describeServer } from '../xds-errors';
import type { ClusterId } from './cluster-load';
import type { LoadStreams } from './load-streams';
import type { LrsStream } from './lrs-stream';
import type * as LoadReporting from './index';
import type { MetricRules } from './metrics';
import type { ClusterLoadReference, ServerLoads } from './server-loads';
import { late } from '../../util/late';

const loadLate = late<typeof LoadReporting>(() => require('./index'));

/** Constructor options of a reporter. */
export interface LoadReporterOptions {
  /** Identifies this process. */
  readonly node: Node;
  readonly transportFactory: XdsTransportFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Whether clusters choose which metrics of backends are reported (gRFC A85); if not, gRFC A64 applies. */
  readonly choosesMetrics: boolean;
  /** Has the streams that are in use. Default: nothing does. */
  readonly streams?: LoadStreams;
}

/** A cluster whose load is reported, and its server. */
export interface LoadSource extends ClusterId {
  readonly server: ServerConfig;
  /** `lrs_report_endpoint_metrics` of the cluster. */
  readonly metrics: readonly string[];
}

/** A reference to the load of a cluster. */
export interface LoadReference extends ClusterLoadReference {
  /** Which metrics of backends are reported; `undefined` if none are. */
  readonly metrics: MetricRules | undefined;
}

/** A server and the loads that are reported to it. */
interface Destination {
  readonly loads: ServerLoads;
  stream: LrsStream | undefined;
}

/** The client feature that lets a server request all clusters without a list (gRFC A27). */
const ALL_CLUSTERS_FEATURE = 'envoy.lrs.supports_send_all_clusters';

/**
 * Reports the load of clusters over LRS (gRFC A27): one stream for each server named by a cluster, which exists only
 * while a cluster of that server is in use. Its code is loaded only when there is one.
 */
export class LoadReporter {
  private readonly destinations = new Map<string, Destination>();
  private readonly queue: SerialQueue;

  constructor(private readonly options: LoadReporterOptions) {
    this.queue = new SerialQueue((error) =>
      options.logger.error(() => `unexpected error in load reporting: ${errorStack(error)}`),
    );
  }

  /** Acquires the load of a cluster, which is reported until the release. */
  acquire({ server, cluster, edsServiceName, metrics }: LoadSource): LoadReference {
    const { loads } = this.destinationOf(server);
    const reference = loads.acquire({ cluster, edsServiceName });
    return {
      load: reference.load,
      metrics: loadLate().parseMetricRules(metrics, this.options.choosesMetrics),
      release: () => reference.release(),
    };
  }

  private destinationOf(server: ServerConfig): Destination {
    const known = this.destinations.get(server.key);
    if (known !== undefined) return known;
    const { clock } = this.options;
    const created: Destination = {
      loads: new (loadLate().ServerLoads)(
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
    const { node, transportFactory, clock, random, logger, streams } = this.options;
    return new (loadLate().LrsStream)({
      loads,
      connect: () => transportFactory.create(server),
      description: describeServer(server, node.id),
      node: { ...node, clientFeatures: [...node.clientFeatures, ALL_CLUSTERS_FEATURE] },
      queue: this.queue,
      clock,
      random,
      logger,
      streams,
    });
  }
}
