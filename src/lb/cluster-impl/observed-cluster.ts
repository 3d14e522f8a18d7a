import {
  Status,
  type PickArgs,
  type Picker,
  type PickResult,
  type Subchannel,
} from '../../grpc-js';
import { watchSentMessages } from '../../grpc-js/call-metadata';
import type { CallStatus } from '../../grpc-js/handed-over';
import { ContainedMessageListener } from '../../grpc-js/host-call';
import { runContained } from '../../grpc-js/host-callbacks';
import type { CallListener, CreateCall } from '../../grpc-js/subchannel-wrappers';
import { localityName } from '../../resources/endpoints/endpoints';
import { Label, OwnInstruments, OwnLabel } from '../../observe/stats/instruments';
import type { CallStats } from '../../observe/stats/call-stats';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import type { Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import { observedCall } from '../call-attributes';
import { describeWait, type DescribedPicker } from '../connectivity';
import { isMeasured, MeasuredSubchannel } from '../connections/measured-subchannel';
import type { AddressIndex } from '../endpoints/endpoint-index';
import { observedCalls } from '../tree/observed-picker';
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
    private readonly cluster: string,
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

  /** Returns what creates the calls of a subchannel, for those that are observed. */
  observeCalls(subchannel: Subchannel, createCall: CreateCall): CreateCall {
    return createObservedCall(createCall, this.localityOf(subchannel.getAddress()));
  }

  /** Returns a picker that records the cluster of observed calls, whatever becomes of the pick (gRFC A89). */
  observe(picker: Picker): Picker {
    return new ClusterNamePicker(picker, this.cluster);
  }
}

class ClusterNamePicker implements DescribedPicker {
  constructor(
    private readonly child: Picker,
    private readonly cluster: string,
  ) {}

  describeWait(): string | undefined {
    return describeWait(this.child);
  }

  pick(args: PickArgs): PickResult {
    const call = observedCall(args);
    if (call !== undefined) call.backendService = this.cluster;
    return this.child.pick(args);
  }
}

/** Creates the calls of a subchannel, and notifies observed ones of their messages and of their status. */
function createObservedCall(createCall: CreateCall, locality: string): CreateCall {
  return (metadata, host, method, listener, callId) => {
    const call = observedCalls.get(metadata);
    if (call === undefined) return createCall(metadata, host, method, listener, callId);
    const attempt = call.attempts;
    try {
      const observing = new ObservingCallListener(listener, call, attempt);
      const created = createCall(metadata, host, method, observing, callId);
      call.onSent(locality);
      watchSentMessages(created, observing);
      return created;
    } catch (error) {
      // As the host library does, which then starts another attempt.
      call.endAttempt(attempt, Status.INTERNAL, errorMessage(error));
      throw error;
    }
  };
}

class ObservingCallListener extends ContainedMessageListener {
  constructor(
    next: CallListener,
    private readonly call: CallStats,
    private readonly attempt: number,
  ) {
    super(next);
  }

  protected override get place(): string {
    return 'the statistics of a call';
  }

  onMessageSent(message: Buffer): void {
    runContained(this.place, () => this.call.onMessageSent(this.attempt, message));
  }

  protected override onMessage(message: unknown): void {
    if (Buffer.isBuffer(message)) this.call.onMessageReceived(this.attempt, message);
  }

  protected override onStatus(status: CallStatus): CallStatus {
    this.call.endAttempt(this.attempt, status.code, status.details);
    return status;
  }
}
