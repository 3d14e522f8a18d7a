import type { ReportReceipt } from '../control-plane/lrs/load-service';

/** Something whose counts are reported to a server. */
interface Reported {
  /** Calls back once, when the server has the counts of now. */
  whenReported(onReported: () => void): void;
}

/** A report of a client that waits for an acknowledgement, and outlives its stream. */
export class ReceivedReport {
  /** The clusters whose server does not have the counts, and 1 until all are known. */
  private left = 1;

  constructor(private receipt: ReportReceipt) {}

  get id(): bigint {
    return this.receipt.id;
  }

  /** Waits until the server of a cluster has the counts. */
  await(cluster: Reported): void {
    this.left++;
    cluster.whenReported(() => this.countDown());
  }

  /** Handles that no cluster follows. */
  onPlaced(): void {
    this.countDown();
  }

  /** Handles that the client has repeated the report on another stream, which is acknowledged instead. */
  repeat(receipt: ReportReceipt): void {
    this.receipt = receipt;
    if (this.left === 0) receipt.acknowledge();
  }

  private countDown(): void {
    this.left--;
    if (this.left === 0) this.receipt.acknowledge();
  }
}
