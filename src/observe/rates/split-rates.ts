import { CallMeter } from './call-meter';
import { RecentCount } from './recent-count';

/** The calls that one cluster of a route gets. */
export class SplitRates {
  readonly calls = new CallMeter();
  /** Those since the route changed last: with other weights, the share is another one. */
  readonly sinceChange = new RecentCount();

  start(nowMs: number): void {
    this.calls.start(nowMs);
    this.sinceChange.add(nowMs);
  }

  /** Takes back a start: a filter sends the call to another cluster. */
  withdraw(nowMs: number): void {
    this.calls.withdraw(nowMs);
    this.sinceChange.add(nowMs, -1);
  }
}
