import type { WeightedRoundRobinConfig } from './config';
import type { LoadReport } from './utilization';

/**
 * The weight a report gives: queries per second by how much of the backend they take (gRFC A58).
 *
 * @returns 0 if none can be told.
 */
export function computeWeight(report: LoadReport, config: WeightedRoundRobinConfig): number {
  const queries = report.rpsFractional;
  const utilization = config.readUtilization(report);
  if (!(queries > 0 && utilization > 0)) return 0;
  const failed = report.eps > 0 ? report.eps / queries : 0;
  const weight = queries / (utilization + failed * config.settings.errorUtilizationPenalty);
  return weight > 0 && weight < Infinity ? weight : 0;
}

/** What an endpoint last reported, and whether that is to be relied on (gRFC A58). Times are monotonic. */
export class EndpointWeight {
  private weight = 0;
  private lastUpdatedMs = -Infinity;
  /** Since when there have been reports without a gap. `Infinity`: there is none yet. */
  private nonEmptySinceMs = Infinity;

  /** Takes a report. One that gives no weight is ignored. */
  onReport(report: LoadReport, config: WeightedRoundRobinConfig, nowMs: number): void {
    const weight = computeWeight(report, config);
    if (weight === 0) return;
    if (this.nonEmptySinceMs === Infinity) this.nonEmptySinceMs = nowMs;
    this.lastUpdatedMs = nowMs;
    this.weight = weight;
  }

  /** The endpoint became READY: what it reports now counts only after the blackout period. */
  onReady(): void {
    this.nonEmptySinceMs = Infinity;
  }

  /** The weight that counts at the moment; 0 if there is none. */
  current(nowMs: number, { settings }: WeightedRoundRobinConfig): number {
    if (nowMs - this.lastUpdatedMs >= settings.weightExpirationPeriodMs) {
      // Once there are reports again, the blackout period applies.
      this.nonEmptySinceMs = Infinity;
      return 0;
    }
    const { blackoutPeriodMs } = settings;
    if (blackoutPeriodMs > 0 && nowMs - this.nonEmptySinceMs < blackoutPeriodMs) return 0;
    return this.weight;
  }
}
