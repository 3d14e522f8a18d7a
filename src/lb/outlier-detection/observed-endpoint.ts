import { Status } from '../../grpc-js';
import type { PickResult } from '../../grpc-js';
import type { OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type { CallOutcomes } from './choose-ejections';

type CallEndedListener = NonNullable<PickResult['onCallEnded']>;

/** Receives the ejections and unejections of an endpoint. */
export interface Ejectable {
  setEjected(ejected: boolean): void;
}

/** An endpoint, how the calls to it end, and whether it is ejected (gRFC A50). Times are monotonic. */
export class ObservedEndpoint {
  /** How many places list it. */
  listings = 1;
  private successes = 0;
  private failures = 0;
  private ejectedAtMs: number | undefined;
  /** Grows with each ejection, shrinks with each sweep in between; the longer the next one takes. */
  private multiplier = 0;
  private subchannels: Set<Ejectable> | undefined;
  private onCallEnded: CallEndedListener | undefined;

  /** @param key Its addresses, by which it is known. */
  constructor(readonly key: string) {}

  get isEjected(): boolean {
    return this.ejectedAtMs !== undefined;
  }

  /** A subchannel to one of the addresses is in use from now on. */
  attach(subchannel: Ejectable): void {
    this.subchannels ??= new Set();
    this.subchannels.add(subchannel);
    subchannel.setEjected(this.isEjected);
  }

  /** A subchannel is not in use any more. */
  detach(subchannel: Ejectable): void {
    this.subchannels?.delete(subchannel);
  }

  /** Returns the callback for the end of a call, which counts the call and runs the given one. */
  observe(next: CallEndedListener | null): CallEndedListener {
    this.onCallEnded ??= (status) => this.count(status);
    if (next === null) return this.onCallEnded;
    return (status, details, trailers) => {
      this.count(status);
      next(status, details, trailers);
    };
  }

  /** Returns the calls that ended since the last invocation; `undefined` if none did. */
  takeCalls(): Omit<CallOutcomes, 'isEjected'> | undefined {
    const { successes, failures } = this;
    this.successes = 0;
    this.failures = 0;
    return successes + failures === 0 ? undefined : { successes, failures };
  }

  /** Keeps calls away, for longer each time. */
  eject(nowMs: number): void {
    this.ejectedAtMs = nowMs;
    this.multiplier++;
    this.tellSubchannels();
  }

  /** Lets calls in again. */
  uneject(): void {
    this.ejectedAtMs = undefined;
    this.tellSubchannels();
  }

  /** Forgets that it ever was ejected. */
  reset(): void {
    this.multiplier = 0;
    if (this.isEjected) this.uneject();
  }

  /**
   * Ends the ejection when its time is over; reduces the time of the next ejection while there is none.
   * Called once per sweep.
   *
   * @returns whether the ejection ended.
   */
  settle(nowMs: number, config: OutlierDetectionConfig): boolean {
    if (this.ejectedAtMs === undefined) {
      if (this.multiplier > 0) this.multiplier--;
      return false;
    }
    const { baseEjectionTimeMs, maxEjectionTimeMs } = config;
    const longestMs = Math.max(baseEjectionTimeMs, maxEjectionTimeMs);
    const durationMs = Math.min(baseEjectionTimeMs * this.multiplier, longestMs);
    if (nowMs <= this.ejectedAtMs + durationMs) return false;
    this.uneject();
    return true;
  }

  private count(status: Status): void {
    if (status === Status.OK) this.successes++;
    else this.failures++;
  }

  private tellSubchannels(): void {
    for (const subchannel of this.subchannels ?? []) subchannel.setEjected(this.isEjected);
  }
}
