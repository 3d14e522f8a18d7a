import { ConnectivityState, type Picker } from '../../grpc-js';
import type { Handle } from '../../util/handle';
import type { LogFields } from '../../util/logger';
import { describeWait } from '../connectivity';
import type { LbEnvironment } from '../lb-policy';

/** Milliseconds after which a cluster without a connection is reported. */
const LONG_WAIT_MS = 5000;

/** The state of a cluster's policies. */
export interface ClusterState {
  readonly state: ConnectivityState;
  readonly picker: Picker;
  readonly errorMessage: string | null;
}

/**
 * Logs when a cluster cannot be used, when it has no connection for long, and when it can be used again: once each, and
 * as errors, which are shown by default.
 */
export class ClusterLog {
  /** When the cluster was last reported, until it has recovered; on the monotonic clock. */
  private reportedMs: number | undefined;
  private hasFailed = false;
  private timer: Handle | undefined;

  constructor(
    private readonly environment: Pick<LbEnvironment, 'clock' | 'logger'>,
    /** Returns the current state, for a report after a while. */
    private readonly current: () => ClusterState,
  ) {}

  /** Handles a published state. */
  onState(cluster: string, { state, errorMessage }: ClusterState): void {
    const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;
    if (state !== CONNECTING) this.release();
    if (state === TRANSIENT_FAILURE) {
      this.onFailure(cluster, `Cluster "${cluster}": ${errorMessage ?? 'no connection'}`);
    } else if (state === READY) {
      this.onReady(cluster);
    } else if (state === CONNECTING && this.reportedMs === undefined) {
      const { clock } = this.environment;
      this.timer ??= clock.setTimer(() => this.onLongWait(cluster), LONG_WAIT_MS);
    }
  }

  /** Handles that calls of the cluster fail. @param text The error of the calls. */
  onFailure(cluster: string, text: string): void {
    this.release();
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.report(text, { event: 'cluster-failed', cluster, error: text });
  }

  /** Stops waiting. */
  release(): void {
    this.timer?.release();
    this.timer = undefined;
  }

  private onReady(cluster: string): void {
    const { reportedMs } = this;
    this.hasFailed = false;
    this.reportedMs = undefined;
    if (reportedMs === undefined) return;
    const { clock, logger } = this.environment;
    const seconds = ((clock.monotonicMs() - reportedMs) / 1000).toFixed(1);
    const text = () =>
      `Cluster "${cluster}": connected ${seconds} s after the failure was reported`;
    logger.error(text, { event: 'cluster-recovered', cluster });
  }

  private onLongWait(cluster: string): void {
    this.timer = undefined;
    const { picker } = this.current();
    const wait = describeWait(picker) ?? 'no endpoint is connected';
    const block = this.environment.clock.eventLoop?.describeBlock(LONG_WAIT_MS);
    const text = `Cluster "${cluster}": ${wait}${block === undefined ? '' : `; ${block}`}`;
    this.report(text, { event: 'cluster-connecting', cluster, error: wait });
  }

  private report(text: string, fields: LogFields): void {
    const { clock, logger } = this.environment;
    this.reportedMs ??= clock.monotonicMs();
    logger.error(() => text, fields);
  }
}
