import { PickResultType } from '../../grpc-js';
import type { PickArgs, PickResult, Picker } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { queuePicker } from '../connectivity';
import { type ReadyItem, ReadyList } from '../endpoints/connected-endpoints';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { SlowStart } from '../slow-start/slow-start';
import { readCallLoadReport } from '../orca/call-load-report';
import type { WeightedRoundRobinConfig } from './config';
import { MIN_WEIGHTS, scaleWeights, StrideScheduler } from './stride-scheduler';
import type { LoadReport } from './utilization';

type CallEndedListener = NonNullable<PickResult['onCallEnded']>;

/** An endpoint that was READY at least once. */
export class WeightedEndpoint implements ReadyItem {
  readonly weight = new EndpointWeight();
  readyIndex = -1;
  /** The subscription to out-of-band reports. */
  oobWatch: Handle | undefined;

  /**
   * @param onReport Called with every report that came with a call.
   * @param onUnusable Called with the reason if a report cannot be used.
   */
  constructor(
    readonly leaf: EndpointLeaf,
    private readonly onReport: (endpoint: WeightedEndpoint, report: LoadReport) => void,
    private readonly onUnusable: (reason: string) => void = () => {},
  ) {}

  /** Returns the listener that reads the report at the end of a call, then calls the next one. */
  observe(next: CallEndedListener | null): CallEndedListener {
    if (next === null) return this.onCallEnded;
    return (status, details, trailers) => {
      this.onCallEnded(status, details, trailers);
      next(status, details, trailers);
    };
  }

  private readonly onCallEnded: CallEndedListener = (_status, _details, trailers) => {
    const report = readCallLoadReport(trailers, this.onUnusable);
    if (report !== undefined) this.onReport(this, report);
  };
}

/** The endpoints that are READY, chosen by weight. A new one has average weight until the next refresh. */
export class WeightedEndpoints {
  private readonly ready = new ReadyList<WeightedEndpoint>();
  private readonly scheduler: StrideScheduler;

  constructor(random: Random) {
    this.scheduler = new StrideScheduler(random);
  }

  get size(): number {
    return this.ready.size;
  }

  values(): Iterable<WeightedEndpoint> {
    return this.ready;
  }

  /** @returns Whether the endpoint was added; `false` if it was READY already. */
  add(endpoint: WeightedEndpoint): boolean {
    const added = this.ready.add(endpoint);
    if (added) this.scheduler.add();
    return added;
  }

  remove(endpoint: WeightedEndpoint): void {
    const index = this.ready.remove(endpoint);
    if (index >= 0) this.scheduler.remove(index);
  }

  /**
   * Applies new weights.
   * @param weigh Returns the weight of an endpoint; 0 if it has none.
   * @returns Whether enough endpoints have a weight to go by weight.
   */
  refresh(weigh: (endpoint: WeightedEndpoint) => number): boolean {
    const weights = new Float64Array(this.ready.size);
    let index = 0;
    for (const endpoint of this.ready) weights[index++] = weigh(endpoint);
    const scaled = scaleWeights(weights);
    this.scheduler.setWeights(scaled);
    return scaled.known >= MIN_WEIGHTS;
  }

  /** Continues with a random endpoint. */
  shuffle(): void {
    this.scheduler.shuffle();
  }

  /** Returns the endpoint whose turn it is; `undefined` if none is READY. */
  next(): WeightedEndpoint | undefined {
    return this.ready.at(this.scheduler.next());
  }
}

/**
 * Computes the weight of an endpoint: its queries per second, divided by its utilization and error penalty (gRFC A58).
 *
 * @returns 0 if the report gives no weight.
 */
export function computeWeight(report: LoadReport, config: WeightedRoundRobinConfig): number {
  const queries = report.rpsFractional;
  const utilization = config.readUtilization(report);
  if (!(queries > 0 && utilization > 0)) return 0;
  const failed = report.eps > 0 ? report.eps / queries : 0;
  const weight = queries / (utilization + failed * config.settings.errorUtilizationPenalty);
  return weight > 0 && weight < Infinity ? weight : 0;
}

/** Whether a weight can be used; if not, whether it has expired, or is not known for long enough (gRFC A58). */
export type WeightState = 'usable' | 'stale' | 'not-yet-usable';

/** The last weight of an endpoint, with its blackout and expiration (gRFC A58). Times are monotonic. */
export class EndpointWeight {
  private weight = 0;
  private lastUpdatedMs = -Infinity;
  /** The first report since the endpoint became READY or its weight expired; `Infinity` before it. */
  private nonEmptySinceMs = Infinity;

  /** Records a report. One that gives no weight is ignored. */
  onReport(report: LoadReport, config: WeightedRoundRobinConfig, nowMs: number): void {
    const weight = computeWeight(report, config);
    if (weight === 0) return;
    if (this.nonEmptySinceMs === Infinity) this.nonEmptySinceMs = nowMs;
    this.lastUpdatedMs = nowMs;
    this.weight = weight;
  }

  /** Starts the blackout period: the endpoint became READY. */
  onReady(): void {
    this.nonEmptySinceMs = Infinity;
  }

  /** Returns the usable weight; 0 if there is none. */
  current(nowMs: number, config: WeightedRoundRobinConfig): number {
    return this.stateAt(nowMs, config) === 'usable' ? this.weight : 0;
  }

  /** Returns whether the weight can be used, or why not. */
  stateAt(nowMs: number, { settings }: WeightedRoundRobinConfig): WeightState {
    if (nowMs - this.lastUpdatedMs >= settings.weightExpirationPeriodMs) {
      // The blackout period applies to the reports after an expiration.
      this.nonEmptySinceMs = Infinity;
      return this.lastUpdatedMs === -Infinity ? 'not-yet-usable' : 'stale';
    }
    const { blackoutPeriodMs } = settings;
    const isBlackedOut = blackoutPeriodMs > 0 && nowMs - this.nonEmptySinceMs < blackoutPeriodMs;
    return isBlackedOut ? 'not-yet-usable' : 'usable';
  }
}

/**
 * Picks endpoints by weight: those that are READY, with their weights, at the moment of the pick. Starts at random, so
 * that many clients with the same list do not all begin with the same endpoint.
 */
export class WeightedRoundRobinPicker implements Picker {
  private readonly draw = () => this.endpoints.next();

  /**
   * @param slowStart `undefined` if it is not enabled.
   * @param readsCalls Returns whether the reports that come with calls are used.
   */
  constructor(
    private readonly endpoints: WeightedEndpoints,
    private readonly slowStart: Pick<SlowStart<WeightedEndpoint>, 'choose'> | undefined,
    private readonly readsCalls: () => boolean,
  ) {
    endpoints.shuffle();
  }

  pick(args: PickArgs): PickResult {
    const { endpoints, slowStart } = this;
    const endpoint = slowStart === undefined ? endpoints.next() : slowStart.choose(this.draw);
    // `undefined` between the loss of the last endpoint and the next picker.
    if (endpoint === undefined) return queuePicker.pick(args);
    const result = endpoint.leaf.picker.pick(args);
    if (result.pickResultType !== PickResultType.COMPLETE || !this.readsCalls()) return result;
    return {
      pickResultType: result.pickResultType,
      subchannel: result.subchannel,
      status: null,
      onCallStarted: result.onCallStarted,
      onCallEnded: endpoint.observe(result.onCallEnded),
    };
  }
}
