import { ConnectivityState, type Picker, subchannelAddressToString } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import type { LogFields } from '../../util/logger';
import { inSeconds } from '../../util/duration';
import { LONG_WAIT_MS } from '../../xds-client/long-waits';
import { SettledReport } from '../../util/settled-report';
import { describeWait } from '../connectivity';
import type { EndpointCounts } from '../../util/endpoint-counts';
import type { LbEnvironment, EndpointWatcher, FailedEndpoint } from '../lb-policy';
import { describeLocality, type LocalityEndpoints } from '../../resources/endpoints/endpoints';
import { connectionAdvice } from '../../util/connection-advice';
import { describeAddresses, endpointCause } from '../endpoints/endpoint-errors';
import { quoteName } from '../../util/text';
import { afterRunning } from '../../util/running-time';
import {
  diagnostics,
  type ClusterEvent,
  type DiagnosticChannel,
} from '../../xds-client/diagnostics';

type ReportEnvironment = Pick<LbEnvironment, 'clock' | 'logger' | 'channel'>;

/** Logs an event of a cluster, and publishes it where there is a subscriber. @param to Default: nowhere. */
function report(
  { channel, logger }: ReportEnvironment,
  level: 'error' | 'info',
  text: string,
  fields: LogFields & { readonly cluster: string },
  to?: DiagnosticChannel<ClusterEvent>,
): void {
  logger[level](() => text, fields);
  if (to?.hasSubscribers !== true) return;
  const { nodeId = '', target = '' } = channel ?? {};
  to.publish({ nodeId, target, cluster: fields.cluster, text });
}

/** The state of a cluster's policies. */
export interface ClusterState {
  readonly state: ConnectivityState;
  readonly picker: Picker;
  readonly errorMessage: string | null;
}

/**
 * Logs when a cluster cannot be used, when it has no connection for long, and when it can be used again: once each.
 */
export class ClusterLog {
  /** When the cluster was last reported, until it has recovered; on the monotonic clock. */
  private reportedMs: number | undefined;
  private hasFailed = false;
  private timer: Handle | undefined;
  private readonly settled: SettledReport;

  constructor(
    private readonly environment: ReportEnvironment,
    /** Returns the current state, for a report after a while. */
    private readonly current: () => ClusterState,
  ) {
    this.settled = new SettledReport(environment.clock);
  }

  /** Handles a published state. */
  onState(cluster: string, { state, errorMessage }: Omit<ClusterState, 'picker'>): void {
    const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;
    if (state === CONNECTING) this.settled.cancel();
    else this.release();
    if (state === TRANSIENT_FAILURE) {
      this.onFailure(cluster, `Cluster ${quoteName(cluster)}: ${errorMessage ?? 'no connection'}`);
    } else if (state === READY) {
      this.onReady(cluster);
    } else if (state === CONNECTING && this.reportedMs === undefined) {
      const { clock } = this.environment;
      this.timer ??= afterRunning(clock, () => this.onLongWait(cluster), LONG_WAIT_MS);
    }
  }

  /**
   * Handles that the configuration does not let the cluster be used: what it lacks may be on its way, since a route may arrive
   * before its cluster does.
   *
   * @param text The error of its calls.
   */
  onUnusable(cluster: string, text: string): void {
    this.timer?.release();
    this.timer = undefined;
    this.settled.schedule(() => this.onFailure(cluster, text));
  }

  private onFailure(cluster: string, text: string): void {
    this.release();
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.reportedMs ??= this.environment.clock.monotonicMs();
    const fields = { event: 'cluster-failed', cluster, error: text };
    report(this.environment, 'error', text, fields, diagnostics.clusterFailed);
  }

  /** Stops waiting. */
  release(): void {
    this.settled.cancel();
    this.timer?.release();
    this.timer = undefined;
  }

