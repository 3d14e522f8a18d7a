import type { Subchannel } from '../../grpc-js';
import { localityName } from '../../resources/endpoints/endpoints';
import { Label, OwnInstruments, OwnLabel } from '../../observe/stats/instruments';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import type { Clock } from '../../util/clock';
import { callOfAttempt } from '../call-attributes';
import type { CallObserver } from '../call-observer';
import { isMeasured, MeasuredSubchannel } from '../connections/measured-subchannel';
import type { AddressIndex } from '../endpoints/endpoint-index';
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
      startAttempt: (headers) => callOfAttempt.get(headers)?.stats?.traceAttempt(locality),
    };
  }
}
