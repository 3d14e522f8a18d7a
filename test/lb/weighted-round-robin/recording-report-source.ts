import type { Subchannel } from '../../../src/grpc-js';
import type { OobReportSource } from '../../../src/lb/weighted-round-robin/balancer';
import type { LoadReport } from '../../../src/lb/weighted-round-robin/utilization';
import { createHandle, type Handle } from '../../../src/util/handle';

interface Subscription {
  readonly address: string;
  readonly intervalMs: number;
  readonly onReport: (report: LoadReport) => void;
}

/** Plays the backends that report out of band, and remembers who asked. */
export class RecordingReportSource implements OobReportSource {
  /** Those that still want reports. */
  readonly subscriptions = new Set<Subscription>();
  /** How many there ever were. */
  subscribed = 0;

  subscribe(
    subchannel: Subchannel,
    intervalMs: number,
    onReport: (report: LoadReport) => void,
  ): Handle {
    const subscription = { address: subchannel.getAddress(), intervalMs, onReport };
    this.subscribed++;
    this.subscriptions.add(subscription);
    return createHandle(() => this.subscriptions.delete(subscription));
  }

  /** Lets a backend report. */
  report(address: string, report: LoadReport): void {
    for (const subscription of this.subscriptions) {
      if (subscription.address === address) subscription.onReport(report);
    }
  }

  /** `address every n ms`, for each subscription. */
  get summary(): string[] {
    return Array.from(
      this.subscriptions,
      ({ address, intervalMs }) => `${address} every ${intervalMs} ms`,
    ).sort();
  }
}
