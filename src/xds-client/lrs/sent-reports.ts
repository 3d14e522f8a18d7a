import type { Random } from '../../util/random';
import type { TakenClusterCounts } from './cluster-load';

/** A report that was sent, and is not acknowledged yet. */
export interface SentReport {
  /** Not 0. */
  readonly id: bigint;
  readonly content: readonly TakenClusterCounts[];
}

/** Bits of the number of a report that are random for each process, and that count its reports. */
const RANDOM_BITS = 48;
const COUNT_BITS = 15n;

/**
 * The reports that were sent to a server which acknowledges reports, until it does, at most two. They outlive their stream: on the next one
 * they are sent again, with the same numbers (docs/decisions/0041-acknowledged-load-reports.md).
 */
export class SentReports {
  private readonly pending: SentReport[] = [];
  private lastId: bigint;

  constructor(random: Random) {
    this.lastId = BigInt(Math.floor(random() * 2 ** RANDOM_BITS)) << COUNT_BITS;
  }

  /** In the order in which they were sent. */
  get reports(): readonly SentReport[] {
    return this.pending;
  }

  add(content: readonly TakenClusterCounts[]): SentReport {
    this.lastId++;
    const report = { id: this.lastId, content };
    this.pending.push(report);
    return report;
  }

  /** Handles that the server has handed on a report, and those before it. @returns whether it was not acknowledged before. */
  settle(id: bigint): boolean {
    const index = this.pending.findIndex((report) => report.id === id);
    for (const { content } of this.pending.splice(0, index + 1)) {
      for (const taken of content) taken.settle();
    }
    return index >= 0;
  }

  /** Handles that the server has received all reports and answers for them. */
  settleAll(): void {
    const last = this.pending.at(-1);
    if (last !== undefined) this.settle(last.id);
  }

  /** Adds the counts of all reports to those that are to be reported: they are not sent again. */
  putBack(): void {
    for (const { content } of this.pending.splice(0)) {
      for (const taken of content) taken.putBack();
    }
  }
}
