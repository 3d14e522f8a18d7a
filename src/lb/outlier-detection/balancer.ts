import type { ChannelOptions, Picker, Subchannel, SubchannelAddress } from '../../grpc-js';
import {
  diagnostics,
  type EndpointEjectedEvent,
  type EndpointEvent,
} from '../../xds-client/diagnostics';
import { Label, LbInstruments, LbLabel } from '../../observe/stats/instruments';
import type { Handle } from '../../util/handle';
import { ClusterImplConfig } from '../cluster-impl/config';
import { formatAddress } from '../endpoints/endpoint-key';
import type { ListedEndpoint } from '../endpoints/endpoint-index';
import { emptyEndpointSet, type EndpointSet, type LbEndpoints } from '../endpoints/endpoint-set';
import type { LbContext, LbPolicyType } from '../lb-policy';
import { SwitchingChild } from '../tree/child';
import { SingleChildPolicy } from '../tree/single-child';
import { mapEndpoints, type ChildState, type StateDetails } from '../tree/policy-state';
import { formatDurationString } from '../../util/duration';
import type { CallOutcomes, EjectionLimit, Outlier, Verdict } from './choose-ejections';
import type { OutlierDetectionLbConfig } from './config';
import { isDetecting, OUTLIER_DETECTION, parseOutlierDetectionConfig } from './config';
import type * as Detection from './observed-endpoints';
import type { ObservedEndpoint, ObservedEndpoints } from './observed-endpoints';
import { ObservedSubchannel, OutlierDetectionPicker } from './observed-subchannel';
import { lazy } from '../../util/lazy';
import { quoteName } from '../../util/text';

/** Loaded for the first cluster that detects outliers: every other one has the policy, too, and does not detect. */
const loadDetection = lazy<typeof Detection>(() => require('./observed-endpoints'));

/**
 * The policy that ejects endpoints that fail more than others (gRFCs A50, A61), under its name and the one in grpc-js.
 * With a config without an algorithm, pickers pass through unchanged, so that the policy can stay in the tree when
 * detection is off.
 */
export const outlierDetectionPolicies: readonly LbPolicyType[] = [
  OUTLIER_DETECTION,
  'outlier_detection',
].map((name) => ({
  name,
  parseConfig: (json, violations, children) =>
    parseOutlierDetectionConfig(json, violations, children, name),
  create: (host) => new OutlierDetection(host),
}));

const UNENFORCED_REASONS: Readonly<Record<Exclude<Verdict, 'ejected'>, string>> = {
  'not-enforced': 'enforcement_percentage',
  'at-limit': 'max_ejection_overflow',
};

type Method = EndpointEjectedEvent['method'];

const TRACER = 'outlier_detection';
// With an interval of 0 the timer would fire continuously. Other implementations of gRPC take any interval.
const MIN_INTERVAL_MS = 100;

/** New endpoints that are listed without a break. */
const LISTED_AT_ONCE = 256;

/** The timer of the next sweep. */
interface Schedule {
  readonly timer: Handle;
  /** The start of the interval whose calls are counted. */
  readonly startedAtMs: number;
  readonly intervalMs: number;
}

/** An endpoint with calls since the last sweep, and their outcomes. */
class Candidate implements CallOutcomes {
  constructor(
    readonly endpoint: ObservedEndpoint,
    readonly successes: number,
    readonly failures: number,
  ) {}

  get isEjected(): boolean {
    return this.endpoint.isEjected;
  }
}

class OutlierDetection extends SingleChildPolicy<OutlierDetectionLbConfig> {
  protected readonly child = new SwitchingChild(this);
  /** Empty while detection is off, `undefined` until it is on for the first time. */
  private endpoints: ObservedEndpoints | undefined;
  /** The last set of endpoints that was to be observed. */
  private latest = emptyEndpointSet;
  private isListing = false;
  private listing: Handle | undefined;
  /** The subchannels that are referenced by the policies below. */
  private readonly subchannels = new Set<ObservedSubchannel>();
  private config: OutlierDetectionLbConfig | undefined;
  /** `undefined` while detection is off. */
  private schedule: Schedule | undefined;

  update(config: OutlierDetectionLbConfig, endpoints: LbEndpoints, context: LbContext): void {
    if (config !== this.config) this.apply(config);
    // Before the child, so that its subchannels find their endpoints.
    if (typeof endpoints !== 'string' && this.schedule !== undefined) this.observe(endpoints);
    this.child.update(config.childPolicy, endpoints, context);
  }

  /** Returns the picker of the child itself while detection is off. */
  protected override createPicker(childPicker: Picker): Picker {
    return this.schedule === undefined ? childPicker : new OutlierDetectionPicker(childPicker);
  }

