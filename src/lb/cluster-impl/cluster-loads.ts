import { Status } from '../../grpc-js';
import type { Subchannel } from '../../grpc-js';
import type { CallListener } from '../../grpc-js/intercepted-subchannel';
import type { LoadReporter, LoadSource, LoadSourceHold } from '../../load-reporting/load-reporter';
import type { LocalityLoad } from '../../load-reporting/locality-load';
import { addMetrics, type MetricRules } from '../../load-reporting/metric-rules';
import { localityName } from '../../resources/endpoints/endpoints';
import type { Handle } from '../../util/handle';
import type { EndpointSet } from '../endpoint-set';
import { readCallLoadReport } from '../orca/call-load-report';
import { LocalityIndex } from './locality-index';

type CallStatus = Parameters<CallListener['onReceiveStatus']>[0];

/** Where the load of a cluster is reported, and what of it. */
export interface LoadReporting extends Pick<LoadSource, 'server' | 'metrics'> {
  readonly reporter: LoadReporter;
}

/** Whether both report the same to the same server. */
export function sameLoadReporting(
  a: LoadReporting | undefined,
  b: LoadReporting | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.reporter === b.reporter &&
    a.server.key === b.server.key &&
    a.metrics.length === b.metrics.length &&
    a.metrics.every((name, i) => name === b.metrics[i])
  );
}

/** Where an endpoint is that the cluster does not list, which should not be. */
const NOWHERE = { region: '', zone: '', subZone: '' } as const;

/** Counts the calls to one cluster by the locality they go to (gRFC A27). */
export class ClusterLoads implements Handle {
  private readonly index = new LocalityIndex();
  private readonly byLocality = new Map<string, LocalityLoad>();

  constructor(private readonly hold: LoadSourceHold) {}

  /**
   * Takes the endpoints of the cluster.
   * @returns whether an endpoint has moved to another locality, so that what `of` has said may be wrong.
   */
  update(endpoints: EndpointSet): boolean {
    return this.index.update(endpoints);
  }

  /** A call was dropped. @param category `undefined` if it was one too many. */
  countDrop(category: string | undefined): void {
    this.hold.load.countDrop(category);
  }

  /** What the calls on a subchannel are to be counted by. */
  of(subchannel: Subchannel): CallLoad {
    const locality = this.index.get(subchannel.getAddress()) ?? NOWHERE;
    const name = localityName(locality);
    let load = this.byLocality.get(name);
    if (load === undefined) {
      load = this.hold.load.createLocality(locality);
      this.byLocality.set(name, load);
    }
    return new CallLoad(load, this.hold.metrics);
  }

  /** Calls that run are counted to their end. */
  release(): void {
    this.hold.release();
  }
}

/** Counts the calls to one locality. */
export class CallLoad {
  constructor(
    private readonly load: LocalityLoad,
    private readonly metrics: MetricRules | undefined,
  ) {}

  /** A call starts. */
  start(): void {
    this.load.start();
  }

  /** A call that was counted could not be started. */
  withdraw(): void {
    this.load.withdraw();
  }

  /** A call that was started has ended. */
  end({ code, metadata }: CallStatus): void {
    if (this.metrics !== undefined) {
      const report = readCallLoadReport(metadata);
      if (report !== undefined) addMetrics(this.load.metrics, this.metrics, report);
    }
    this.load.end(code === Status.OK);
  }
}
