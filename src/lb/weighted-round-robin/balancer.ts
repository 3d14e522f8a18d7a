import { Metadata, type PickArgs, type Subchannel } from '../../grpc-js';
import { LbInstruments } from '../../observe/stats/instruments';
import type { ChannelStats, LabelValues, Series } from '../../observe/stats/stats-plugin';
import type { Handle } from '../../util/handle';
import {
  ConnectedEndpoints,
  type ConnectedEndpointsDelegate,
} from '../endpoints/connected-endpoints';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import { formatAddress } from '../endpoints/endpoint-key';
import { SlowStart } from '../slow-start/slow-start';
import { describeUnusable } from '../orca/call-load-report';
import type { LbHost, LbPolicyType, LbContext } from '../lb-policy';
import type { StateDetails } from '../tree/policy-state';
import {
  createClientSideWeightedRoundRobinConverter,
  DEFAULT_SETTINGS,
  parseWeightedRoundRobinConfig,
  WEIGHTED_ROUND_ROBIN,
  WeightedRoundRobinConfig,
  type WeightedRoundRobinParsing,
} from './config';
import {
  type WeightState,
  WeightedEndpoint,
  WeightedEndpoints,
  WeightedRoundRobinPicker,
} from './weighted-endpoints';
import type { LoadReport } from './utilization';

/** A source of out-of-band load reports (gRFC A51). */
export interface OobReportSource {
  /**
   * Subscribes to the reports of the backend of a READY connection.
   *
   * @param intervalMs Requested time between reports. Of several subscribers, the shortest interval applies.
   */
  subscribe(
    subchannel: Subchannel,
    intervalMs: number,
    onReport: (report: LoadReport) => void,
  ): Handle;
}

/** The dependencies that all weighted_round_robin policies of the process share. */
export interface WeightedRoundRobinDependencies extends WeightedRoundRobinParsing {
  readonly oobReports: OobReportSource;
}

/**
 * Creates the policy that connects to every endpoint and weights each by the load its backend reports (gRFC A58), under
 * its name and its former name.
 */
export function createWeightedRoundRobinPolicyTypes(
  dependencies: WeightedRoundRobinDependencies,
): readonly LbPolicyType[] {
  const converter = createClientSideWeightedRoundRobinConverter(dependencies);
  return [WEIGHTED_ROUND_ROBIN, `${WEIGHTED_ROUND_ROBIN}_experimental`].map((name) => ({
    name,
    converter,
    parseConfig: (json, violations) =>
      parseWeightedRoundRobinConfig(json, violations, dependencies, name),
    create(host) {
      const { oobReports, slowStart } = dependencies;
      return new ConnectedEndpoints(host, new WeightedRoundRobin(host, oobReports, slowStart));
    },
  }));
}

const TRACER = 'weighted_round_robin';
const INITIAL_CONFIG = new WeightedRoundRobinConfig(DEFAULT_SETTINGS);
// The picker of a leaf does not read it.
const NO_CALL: PickArgs = { metadata: new Metadata(), extraPickInfo: {} };

class WeightedRoundRobin implements ConnectedEndpointsDelegate<
  WeightedRoundRobinConfig,
  WeightedEndpoint