  protected override describeDetails(): StateDetails {
    if (this.schedule === undefined) return { detecting: false };
    const { length: ejected } = this.ejected();
    return { detecting: true, endpoints: this.endpoints?.size ?? 0, ejected };
  }

  protected override describeChild(child: ChildState): ChildState {
    const ejected = new Set(
      this.ejected().map(({ addresses }) => addressSet(addresses.map(formatAddress))),
    );
    if (ejected.size === 0) return child;
    return mapEndpoints(child, (endpoint) =>
      ejected.has(addressSet(endpoint.addresses)) ? { ...endpoint, ejected: true } : endpoint,
    );
  }

  override destroy(): void {
    for (const endpoint of this.ejected()) this.publishUnejected(endpoint);
    this.stop();
    this.stopListing();
    super.destroy();
  }

  createSubchannel(address: SubchannelAddress, options: ChannelOptions): Subchannel {
    const subchannel = this.host.createSubchannel(address, options);
    const observed = new ObservedSubchannel(subchannel, address, this.subchannels);
    const endpoint = this.endpoints?.findAddress(address);
    if (endpoint !== undefined) observed.observe(endpoint);
    return observed;
  }

  /** Observes the listed endpoints, including subchannels that were created before they were listed. */
  private observe(endpoints: EndpointSet): void {
    this.latest = endpoints;
    if (!this.isListing) this.listLatest(endpoints);
  }

  /** Of many endpoints, those that are not listed yet are in use, and observed a little later. */
  private listLatest(endpoints: EndpointSet): void {
    const observed = (this.endpoints ??= new (loadDetection().ObservedEndpoints)());
    const { batch, timeSlices } = this.host.environment;
    const { added, removed } = observed.beginUpdate(endpoints);
    const onDone = () => {
      this.isListing = false;
      const ejected = this.ejected();
      observed.remove(removed);
      this.publishEnded(ejected);
      for (const subchannel of this.subchannels) {
        if (subchannel.endpoint === undefined)
          subchannel.observe(observed.findAddress(subchannel.address));
      }
      if (this.latest !== endpoints) this.listLatest(this.latest);
    };
    this.isListing = true;
    const act = (listed: ListedEndpoint) => observed.add(listed);
    const items = added;
    this.listing = timeSlices.each({ batch, items, atOnce: LISTED_AT_ONCE, act, onDone });
  }

  private stopListing(): void {
    this.isListing = false;
    this.listing?.release();
  }

  private apply(config: OutlierDetectionLbConfig): void {
    const wasDetecting = this.schedule !== undefined;
    const { intervalMs } = config.detection;
    const isNewInterval = intervalMs !== this.config?.detection.intervalMs;
    this.config = config;
    if (isDetecting(config.detection)) {
      if (isNewInterval && intervalMs < MIN_INTERVAL_MS) this.logInterval(intervalMs);
      this.reschedule(intervalMs);
    } else this.stopDetecting();
    // The picker counts calls only while detection is on.
    if (wasDetecting !== (this.schedule !== undefined)) this.onStateChanged();
  }

  /** Sets the interval. The next sweep is due one new interval after the last one. */
  private reschedule(configuredMs: number): void {
    const intervalMs = Math.max(configuredMs, MIN_INTERVAL_MS);
    const { schedule } = this;
    if (schedule?.intervalMs === intervalMs) return;
    const nowMs = this.host.environment.clock.monotonicMs();
    const startedAtMs = schedule?.startedAtMs ?? nowMs;
    this.startTimer(startedAtMs, intervalMs, Math.max(0, startedAtMs + intervalMs - nowMs));
  }

  private logInterval(intervalMs: number): void {
    const cluster = this.clusterName();
    this.host.environment.logger.error(
      () =>
        `Cluster ${quoteName(cluster)}: outlier detection uses an interval of ${formatDurationString(MIN_INTERVAL_MS)}, ` +
        `because ${formatDurationString(intervalMs)} is shorter`,
      { cluster },
    );
  }

  private startTimer(startedAtMs: number, intervalMs: number, delayMs: number): void {
    const { batch, clock } = this.host.environment;
    this.stop();
    const timer = clock.setTimer(() => {
      batch.run(() => {
        if (this.schedule?.timer === timer) this.sweep(intervalMs);
      });
    }, delayMs);
    this.schedule = { timer, startedAtMs, intervalMs };
  }

  private stop(): void {
    this.schedule?.timer.release();
    this.schedule = undefined;
  }

  private stopDetecting(): void {
    this.stop();
    this.stopListing();
    const ejected = this.ejected();
    this.endpoints?.clear();
    this.publishEnded(ejected);
    for (const subchannel of this.subchannels) subchannel.observe(undefined);
  }

