import { Metadata } from '../../grpc-js';
import type { PickArgs, Subchannel } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import { createPolicyType, isInstanceOf } from '../checked-policy';
import { ConnectedEndpoints } from '../connected-endpoints';
import type { EndpointLeaf } from '../endpoint-leaf';
import type { LbHost, LbPolicy, LbPolicyType, LbUpdate } from '../lb-policy';
import {
  DEFAULT_SETTINGS,
  parseWeightedRoundRobinConfig,
  WEIGHTED_ROUND_ROBIN,
  WeightedRoundRobinConfig,
  type WeightedRoundRobinParsing,
} from './config';
import { WeightedRoundRobinPicker } from './picker';
import type { LoadReport } from './utilization';
import { WeightedEndpoint, WeightedEndpoints } from './weighted-endpoints';

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
 * Makes the policy that connects to every endpoint and uses each by the load its backend reports (gRFC A58):
 * under the name of the policy, and under the one it had before.
 */
export function createWeightedRoundRobinPolicyTypes(
  dependencies: WeightedRoundRobinDependencies,
): readonly LbPolicyType[] {
  return [WEIGHTED_ROUND_ROBIN, `${WEIGHTED_ROUND_ROBIN}_experimental`].map((name) =>
    createPolicyType({
      name,
      isConfig: isInstanceOf(WeightedRoundRobinConfig),
      parseConfig: (json, violations) =>
        parseWeightedRoundRobinConfig(json, violations, dependencies, name),
      create: (host) => new WeightedRoundRobinPolicy(host, dependencies.oobReports),
    }),
  );
}

const TRACER = 'weighted_round_robin';
const INITIAL_CONFIG = new WeightedRoundRobinConfig(DEFAULT_SETTINGS);
// A leaf's picker looks at none of it.
const NO_CALL: PickArgs = { metadata: new Metadata(), extraPickInfo: {} };

class WeightedRoundRobinPolicy implements LbPolicy<WeightedRoundRobinConfig> {
  private readonly connected: ConnectedEndpoints;
  private readonly ready: WeightedEndpoints;
  /** Weights stay with their leaf, and so with its set of addresses (gRFC A61), however often it reconnects. */
  private readonly byLeaf = new Map<EndpointLeaf, WeightedEndpoint>();
  private config = INITIAL_CONFIG;
  /** Set while any endpoint is READY. */
  private refreshTimer: Handle | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly oobReports: OobReportSource,
  ) {
    const { random } = host.environment;
    this.ready = new WeightedEndpoints(random);
    this.connected = new ConnectedEndpoints({
      host,
      onReady: (leaf) => this.onReady(leaf),
      onNotReady: (leaf) => this.onNotReady(leaf),
      onRemoved: (leaf) => this.byLeaf.delete(leaf),
      createPicker: () =>
        new WeightedRoundRobinPicker(this.ready, () => !this.config.settings.enableOobLoadReport),
    });
  }

  update(update: LbUpdate<WeightedRoundRobinConfig>): void {
    const { config } = update;
    if (config !== this.config) this.apply(config);
    this.connected.update(update);
  }

  /** All endpoints are connected to at all times, so there is no idleness to leave. */
  exitIdle(): void {}

  /** There is no backoff here: subchannels have their own, out of the reach of policies. */
  resetBackoff(): void {}

  destroy(): void {
    this.stopRefreshing();
    for (const endpoint of this.ready.values()) endpoint.oobWatch?.release();
    this.connected.destroy();
  }

  private apply(config: WeightedRoundRobinConfig): void {
    const before = this.config.settings;
    const { enableOobLoadReport, oobReportingPeriodMs, weightUpdatePeriodMs } = config.settings;
    this.config = config;
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

  private onReady(leaf: EndpointLeaf): void {
    let endpoint = this.byLeaf.get(leaf);
    if (endpoint === undefined) {
      endpoint = new WeightedEndpoint(leaf, (reporting, report) =>
        this.onReport(reporting, report),
      );
      this.byLeaf.set(leaf, endpoint);
    }
    // Otherwise it was READY already, on another connection to the same backend.
    if (endpoint.readyIndex < 0) endpoint.weight.onReady();
    this.ready.add(endpoint);
    this.watch(endpoint);
    if (this.refreshTimer === undefined) this.startRefreshing();
  }

  private onNotReady(leaf: EndpointLeaf): void {
    const endpoint = this.byLeaf.get(leaf);
    if (endpoint === undefined) return;
    this.ready.remove(endpoint);
    endpoint.oobWatch?.release();
    endpoint.oobWatch = undefined;
    if (this.ready.size === 0) this.stopRefreshing();
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
    const { clock, logger } = this.host.environment;
    const nowMs = clock.monotonicMs();
    this.ready.refresh((endpoint) => endpoint.weight.current(nowMs, this.config));
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
