import type { PickResult } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import type { EndpointLeaf } from '../endpoint-leaf';
import { readCallLoadReport } from '../orca/call-load-report';
import { EndpointWeight } from './endpoint-weight';
import { scaleWeights } from './scale-weights';
import { StrideScheduler } from './stride-scheduler';
import type { LoadReport } from './utilization';

type CallEndedListener = NonNullable<PickResult['onCallEnded']>;

/** An endpoint that was READY at least once. */
export class WeightedEndpoint {
  readonly weight = new EndpointWeight();
  /** Its place among those that are READY; -1 if it is not. */
  readyIndex = -1;
  /** Reports that do not come with calls. */
  oobWatch: Handle | undefined;

  /** @param onReport Called with every report that came with a call. */
  constructor(
    readonly leaf: EndpointLeaf,
    private readonly onReport: (endpoint: WeightedEndpoint, report: LoadReport) => void,
  ) {}

  /** What to do at the end of a call: read the report, and what is to be done besides. */
  observe(next: CallEndedListener | null): CallEndedListener {
    if (next === null) return this.onCallEnded;
    return (status, details, trailers) => {
      this.onCallEnded(status, details, trailers);
      next(status, details, trailers);
    };
  }

  private readonly onCallEnded: CallEndedListener = (_status, _details, trailers) => {
    const report = readCallLoadReport(trailers);
    if (report !== undefined) this.onReport(this, report);
  };
}

/**
 * The endpoints that are READY, chosen by weight. Adding and removing take constant time; a new one has
 * average weight until the next refresh.
 */
export class WeightedEndpoints {
  private readonly ready: WeightedEndpoint[] = [];
  private readonly scheduler: StrideScheduler;

  constructor(random: Random) {
    this.scheduler = new StrideScheduler(random);
  }

  /** How many are READY. */
  get size(): number {
    return this.ready.length;
  }

  /** Those that are READY, in no particular order. */
  values(): Iterable<WeightedEndpoint> {
    return this.ready;
  }

  /** Does nothing if it is there already. */
  add(endpoint: WeightedEndpoint): void {
    if (endpoint.readyIndex >= 0) return;
    endpoint.readyIndex = this.ready.length;
    this.ready.push(endpoint);
    this.scheduler.add();
  }

  /** Does nothing if it is not there. */
  remove(endpoint: WeightedEndpoint): void {
    const index = endpoint.readyIndex;
    const last = this.ready.at(-1);
    if (index < 0 || last === undefined) return;
    this.scheduler.remove(index);
    this.ready[index] = last;
    last.readyIndex = index;
    this.ready.pop();
    endpoint.readyIndex = -1;
  }

  /** Goes by new weights from now on. @param weigh Tells the weight of an endpoint; 0 if it has none. */
  refresh(weigh: (endpoint: WeightedEndpoint) => number): void {
    const weights = new Float64Array(this.ready.length);
    let index = 0;
    for (const endpoint of this.ready) weights[index++] = weigh(endpoint);
    this.scheduler.setWeights(scaleWeights(weights));
  }

  /** Goes on with a random endpoint. */
  shuffle(): void {
    this.scheduler.shuffle();
  }

  /** The endpoint whose turn it is; `undefined` if none is READY. */
  next(): WeightedEndpoint | undefined {
    return this.ready[this.scheduler.next()];
  }
}
