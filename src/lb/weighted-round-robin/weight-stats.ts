import { LbInstruments } from '../../stats/lb-instruments';
import type { ChannelStats, LabelValues, Series } from '../../stats/stats-plugin';
import type { WeightState } from './weighted-endpoints';

/** Records the weights of endpoints at one update of the scheduler (gRFC A78). */
export class WeightStats {
  private readonly weights: Series | undefined;
  private readonly fallback: Series | undefined;
  private readonly unusable: Readonly<Record<Exclude<WeightState, 'usable'>, Series | undefined>>;

  /** @param labels The cluster and the locality of the endpoints. Default: neither. */
  constructor(stats: ChannelStats, labels: LabelValues = {}) {
    this.weights = stats.series(LbInstruments.WRR_WEIGHTS, labels);
    this.fallback = stats.series(LbInstruments.WRR_RR_FALLBACK, labels);
    this.unusable = {
      stale: stats.series(LbInstruments.WRR_STALE, labels),
      'not-yet-usable': stats.series(LbInstruments.WRR_NOT_YET_USABLE, labels),
    };
  }

  /** @param weight 0 if it is not usable. */
  onWeight(weight: number, state: WeightState): void {
    this.weights?.add(weight);
    if (state !== 'usable') this.unusable[state]?.add(1);
  }

  /** The endpoints weigh the same until the next update. */
  onFallback(): void {
    this.fallback?.add(1);
  }
}
