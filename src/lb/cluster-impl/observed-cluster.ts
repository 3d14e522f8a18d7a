import { Status, type Subchannel } from '../../grpc-js';
import type { CallStatus } from '../../grpc-js/handed-over';
import { localityName } from '../../resources/endpoints/endpoints';
import { Label, OwnInstruments, OwnLabel } from '../../observe/stats/instruments';
import type { CallStats } from '../../observe/stats/call-stats';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { AttemptTracer, CallObserver } from '../call-observer';
import { isMeasured, MeasuredSubchannel } from '../connections/measured-subchannel';
import type { AddressIndex } from '../endpoints/endpoint-index';
import { callOfAttempt } from './cluster-calls';
import type { DropCounter } from './cluster-loads';

/** What plugins observe of one cluster of a channel: its connections, and the attempts of calls on them. */
export class ObservedCluster {
  /** The labels that the policies below use, until the cluster is another one. */
  readonly labels: LabelValues;
  /** Whether the addresses of the cluster must be known. */
  readonly usesLocality: boolean;
  private readonly measuresConnections: boolean;

  constructor(
    private readonly stats: ChannelStats,
    cluster: string,
    private readonly addresses: Pick<AddressIndex, 'get'>,
    private readonly clock: Clock,
  ) {
    this.labels = { [Label.BACKEND_SERVICE]: cluster };
    this.usesLocality = stats.usesLabel(Label.LOCALITY);
    this.measuresConnections = isMeasured(stats);
  }

  /** Returns the label of the locality of an address; empty if it is not known. */
  localityOf(address: string): string {
    const listed = this.usesLocality ? this.addresses.get(address) : undefined;
    return listed === undefined ? '' : localityName(listed.locality);
  }

  /** Returns a subchannel whose connections are measured, if any plugin does. */
  measure(subchannel: Subchannel): Subchannel {
    if (!this.measuresConnections) return subchannel;
    const { stats, clock } = this;
    const locality = this.localityOf(subchannel.getAddress());
    const labels = { ...this.labels, [Label.LOCALITY]: locality };
    return new MeasuredSubchannel(subchannel, { stats, labels, clock });
  }

  /** Returns what counts dropped calls, besides load reports. */
  countDrops(loads: DropCounter | undefined): DropCounter | undefined {
    const { stats, labels } = this;
    if (!stats.isEnabled(OwnInstruments.DROPS)) return loads;
    return {
      countDrop(category) {
        loads?.countDrop(category);
        const dropped = { ...labels, [OwnLabel.DROP_CATEGORY]: category ?? '' };
        stats.series(OwnInstruments.DROPS, dropped)?.add(1);
      },
    };
  }

  /** Returns what watches the attempts on a subchannel. */
  observerOf(subchannel: Subchannel): CallObserver {
    const locality = this.localityOf(subchannel.getAddress());
    return {
      startAttempt(headers) {
        const call = callOfAttempt.get(headers)?.stats;
        return call && new ObservedAttempt(call, locality);
      },
    };
  }
}

/** Notifies an observed call of what happens to its present attempt. */
class ObservedAttempt implements AttemptTracer {
  private readonly attempt: number;

  constructor(
    private readonly call: CallStats,
    private readonly locality: string,
  ) {
    this.attempt = call.attempts;
  }

  onSent(): void {
    this.call.onSent(this.locality);
  }

  onMessageSent(frame: Buffer): void {
    this.call.onMessageSent(this.attempt, frame);
  }

  onMessageReceived(frame: Buffer): void {
    this.call.onMessageReceived(this.attempt, frame);
  }

  onEnded({ code, details }: CallStatus): void {
    this.call.endAttempt(this.attempt, code, details);
  }

  /** As the host library does, which then starts another attempt. */
  onNotSent(error: unknown): void {
    this.call.endAttempt(this.attempt, Status.INTERNAL, errorMessage(error));
  }
}
