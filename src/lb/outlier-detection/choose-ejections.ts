import type { OutlierDetectionConfig } from '../../resources/cluster/cluster';
import type { Random } from '../../util/random';

type SuccessRateConfig = NonNullable<OutlierDetectionConfig['successRate']>;
type FailurePercentageConfig = NonNullable<OutlierDetectionConfig['failurePercentage']>;

/** The outcomes of the calls to one endpoint since the last sweep. */
export interface CallOutcomes {
  readonly successes: number;
  readonly failures: number;
  /** Whether the endpoint is ejected; its calls were started before. */
  readonly isEjected: boolean;
}

/** The limit of ejected endpoints. */
export interface EjectionLimit {
  /** The number of all endpoints, including those without calls. */
  readonly endpointCount: number;
  /** The number of ejected endpoints before this sweep. */
  readonly ejectedCount: number;
  /** 0 to 100. Below it, one more may be ejected, even if that exceeds it. */
  readonly maxEjectionPercent: number;
}

/** The decision on an outlier: ejected, not enforced, or not ejected because of the max ejection percent. */
export type Verdict = 'ejected' | 'not-enforced' | 'at-limit';

/** An endpoint that is an outlier. */
export interface Outlier<C extends CallOutcomes> {
  readonly candidate: C;
  readonly verdict: Verdict;
}

// Endpoints with the same rate are no outliers, even with a rounding error in their mean.
const ROUNDING = 1e-12;

/** Returns the endpoints whose success rate is too far below the mean (gRFC A50). */
export function successRateEjections<C extends CallOutcomes>(
  candidates: readonly C[],
  config: SuccessRateConfig,
  limit: EjectionLimit,
  random: Random,
): readonly Outlier<C>[] {
  const eligible = withVolume(candidates, config.requestVolume);
  if (eligible.length < config.minimumHosts) return [];
  const rates = eligible.map(({ successes, failures }) => successes / (successes + failures));
  const mean = average(rates);
  const stdev = Math.sqrt(average(rates.map((rate) => (rate - mean) ** 2)));
  const threshold = mean - stdev * (config.stdevFactor / 1000) - ROUNDING;
  const outliers = eligible.filter((_, i) => (rates[i] ?? 1) < threshold);
  return judge(outliers, config.enforcementPercentage, limit, random);
}

/** Returns the endpoints whose failure percentage exceeds the threshold (gRFC A50). */
export function failurePercentageEjections<C extends CallOutcomes>(
  candidates: readonly C[],
  config: FailurePercentageConfig,
  limit: EjectionLimit,
  random: Random,
): readonly Outlier<C>[] {
  const eligible = withVolume(candidates, config.requestVolume);
  if (eligible.length < config.minimumHosts) return [];
  const outliers = eligible.filter(
    ({ successes, failures }) => (failures * 100) / (successes + failures) > config.threshold,
  );
  return judge(outliers, config.enforcementPercentage, limit, random);
}

/** Returns the endpoints with enough calls. An endpoint without calls has no rate, even if none are required. */
function withVolume<C extends CallOutcomes>(candidates: readonly C[], requestVolume: number): C[] {
  const required = Math.max(requestVolume, 1);
  return candidates.filter(({ successes, failures }) => successes + failures >= required);
}

function judge<C extends CallOutcomes>(
  outliers: readonly C[],
  enforcementPercentage: number,
  { endpointCount, ejectedCount, maxEjectionPercent }: EjectionLimit,
  random: Random,
): readonly Outlier<C>[] {
  let ejected = ejectedCount;
  return outliers.map((candidate): Outlier<C> => {
    if ((ejected * 100) / endpointCount >= maxEjectionPercent) {
      return { candidate, verdict: 'at-limit' };
    }
    if (Math.floor(random() * 100) >= enforcementPercentage) {
      return { candidate, verdict: 'not-enforced' };
    }
    if (!candidate.isEjected) ejected++;
    return { candidate, verdict: 'ejected' };
  });
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
