import { PickResultType, type PickResult } from '../../grpc-js';
import { LbLabel, RlsInstruments } from '../../observe/stats/instruments';
import type { ChannelStats, LabelValues } from '../../observe/stats/stats-plugin';
import type { TargetChild } from './target-child';

/** The value of `grpc.lb.pick_result`. A pick without a result is not counted. */
const RESULTS: Readonly<Partial<Record<PickResult['pickResultType'], string>>> = {
  [PickResultType.COMPLETE]: 'complete',
  [PickResultType.TRANSIENT_FAILURE]: 'fail',
  [PickResultType.DROP]: 'drop',
};

type PickInstrument =
  typeof RlsInstruments.TARGET_PICKS | typeof RlsInstruments.DEFAULT_TARGET_PICKS;

/** Counts the picks of a policy with one lookup service. */
export class PickCounter {
  private readonly labels: LabelValues;

  constructor(
    private readonly stats: ChannelStats,
    lookupService: string,
  ) {
    this.labels = { [LbLabel.RLS_SERVER_TARGET]: lookupService };
  }

  addPick(instrument: PickInstrument, { target }: TargetChild, result: PickResult): void {
    const value = RESULTS[result.pickResultType];
    if (value === undefined) return;
    const labels = {
      ...this.labels,
      [LbLabel.DATA_PLANE_TARGET]: target,
      [LbLabel.PICK_RESULT]: value,
    };
    this.stats.series(instrument, labels)?.add(1);
  }

  /** Counts a pick for which there is no target. */
  addFailure(): void {
    this.stats.series(RlsInstruments.FAILED_PICKS, this.labels)?.add(1);
  }
}
