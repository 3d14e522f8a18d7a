import { OutlierDetection } from '../../../../src/wire/generated/envoy/config/cluster/v3/outlier_detection';
import { encodeJson } from 'grpc-xds/internal';
import { isJsonObject } from '../../../../src/wire/proto-json/json-object';
import { formatJsonProblem } from '../../../../src/wire/proto-json/json-problem';
import { parseUnambiguousJson } from '../../../../src/util/bounded-json';
import type { ProtoDuration } from '../../../../src/util/duration';
import { errorMessage } from '../../../../src/util/errors';
import { err, ok, type Result } from '../../../../src/util/result';

const MESSAGE = 'envoy.config.cluster.v3.OutlierDetection';

/** As long as all annotations of an object may be at most. */
const LIMITS = { maxLength: 256 * 1024, maxValues: 1000 };

/** Reads outlier detection as an annotation has it. What is accepted is accepted by clients as well (gRFC A50). */
export function readOutlierDetection(text: string): Result<OutlierDetection, string> {
  let json: unknown;
  try {
    json = parseUnambiguousJson(text, LIMITS);
  } catch (error) {
    return err(`must be a JSON object: ${errorMessage(error)}`);
  }
  if (!isJsonObject(json)) return err('must be a JSON object');
  const unread: string[] = [];
  const onEnvoyField = (field: Parameters<typeof formatJsonProblem>[0]) =>
    void unread.push(formatJsonProblem(field));
  const encoded = encodeJson(MESSAGE, json, { onEnvoyField });
  if (!encoded.ok) return err(encoded.error.map(formatJsonProblem).join('; '));
  const detection = OutlierDetection.decode(encoded.value);
  const problems = [...unread, ...findProblems(detection)];
  return problems.length > 0 ? err(problems.join('; ')) : ok(detection);
}

function findProblems(detection: OutlierDetection): readonly string[] {
  const percents = {
    max_ejection_percent: detection.maxEjectionPercent,
    enforcing_success_rate: detection.enforcingSuccessRate,
    failure_percentage_threshold: detection.failurePercentageThreshold,
    enforcing_failure_percentage: detection.enforcingFailurePercentage,
  };
  const durations = {
    interval: detection.interval,
    base_ejection_time: detection.baseEjectionTime,
    max_ejection_time: detection.maxEjectionTime,
  };
  return [
    ...Object.entries(percents).flatMap(([field, percent = 0]) =>
      percent > 100 ? [`${field}: must not exceed 100, but is ${percent}`] : [],
    ),
    ...Object.entries(durations).flatMap(([field, duration]) =>
      duration !== undefined && isNegative(duration) ? [`${field}: must not be negative`] : [],
    ),
  ];
}

function isNegative({ seconds, nanos }: ProtoDuration): boolean {
  return seconds < 0n || nanos < 0;
}