  private onReady(cluster: string): void {
    const { reportedMs } = this;
    this.hasFailed = false;
    this.reportedMs = undefined;
    if (reportedMs === undefined) return;
    const seconds = inSeconds(this.environment.clock.monotonicMs() - reportedMs);
    const text = `Cluster ${quoteName(cluster)}: connected ${seconds} after the failure was reported`;
    const fields = { event: 'cluster-recovered', cluster };
    report(this.environment, 'info', text, fields, diagnostics.clusterRecovered);
  }

  private onLongWait(cluster: string): void {
    this.timer = undefined;
    const { picker } = this.current();
    const { clock } = this.environment;
    const wait = describeWait(picker) ?? 'no endpoint is connected';
    const block = clock.eventLoop?.describeBlock(LONG_WAIT_MS);
    const text = `Cluster ${quoteName(cluster)}: ${wait}${block === undefined ? '' : `; ${block}`}`;
    this.reportedMs ??= clock.monotonicMs();
    report(this.environment, 'error', text, { event: 'cluster-connecting', cluster, error: wait });
  }
}

/** Milliseconds after a change until it is reported: endpoints fail in groups. */
const SETTLE_MS = 1000;
/** Milliseconds between two reports of a cluster: an endpoint may fail and recover all the time. */
const INTERVAL_MS = 10_000;
/** The number of causes in a report, each of which is a line. */
const MAX_CAUSES = 3;

/** What a report needs to know of the cluster. */
export interface ReportedCluster {
  readonly name: string;
  readonly state: ConnectivityState;
  readonly localities: readonly LocalityEndpoints[];
  /** Counts its endpoints, as reports do. */
  readonly count: () => EndpointCounts;
}

/** Why an endpoint fails, and since when on the monotonic clock. */
interface Failure {
  readonly sinceMs: number;
  readonly cause: string;
}

/**
 * Logs which endpoints of a cluster fail while others are used, and when none does any more. A cause is reported when it
 * appears, and when its endpoints have doubled in number. While the cluster is not READY, its own failure is logged.
 */
export class FailingEndpoints implements EndpointWatcher {
  /** The endpoint that failed first at the beginning. */
  private readonly failing = new Map<FailedEndpoint, Failure>();
  /** The number of endpoints by cause when it was reported last. */
  private readonly reported = new Map<string, number>();
  private reportedMs = -Infinity;
  /** Whether any of them has connected since the first failure. If not, they were all removed. */
  private hasRecovered = false;
  /** When the first endpoint failed, and when none did any more. */
  private startMs = 0;
  private endMs = 0;
  private timer: Handle | undefined;
  private isReleased = false;

  /** @param current Returns the state at the time of a report; `undefined` if the cluster is not in use. */
  constructor(
    private readonly environment: ReportEnvironment & Pick<LbEnvironment, 'batch'>,
    private readonly current: () => ReportedCluster | undefined,
  ) {}

  onFailed(endpoint: FailedEndpoint): void {
    const nowMs = this.environment.clock.monotonicMs();
    if (this.failing.size === 0 && this.reported.size === 0) {
      this.startMs = nowMs;
      this.hasRecovered = false;
    }
    const sinceMs = this.failing.get(endpoint)?.sinceMs ?? nowMs;
    // Determined here: a report of a hundred thousand endpoints would take too long for one turn of the event loop.
    this.failing.set(endpoint, { sinceMs, cause: endpointCause(endpoint) });
    this.schedule();
  }

  onRecovered(endpoint: FailedEndpoint): void {
    this.hasRecovered = true;
    this.end(endpoint);
  }

  onRemoved(endpoint: FailedEndpoint): void {
    this.end(endpoint);
  }

  private end(endpoint: FailedEndpoint): void {
    this.failing.delete(endpoint);
    if (this.failing.size > 0 || this.reported.size === 0) return;
    this.endMs = this.environment.clock.monotonicMs();
    this.schedule();
  }

