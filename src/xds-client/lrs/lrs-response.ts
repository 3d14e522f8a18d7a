import { LoadStatsResponse } from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import { durationToMs } from '../../util/duration';
import { errorMessage } from '../../util/errors';
import { MESSAGE_LIMIT } from '../../util/limits';
import { ReadBudget, ReadLimitError } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import { Violations } from '../../util/violations';
import type { RequestedClusters } from './cluster-load';

/** A shorter interval of reports is raised to this: a server must not be able to keep the process busy with them. */
const MIN_INTERVAL_MS = 100;

/** What a server requests: the clusters to report, and how often. */
export interface LrsResponse {
  readonly clusters: RequestedClusters;
  /** Milliseconds between two reports. */
  readonly intervalMs: number;
}

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
  const { loadReportingInterval: interval } = response;
  if (interval === undefined) return err('sent no load_reporting_interval');
  const violations = Violations.root();
  const intervalMs = durationToMs(interval, violations.at('load_reporting_interval'));
  if (intervalMs === undefined) return err(`sent a bad interval: ${violations.all.join('; ')}`);
  if (intervalMs === 0) return err('sent a load_reporting_interval of 0');
  const clusters = response.sendAllClusters ? 'all' : new Set(response.clusters);
  return ok({ clusters, intervalMs: Math.max(MIN_INTERVAL_MS, intervalMs) });
}