  private sweep(intervalMs: number): void {
    const nowMs = this.host.environment.clock.monotonicMs();
    this.startTimer(nowMs, intervalMs, intervalMs);
    const detection = this.config?.detection;
    if (detection === undefined) return;
    const { successRate, failurePercentage } = detection;
    const { random } = this.host.environment;
    const { successRateEjections, failurePercentageEjections } = loadDetection();
    const candidates = this.takeCandidates();
    if (successRate !== undefined) {
      const limit = this.measureLimit(detection.maxEjectionPercent);
      const outliers = successRateEjections(candidates, successRate, limit, random);
      this.eject(outliers, 'success_rate', nowMs);
    }
    if (failurePercentage !== undefined) {
      const limit = this.measureLimit(detection.maxEjectionPercent);
      const outliers = failurePercentageEjections(candidates, failurePercentage, limit, random);
      this.eject(outliers, 'failure_percentage', nowMs);
    }
    for (const endpoint of this.due()) {
      if (endpoint.settle(nowMs, detection)) {
        this.trace(() => `${endpoint.key} is unejected`);
        this.publishUnejected(endpoint);
      }
    }
  }

  private ejected(): readonly ObservedEndpoint[] {
    return Array.from(this.due()).filter(({ isEjected }) => isEjected);
  }

  private due(): Iterable<ObservedEndpoint> {
    return this.endpoints?.due ?? [];
  }

  private takeCandidates(): readonly Candidate[] {
    const candidates: Candidate[] = [];
    for (const endpoint of this.due()) {
      const calls = endpoint.takeCalls();
      if (calls === undefined) continue;
      candidates.push(new Candidate(endpoint, calls.successes, calls.failures));
    }
    return candidates;
  }

  private measureLimit(maxEjectionPercent: number): EjectionLimit {
    let ejectedCount = 0;
    for (const endpoint of this.due()) if (endpoint.isEjected) ejectedCount++;
    return { endpointCount: this.endpoints?.size ?? 0, ejectedCount, maxEjectionPercent };
  }

  private eject(outliers: readonly Outlier<Candidate>[], method: Method, nowMs: number): void {
    for (const { candidate, verdict } of outliers) {
      const { endpoint, successes, failures } = candidate;
      this.trace(
        () => `${endpoint.key} had ${successes} successes, ${failures} failures: ${verdict}`,
      );
      this.count(verdict, method);
      if (verdict !== 'ejected') continue;
      endpoint.eject(nowMs);
      this.publishEjected(candidate, method);
    }
  }

  private publishEjected({ endpoint, successes, failures }: Candidate, method: Method): void {
    const { endpointEjected } = diagnostics;
    if (!endpointEjected.hasSubscribers) return;
    const text = `${successes} calls succeeded, ${failures} failed`;
    endpointEjected.publish({ ...this.describeEndpoint(endpoint), method, text });
  }

  /** @param endpoints Those that were ejected before their list changed. */
  private publishEnded(endpoints: readonly ObservedEndpoint[]): void {
    for (const endpoint of endpoints) if (!endpoint.isEjected) this.publishUnejected(endpoint);
  }

  private publishUnejected(endpoint: ObservedEndpoint): void {
    const { endpointUnejected } = diagnostics;
    if (endpointUnejected.hasSubscribers)
      endpointUnejected.publish(this.describeEndpoint(endpoint));
  }

  private describeEndpoint({ addresses }: ObservedEndpoint): EndpointEvent {
    const { nodeId = '', target = '' } = this.host.environment.channel ?? {};
    const address = addresses.map(formatAddress).join(', ');
    return { nodeId, target, cluster: this.clusterName(), address };
  }

  /** Counts a decision for the plugins that observe the channel (gRFC A91). */
  private count(verdict: Verdict, method: string): void {
    const { stats } = this.host.environment;
    if (stats === undefined) return;
    const labels = {
      [Label.BACKEND_SERVICE]: this.clusterName(),
      [LbLabel.DETECTION_METHOD]: method,
    };
    const { EJECTIONS_ENFORCED, EJECTIONS_UNENFORCED } = LbInstruments;
    const reason = verdict === 'ejected' ? undefined : UNENFORCED_REASONS[verdict];
    const series =
      reason === undefined
        ? stats.series(EJECTIONS_ENFORCED, labels)
        : stats.series(EJECTIONS_UNENFORCED, { ...labels, [LbLabel.UNENFORCED_REASON]: reason });
    series?.add(1);
  }

  private clusterName(): string {
    const child = this.config?.childPolicy;
    return child instanceof ClusterImplConfig ? child.options.cluster : '';
  }

  private trace(text: () => string): void {
    this.host.environment.logger.trace(TRACER, text);
  }
}

/** The identity of an endpoint, by its addresses as they are described (gRFC A61). */
function addressSet(addresses: readonly string[]): string {
  return [...new Set(addresses)].sort().join(' ');
}