  /** Handles that the cluster is READY, maybe after a failure that had a line of its own. */
  onReady(): void {
    if (this.failing.size > 0 || this.reported.size > 0) this.schedule();
  }

  release(): void {
    this.isReleased = true;
    this.timer?.release();
    this.timer = undefined;
  }

  private schedule(): void {
    if (this.timer !== undefined || this.isReleased) return;
    const { batch, clock } = this.environment;
    const dueMs = this.reportedMs + INTERVAL_MS - clock.monotonicMs();
    this.timer = clock.setTimer(() => batch.run(() => this.onTimer()), Math.max(SETTLE_MS, dueMs));
  }

  private onTimer(): void {
    this.timer = undefined;
    const cluster = this.current();
    if (cluster?.state !== ConnectivityState.READY) {
      if (this.failing.size === 0) this.reported.clear();
      return;
    }
    if (this.failing.size > 0) this.reportFailures(cluster);
    else if (this.reported.size > 0) this.reportRecovery(cluster);
  }

  private reportFailures(cluster: ReportedCluster): void {
    const byCause = this.groupByCause();
    for (const cause of this.reported.keys()) {
      if (!byCause.has(cause)) this.reported.delete(cause);
    }
    for (const [cause, endpoints] of [...byCause].slice(0, MAX_CAUSES)) {
      const before = this.reported.get(cause) ?? 0;
      if (endpoints.length < Math.max(1, 2 * before)) continue;
      this.reported.set(cause, endpoints.length);
      this.reportCause(cluster, cause, endpoints);
    }
  }

  private groupByCause(): Map<string, FailedEndpoint[]> {
    const byCause = new Map<string, FailedEndpoint[]>();
    for (const [failed, { cause }] of this.failing) {
      const group = byCause.get(cause);
      // One that takes no new calls does not count.
      if (failed.endpoint.health === 'DRAINING') continue;
      if (group === undefined) byCause.set(cause, [failed]);
      else group.push(failed);
    }
    return byCause;
  }

  private reportCause(
    { name, localities, count }: ReportedCluster,
    cause: string,
    failed: readonly FailedEndpoint[],
  ): void {
    const [first] = failed;
    if (first === undefined) return;
    const nowMs = this.environment.clock.monotonicMs();
    this.reportedMs = nowMs;
    const { total } = count();
    const found = localities.find(({ endpoints }) => endpoints.includes(first.endpoint));
    const locality = found === undefined ? '' : describeLocality(found.locality);
    const addresses = describeAddresses(failed.map(({ endpoint }) => endpoint));
    const seconds = inSeconds(nowMs - (this.failing.get(first)?.sinceMs ?? nowMs));
    const [address] = first.endpoint.addresses;
    const text =
      `Cluster ${quoteName(name)}: ${failed.length} of ${total} endpoints failing for ${seconds}: ` +
      `${cause} (${addresses}; first in ${locality})${connectionAdvice(cause)}`;
    const fields = {
      event: 'endpoints-failed',
      cluster: name,
      locality,
      error: cause,
      ...(address !== undefined && { endpoint: subchannelAddressToString(address) }),
    };
    report(this.environment, 'error', text, fields, diagnostics.endpointsFailed);
  }

  private reportRecovery({ name }: ReportedCluster): void {
    this.reported.clear();
    this.reportedMs = this.environment.clock.monotonicMs();
    const seconds = inSeconds(this.endMs - this.startMs);
    const [event, what, to] = this.hasRecovered
      ? ([
          'endpoints-recovered',
          'no endpoint is failing any more',
          diagnostics.endpointsRecovered,
        ] as const)
      : ([
          'endpoints-removed',
          'the endpoints that failed are no longer used, or connect anew',
          diagnostics.endpointsRemoved,
        ] as const);
    const text = `Cluster ${quoteName(name)}: ${what}, after ${seconds}`;
    report(this.environment, 'info', text, { event, cluster: name }, to);
  }
}
