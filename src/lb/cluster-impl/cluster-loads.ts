import { Status, type Metadata, type Subchannel } from '../../grpc-js';
import type { CallStatus } from '../../grpc-js/handed-over';
import type { LocalityLoad } from '../../xds-client/lrs/cluster-load';
import type { LoadReporter, LoadSource, LoadReference } from '../../xds-client/lrs/load-reporter';
import { addMetrics, type MetricRules } from '../../xds-client/lrs/metrics';
import { localityName } from '../../resources/endpoints/endpoints';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import type { AddressIndex } from '../endpoints/endpoint-index';
import type { AttemptTracer } from '../../grpc-js/host-call';
import type { CallObserver } from '../call-observer';
import { describeUnusable, readCallLoadReport } from '../orca/call-load-report';

/** The server that receives the load of a cluster, and the names of the metrics in it. The same object while neither changes. */
export interface LoadReporting extends Pick<LoadSource, 'server' | 'metrics'> {
  readonly reporter: LoadReporter;
}

/** The locality of an address that the cluster does not list, which is a bug. */
const NOWHERE = { region: '', zone: '', subZone: '' } as const;

/** Counts the calls to one cluster by locality (gRFC A27). */
export class ClusterLoads implements Handle {
  private readonly byLocality = new Map<string, LocalityLoad>();

  /** @param addresses Those of the cluster. When one is in another locality, earlier results of `of` are outdated. */
  constructor(
    private readonly reference: LoadReference,
    private readonly addresses: Pick<AddressIndex, 'get'>,
    private readonly logger: Logger,
  ) {}

  /** Counts a dropped call. @param category `undefined` if the call was over the limit of concurrent requests. */
  countDrop(category: string | undefined): void {
    this.reference.load.countDrop(category);
  }

  /** Returns what counts the calls on a subchannel. */
  observerOf(subchannel: Subchannel): CallObserver {
    const address = subchannel.getAddress();
    const locality = this.addresses.get(address)?.locality ?? NOWHERE;
    const name = localityName(locality);
    let load = this.byLocality.get(name);
    if (load === undefined) {
      load = this.reference.load.createLocality(locality);
      this.byLocality.set(name, load);
    }
    return new CallLoad(load, this.reference.metrics, address, this.logger);
  }

  /** Ends the counting of new calls; those in flight are counted to their end. */
  release(): void {
    this.reference.release();
  }
}

/** Counts dropped calls. */
export type DropCounter = Pick<ClusterLoads, 'countDrop'>;

/** Counts the calls to one address: all of them alike, so that it watches each attempt itself. */
class CallLoad implements CallObserver, AttemptTracer {
  private hasLoggedNames = false;

  /** @param load The counts of its locality. */
  constructor(
    private readonly load: LocalityLoad,
    private readonly metrics: MetricRules | undefined,
    private readonly address: string,
    private readonly logger: Logger,
  ) {}

  startAttempt(): AttemptTracer {
    this.load.start();
    return this;
  }

  onNotSent(): void {
    this.load.withdraw();
  }

  onEnded({ code, metadata }: CallStatus): void {
    if (this.metrics !== undefined) this.addMetrics(metadata, this.metrics);
    this.load.end(code === Status.OK);
  }

  private addMetrics(trailers: Metadata, rules: MetricRules): void {
    const report = readCallLoadReport(trailers, this.onUnusable);
    if (report === undefined || addMetrics(this.load.metrics, rules, report)) return;
    if (this.hasLoggedNames) return;
    this.hasLoggedNames = true;
    this.logger.error(
      () =>
        `Backend ${this.address}: some of its named_metrics are left out of the load reports of its cluster: too many names, or too long`,
    );
  }

  private readonly onUnusable = (reason: string): void =>
    this.logger.error(() => describeUnusable(this.address, reason));
}
