import { LoadStatsResponse } from '../generated/envoy/service/load_stats/v3/lrs';
import { durationToMs } from '../util/duration';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import { Violations } from '../util/violations';
import type { WantedClusters } from './server-loads';

/** What a server wants to have reported, and how often. */
export interface LrsOrder {
  readonly clusters: WantedClusters;
  /** Milliseconds. */
  readonly intervalMs: number;
}

/** Less than this makes no sense, and a billionth of a second must not keep the process busy. */
const MIN_INTERVAL_MS = 100;

/** Reads what a server answered (gRFC A27). Without an interval it has not said what it wants, so that is an error. */
export function parseLrsOrder(bytes: Uint8Array): Result<LrsOrder, string> {
  let response: LoadStatsResponse;
  try {
    response = LoadStatsResponse.decode(bytes);
  } catch (error) {
    return err(`sent something that is no LoadStatsResponse: ${errorMessage(error)}`);
  }
  const interval = response.loadReportingInterval;
  if (interval === undefined) return err('sent no load_reporting_interval');
  const violations = Violations.root();
  const intervalMs = durationToMs(interval, violations.at('load_reporting_interval'));
  if (intervalMs === undefined) return err(`sent a bad interval: ${violations.all.join('; ')}`);
  if (intervalMs === 0) return err('sent a load_reporting_interval of 0');
  return ok({
    clusters: response.sendAllClusters ? 'all' : new Set(response.clusters),
    intervalMs: Math.max(MIN_INTERVAL_MS, intervalMs),
  });
}