> {
  private readonly ready: WeightedEndpoints;
  /** `undefined` if it is not enabled. */
  private readonly slowStart: SlowStart<WeightedEndpoint> | undefined;
  private config = INITIAL_CONFIG;
  private labels: LbContext['labels'];
  /** Set while any endpoint is READY. */
  private refreshTimer: Handle | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly oobReports: OobReportSource,
    hasSlowStart = false,
  ) {
    const { clock, random } = host.environment;
    this.ready = new WeightedEndpoints(random);
    this.slowStart = hasSlowStart ? new SlowStart(clock, random) : undefined;
  }

  configure(config: WeightedRoundRobinConfig, labels: LbContext['labels']): void {
    this.labels = labels;
    if (config !== this.config) this.apply(config);
  }

  createEndpoint(leaf: EndpointLeaf): WeightedEndpoint {
    return new WeightedEndpoint(
      leaf,
      (endpoint, report) => this.onReport(endpoint, report),
      (reason) =>
        this.host.environment.logger.error(() =>
          describeUnusable(leaf.endpoint.addresses.slice(0, 1).map(formatAddress).join(), reason),
        ),
    );
  }

  onReady(endpoint: WeightedEndpoint): void {
    // Otherwise it was READY already, on another connection to the same backend.
    if (this.ready.add(endpoint)) endpoint.weight.onReady();
    this.slowStart?.onReady(endpoint);
    this.watch(endpoint);
    if (this.refreshTimer === undefined) this.startRefreshing();
  }

  onNotReady(endpoint: WeightedEndpoint): void {
    this.ready.remove(endpoint);
    this.slowStart?.onNotReady(endpoint);
    endpoint.oobWatch?.release();
    endpoint.oobWatch = undefined;
    if (this.ready.size === 0) this.stopRefreshing();
  }

  createPicker(): WeightedRoundRobinPicker {
    return new WeightedRoundRobinPicker(
      this.ready,
      this.slowStart,
      () => !this.config.settings.enableOobLoadReport,
    );
  }

  describe({ weight }: WeightedEndpoint): StateDetails {
    const nowMs = this.host.environment.clock.monotonicMs();
    return { reportedWeight: weight.current(nowMs, this.config) };
  }

  release(): void {
    this.stopRefreshing();
    for (const endpoint of this.ready.values()) endpoint.oobWatch?.release();
  }

  private apply(config: WeightedRoundRobinConfig): void {
    const before = this.config.settings;
    const { enableOobLoadReport, oobReportingPeriodMs, weightUpdatePeriodMs } = config.settings;
    this.config = config;
    if (this.slowStart !== undefined) this.slowStart.config = config.settings.slowStart;
    const watchChanged =
      enableOobLoadReport !== before.enableOobLoadReport ||
      oobReportingPeriodMs !== before.oobReportingPeriodMs;
    if (watchChanged) for (const endpoint of this.ready.values()) this.watch(endpoint);
    if (this.refreshTimer === undefined) return;
    this.refresh();
    if (weightUpdatePeriodMs !== before.weightUpdatePeriodMs) {
      this.stopRefreshing();
      this.startRefreshing();
    }
  }

  private onReport(endpoint: WeightedEndpoint, report: LoadReport): void {
    endpoint.weight.onReport(report, this.config, this.host.environment.clock.monotonicMs());
  }

  /** Subscribes to out-of-band reports, if configured, in place of the previous subscription. */
  private watch(endpoint: WeightedEndpoint): void {
    const { enableOobLoadReport, oobReportingPeriodMs } = this.config.settings;
    const before = endpoint.oobWatch;
    const { subchannel } = endpoint.leaf.picker.pick(NO_CALL);
    endpoint.oobWatch =
      enableOobLoadReport && subchannel !== null
        ? this.oobReports.subscribe(subchannel, oobReportingPeriodMs, (report) =>
            this.onReport(endpoint, report),
          )
        : undefined;
    // Released afterwards, so that a stream in use stays open.
    before?.release();
  }

  private startRefreshing(): void {
    const { batch, clock } = this.host.environment;
    const timer = clock.setTimer(() => {
      batch.run(() => {
        if (this.refreshTimer !== timer) return;
        this.refresh();
        this.startRefreshing();
      });
    }, this.config.settings.weightUpdatePeriodMs);
    this.refreshTimer = timer;
  }

  private stopRefreshing(): void {
    this.refreshTimer?.release();
    this.refreshTimer = undefined;
  }

  private refresh(): void {
    const { clock, logger, stats: channel } = this.host.environment;
    const nowMs = clock.monotonicMs();
    const { config, ready } = this;
    const stats = channel && new WeightStats(channel, this.labels);
    const isWeighted = ready.refresh(({ weight }) => {
      const current = weight.current(nowMs, config);
      stats?.onWeight(current, current > 0 ? 'usable' : weight.stateAt(nowMs, config));
      return current;
    });
    if (!isWeighted) stats?.onFallback();
    logger.trace(TRACER, () => `weights ${this.describeWeights(nowMs)}`);
  }

  private describeWeights(nowMs: number): string {
    const weights = Array.from(this.ready.values(), ({ leaf, weight }) => {
      const addresses = leaf.endpoint.addresses.map(({ host, port }) => `${host}:${port}`);
      return `${addresses.join(' ')}=${weight.current(nowMs, this.config)}`;
    });
    return weights.join(', ');
  }
}

/** Records the weights of endpoints at one update of the scheduler (gRFC A78). */
class WeightStats {
  private readonly weights: Series | undefined;
  private readonly fallback: Series | undefined;
  private readonly unusable: Readonly<Record<Exclude<WeightState, 'usable'>, Series | undefined>>;

  /** @param labels The cluster and the locality of the endpoints. Default: neither. */
  constructor(stats: ChannelStats, labels: LabelValues = {}) {
    this.weights = stats.series(LbInstruments.WRR_WEIGHTS, labels);
    this.fallback = stats.series(LbInstruments.WRR_RR_FALLBACK, labels);
    this.unusable = {
      stale: stats.series(LbInstruments.WRR_STALE, labels),
      'not-yet-usable': stats.series(LbInstruments.WRR_NOT_YET_USABLE, labels),
    };
  }

  /** @param weight 0 if it is not usable. */
  onWeight(weight: number, state: WeightState): void {
    this.weights?.add(weight);
    if (state !== 'usable') this.unusable[state]?.add(1);
  }

  /** The endpoints weigh the same until the next update. */
  onFallback(): void {
    this.fallback?.add(1);
  }
}
