import type { CallMeter } from './call-meter';
import type { RouteKey, RouteRates, TargetRates } from './target-rates';

/** A call of a channel while calls are counted: counts it for its target, its route and the cluster that the route gives it to. */
export class RatedCall {
  private route: RouteRates | undefined = undefined;
  private split: CallMeter | undefined = undefined;

  /** Counts the start. */
  constructor(
    private readonly target: TargetRates,
    private readonly startedAtMs: number,
  ) {
    target.calls.start(startedAtMs);
  }

  /** The call matches a route. @param cluster Drawn for it; absent if the call fails. */
  onRouted(nowMs: number, key: RouteKey, cluster?: string): void {
    this.route = this.target.route(key);
    this.route?.calls.start(nowMs);
    if (cluster === undefined) return;
    this.split = this.route?.split(cluster);
    this.split?.start(nowMs);
  }

  /** A filter sends the call to another cluster of its route. */
  onMoved(nowMs: number, cluster: string): void {
    this.split?.withdraw(nowMs);
    this.split = this.route?.split(cluster);
    this.split?.start(nowMs);
  }

  /** @param code The status that the application gets. */
  end(nowMs: number, code: number): void {
    const latencyMs = nowMs - this.startedAtMs;
    this.target.calls.end(nowMs, code, latencyMs);
    this.route?.calls.end(nowMs, code, latencyMs);
    this.split?.end(nowMs, code, latencyMs);
  }
}
