import { Status, type PickResult, type SubchannelAddress } from '../../grpc-js';
import type { OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type { SocketAddress, XdsEndpoint } from '../../resources/endpoints/endpoints';
import {
  EndpointIndex,
  type EndpointChanges,
  type ListedEndpoint,
} from '../endpoints/endpoint-index';
import { addressKey } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type { CallOutcomes } from './choose-ejections';

// Loaded with the endpoints, for clusters that detect outliers.
export { failurePercentageEjections, successRateEjections } from './choose-ejections';

type CallEndedListener = NonNullable<PickResult['onCallEnded']>;

/** Receives the ejections and unejections of an endpoint. */
export interface Ejectable {
  setEjected(ejected: boolean): void;
}

/** An endpoint with the outcomes of its calls and its ejection (gRFC A50). Times are monotonic. */
export class ObservedEndpoint {
  private isListed = true;
  private successes = 0;
  private failures = 0;
  private ejectedAtMs: number | undefined;
  /** The factor of the ejection time: grows with each ejection, shrinks with each sweep without one. */
  private multiplier = 0;
  private subchannels: Set<Ejectable> | undefined;
  private onCallEnded: CallEndedListener | undefined;

  /**
   * @param key The set of its addresses, as text.
   * @param due The endpoints of the next sweep. The endpoint adds itself with its first call and its ejection.
   */
  constructor(
    readonly key: string,
    readonly addresses: readonly SocketAddress[],
    private readonly due: Set<ObservedEndpoint>,
  ) {}

  get isEjected(): boolean {
    return this.ejectedAtMs !== undefined;
  }

  /** Adds a subchannel to one of the addresses, and sets its health. */
  addSubchannel(subchannel: Ejectable): void {
    this.subchannels ??= new Set();
    this.subchannels.add(subchannel);
    subchannel.setEjected(this.isEjected);
  }

  removeSubchannel(subchannel: Ejectable): void {
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

  /** Ejects the endpoint, for longer each time. */
  eject(nowMs: number): void {
    this.ejectedAtMs = nowMs;
    this.multiplier++;
    if (this.isListed) this.due.add(this);
    this.notifySubchannels();
  }

  uneject(): void {
    this.ejectedAtMs = undefined;
    this.notifySubchannels();
  }

  /** Ends the ejection, for an endpoint that is listed no more: only draining calls may still use it. */
  release(): void {
    this.isListed = false;
    this.multiplier = 0;
    this.due.delete(this);
    if (this.isEjected) this.uneject();
  }

  /**
   * Ends an ejection whose time is over; reduces the factor of an endpoint that is not ejected. Called once per sweep. What
   * would not change in the next sweep leaves those that are due.
   *
   * @returns Whether the ejection ended.
   */
  settle(nowMs: number, config: OutlierDetectionConfig): boolean {
    if (this.ejectedAtMs === undefined) {
      if (this.multiplier > 0) this.multiplier--;
      if (this.multiplier === 0 && !this.hasCalls) this.due.delete(this);
      return false;
    }
    const { baseEjectionTimeMs, maxEjectionTimeMs } = config;
    const longestMs = Math.max(baseEjectionTimeMs, maxEjectionTimeMs);
    const durationMs = Math.min(baseEjectionTimeMs * this.multiplier, longestMs);
    if (nowMs <= this.ejectedAtMs + durationMs) return false;
    this.uneject();
    return true;
  }

  private get hasCalls(): boolean {
    return this.successes + this.failures > 0;
  }

  private count(status: Status): void {
    if (!this.hasCalls && this.isListed) this.due.add(this);
    if (status === Status.OK) this.successes++;
    else this.failures++;
  }

  private notifySubchannels(): void {
    for (const subchannel of this.subchannels ?? []) subchannel.setEjected(this.isEjected);
  }
}

/** The observed endpoints of a policy by their sets of addresses (gRFC A61). */
export class ObservedEndpoints extends EndpointIndex<ObservedEndpoint> {
  /** The endpoints with several addresses, by each of them. */
  private readonly byAddress = new Map<string, ObservedEndpoint>();
  private readonly dueForSweep = new Set<ObservedEndpoint>();

  /**
   * The endpoints that a sweep may change, in no particular order: those with calls since the last one, the ejected ones, and
   * those whose ejection is not forgiven yet. A sweep does not take longer with more endpoints that have no calls.
   */
  get due(): ReadonlySet<ObservedEndpoint> {
    return this.dueForSweep;
  }

  /** Begins to apply a set of endpoints: the caller adds and then removes endpoints. Those that stay keep their state. */
  beginUpdate(set: EndpointSet): EndpointChanges {
    return this.begin(set);
  }

  add(listed: ListedEndpoint): void {
    const endpoint = this.list(listed.endpoint);
    if (endpoint === undefined || endpoint.addresses.length === 1) return;
    for (const address of endpoint.addresses) this.byAddress.set(addressKey(address), endpoint);
  }

  remove(removed: readonly ListedEndpoint[]): void {
    for (const listed of removed) {
      const endpoint = this.unlist(listed.endpoint);
      if (endpoint === undefined) continue;
      endpoint.release();
      for (const address of endpoint.addresses.map(addressKey)) {
        if (this.byAddress.get(address) === endpoint) this.byAddress.delete(address);
      }
    }
  }

  /** Removes all endpoints. */
  clear(): void {
    for (const endpoint of this.values()) endpoint.release();
    this.removeAll();
    this.byAddress.clear();
  }

  /** Returns the endpoint with the address. */
  findAddress(address: SubchannelAddress): ObservedEndpoint | undefined {
    if (!('host' in address)) return undefined;
    const key = addressKey(address);
    return this.findKey(key) ?? this.byAddress.get(key);
  }

  protected create({ addresses }: XdsEndpoint, key: string): ObservedEndpoint {
    return new ObservedEndpoint(key, addresses, this.dueForSweep);
  }
}
