import type { Subchannel } from '../../grpc-js';
import type { CallStatus } from '../../grpc-js/handed-over';
import type { ChannelRates } from '../../observe/rates/process-rates';
import type { RatedCluster, TargetRates } from '../../observe/rates/target-rates';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import type { AttemptTracer } from '../../grpc-js/host-call';
import type { CallObserver } from '../call-observer';
import type { LbEnvironment } from '../lb-policy';
import { formatAddress } from '../endpoints/endpoint-key';
import type { EndpointSet } from '../endpoints/endpoint-set';
import { mapEndpoints, type ChildState, type EndpointState } from '../tree/policy-state';

/** Latencies are measured for this long after each description of the policies, and shown for this long. */
const RECENT_MS = 60_000;
/** The share of the latest call in the average. */
const LATEST_SHARE = 1 / 16;
/** Endpoints up to which nothing is removed. */
const MIN_PRUNED = 64;

/**
 * What the calls of a channel are measured for: a minute after each description of its policies, such as by `inspect()`,
 * and pages that are served. At other times, no clock is read for a call.
 */
export class CallTiming implements Handle {
  /** Whether the latency of calls is described. */
  isRequested = false;
  /** Counts calls while a page is served; `undefined` before it is known, and if nothing does. */
  rates: ChannelRates | undefined;
  private timer: Handle | undefined;

  constructor(private readonly clock: Pick<Clock, 'setTimer'>) {}

  /** Measures for the next minute. */
  request(): void {
    this.timer?.release();
    this.isRequested = true;
    this.timer = this.clock.setTimer(() => (this.isRequested = false), RECENT_MS);
  }

  release(): void {
    this.timer?.release();
    this.isRequested = false;
  }
}

/** What the calls of a cluster are measured and counted with. */
type CallMeasures = Pick<LbEnvironment, 'clock' | 'callTiming'>;

/** The calls of one cluster on the connections to one address. */
export class EndpointCalls implements CallObserver {
  /** Counted by what starts and ends the calls. */
  inFlight = 0;
  /** Exponentially weighted over the latest calls. */
  private averageMs = 0;
  private measuredAtMs = -Infinity;

  constructor(
    private readonly cluster: RatedCluster,
    private readonly measures: CallMeasures,
  ) {}

  startAttempt(): AttemptTracer | undefined {
    const { callTiming, clock } = this.measures;
    const counted = callTiming?.rates?.current;
    if (counted === undefined && callTiming?.isRequested !== true) return undefined;
    const nowMs = clock.monotonicMs();
    counted?.attemptsOf(this.cluster).start(nowMs);
    counted?.attemptsOn(this).start(nowMs);
    return new MeasuredAttempt(this, nowMs);
  }

  /** Takes back the start of a measured attempt. */
  withdraw(startedAtMs: number): void {
    const counted = this.countedSince(startedAtMs);
    counted?.attemptsOf(this.cluster).withdraw(startedAtMs);
    counted?.attemptsOn(this).withdraw(startedAtMs);
  }

  /** Counts the end of a measured attempt. @param code Its status. */
  end(startedAtMs: number, code: number): void {
    const nowMs = this.measures.clock.monotonicMs();
    const latencyMs = nowMs - startedAtMs;
    const counted = this.countedSince(startedAtMs);
    counted?.attemptsOf(this.cluster).end(nowMs, code, latencyMs);
    counted?.attemptsOn(this).end(nowMs, code, latencyMs);
    const isFirst = nowMs - this.measuredAtMs > RECENT_MS;
    this.averageMs += (latencyMs - this.averageMs) * (isFirst ? 1 : LATEST_SHARE);
    this.measuredAtMs = nowMs;
  }

  describe(): Pick<EndpointState, 'callsInFlight' | 'latencyMs'> {
    const isRecent = this.measures.clock.monotonicMs() - this.measuredAtMs <= RECENT_MS;
    return {
      callsInFlight: this.inFlight,
      ...(isRecent && { latencyMs: Math.round(this.averageMs * 1000) / 1000 }),
    };
  }

  /** Returns the rates that the start of a call was counted in; `undefined` if it was not counted. */
  private countedSince(startedAtMs: number): TargetRates | undefined {
    const counted = this.measures.callTiming?.rates?.current;
    return counted !== undefined && startedAtMs >= counted.sinceMs ? counted : undefined;
  }
}

class MeasuredAttempt implements AttemptTracer {
  constructor(
    private readonly endpoint: EndpointCalls,
    private readonly startedAtMs: number,
  ) {}

  onNotSent(): void {
    this.endpoint.withdraw(this.startedAtMs);
  }

  onEnded({ code }: CallStatus): void {
    this.endpoint.end(this.startedAtMs, code);
  }
}

/** The calls of one cluster by the address of the endpoint. */
export class ClusterCalls implements RatedCluster, Handle {
  private readonly byAddress = new Map<string, EndpointCalls>();
  private endpoints: EndpointSet | undefined;

  constructor(
    readonly cluster: string,
    private readonly measures: CallMeasures,
  ) {}

  /** Sets the endpoints. Those that are removed are forgotten when there are many, and no call on them is in flight. */
  update(endpoints: EndpointSet): void {
    this.endpoints = endpoints;
  }

  /** Returns the calls on a subchannel; the same for all subchannels of an address. */
  of(subchannel: Subchannel): EndpointCalls {
    const address = subchannel.getAddress();
    const known = this.byAddress.get(address);
    if (known !== undefined) return known;
    this.prune();
    const created = new EndpointCalls(this, this.measures);
    this.byAddress.set(address, created);
    return created;
  }

  find(address: string): EndpointCalls | undefined {
    return this.byAddress.get(address);
  }

  /** Ends the counting of attempts. */
  release(): void {
    this.measures.callTiming?.rates?.current?.removeCluster(this);
  }

  /** Adds the calls to the description of a policy of the cluster and of those below it. */
  describe(policy: ChildState): ChildState {
    if (this.byAddress.size === 0) return policy;
    return mapEndpoints(policy, (endpoint) => this.describeEndpoint(endpoint));
  }

  private describeEndpoint(endpoint: EndpointState): EndpointState {
    for (const address of endpoint.addresses) {
      const calls = this.byAddress.get(address);
      if (calls !== undefined) return { ...endpoint, ...calls.describe() };
    }
    return endpoint;
  }

  private prune(): void {
    const { byAddress, endpoints } = this;
    const count = endpoints === undefined ? 0 : countEndpoints(endpoints);
    if (endpoints === undefined || byAddress.size < Math.max(MIN_PRUNED, 2 * count)) return;
    const listed = new Set<string>();
    collectAddresses(endpoints, listed);
    for (const [address, calls] of byAddress) {
      if (calls.inFlight === 0 && !listed.has(address)) byAddress.delete(address);
    }
  }
}

function countEndpoints({ localities, children }: EndpointSet): number {
  let count = 0;
  for (const { endpoints } of localities) count += endpoints.length;
  for (const child of children?.values() ?? []) count += countEndpoints(child);
  return count;
}

function collectAddresses({ localities, children }: EndpointSet, into: Set<string>): void {
  for (const { endpoints } of localities) {
    for (const { addresses } of endpoints) {
      for (const address of addresses) into.add(formatAddress(address));
    }
  }
  for (const child of children?.values() ?? []) collectAddresses(child, into);
}
