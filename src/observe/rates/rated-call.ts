import type { Clock } from '../../util/clock';
import type { CallMeter } from './call-meter';
import type { RouteKey, RouteRates } from './route-rates';
import type { SplitRates } from './split-rates';

/** What counts the calls of a target. */
interface CountedTarget {
  readonly calls: CallMeter;
  route(key: RouteKey): RouteRates | undefined;
}

/** A call of a channel while calls are counted: counts it for its target, its route and the cluster that the route gives it to. */
export class RatedCall {
  private readonly startedAtMs: number;
  private route: RouteRates | undefined = undefined;
  private split: SplitRates | undefined = undefined;

  /** Counts the start. */
  constructor(
    private readonly target: CountedTarget,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.startedAtMs = clock.monotonicMs();
    target.calls.start(this.startedAtMs);
  }

  /** The call matches a route. @param cluster Drawn for it; absent if the call fails. */
  onRouted(key: RouteKey, cluster?: string): void {
    const nowMs = this.clock.monotonicMs();
    this.route = this.target.route(key);
    this.route?.calls.start(nowMs);
    if (cluster !== undefined) this.startSplit(cluster, nowMs);
  }

  /** A filter sends the call to another cluster of its route. */
  onMoved(cluster: string): void {
    const nowMs = this.clock.monotonicMs();
    this.split?.withdraw(nowMs);
    this.startSplit(cluster, nowMs);
  }

  /** @param code The status that the application gets. */
  end(code: number): void {
    const nowMs = this.clock.monotonicMs();
    const latencyMs = nowMs - this.startedAtMs;
    this.target.calls.end(nowMs, code, latencyMs);
    this.route?.calls.end(nowMs, code, latencyMs);
    this.split?.calls.end(nowMs, code, latencyMs);
  }

  private startSplit(cluster: string, nowMs: number): void {
    this.split = this.route?.split(cluster);
    this.split?.start(nowMs);
  }
}
