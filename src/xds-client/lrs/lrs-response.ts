import { LoadStatsResponse } from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import { durationToMs } from '../../util/duration';
import { errorMessage } from '../../util/error-message';
import { MESSAGE_LIMIT, ReadBudget, ReadLimitError } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import { Violations } from '../../util/violations';
import type { RequestedClusters } from './server-loads';

/** A valid LRS response: the clusters to report, and how often. */
export interface LrsResponse {
  readonly clusters: RequestedClusters;
  /** Milliseconds between two reports. */
  readonly intervalMs: number;
}

/** A shorter interval is raised to this: a server must not be able to keep the process busy with reports. */
const MIN_INTERVAL_MS = 100;

/** Parses an LRS response (gRFC A27). The interval is required. */
export function parseLrsResponse(bytes: Uint8Array): Result<LrsResponse, string> {
  let response: LoadStatsResponse;
  try {
    response = LoadStatsResponse.decode(bytes, undefined, new ReadBudget(MESSAGE_LIMIT));
  } catch (error) {
    if (error instanceof ReadLimitError) {
      return err(`sent a response that is too large: ${error.message}`);
    }
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
