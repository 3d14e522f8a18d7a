import type { MetricSums } from './metric-sums';

/** What is read of the report a backend sends with a call (gRFC A51). */
export interface BackendMetrics {
  readonly cpuUtilization: number;
  readonly memUtilization: number;
  readonly applicationUtilization: number;
  readonly namedMetrics: ReadonlyMap<string, number>;
}

/** Which metrics of backends go into load reports, and under what names. */
export interface MetricRules {
  readonly cpu: boolean;
  readonly memory: boolean;
  readonly application: boolean;
  readonly named: ReadonlySet<string> | 'all';
  /** Put before the key of a named metric. */
  readonly prefix: string;
}

const NAMED = 'named_metrics.';

/** gRFC A64, which had no choice: everything named, as it is. */
const everythingNamed: MetricRules = {
  cpu: false,
  memory: false,
  application: false,
  named: 'all',
  prefix: '',
};

/**
 * Reads `lrs_report_endpoint_metrics` of a cluster: `cpu_utilization`, `mem_utilization`,
 * `application_utilization`, `named_metrics.<key>` or `named_metrics.*` (gRFC A85). Anything else is ignored.
 *
 * @param hasChoice Whether gRFC A85 applies. If not, all named metrics are reported, unprefixed (gRFC A64).
 * @returns `undefined` if no metric is to be reported.
 */
export function parseMetricRules(
  names: readonly string[],
  hasChoice: boolean,
): MetricRules | undefined {
  if (!hasChoice) return everythingNamed;
  const keys = new Set<string>();
  for (const name of names) if (name.startsWith(NAMED)) keys.add(name.slice(NAMED.length));
  const rules: MetricRules = {
    cpu: names.includes('cpu_utilization'),
    memory: names.includes('mem_utilization'),
    application: names.includes('application_utilization'),
    named: keys.has('*') ? 'all' : keys,
    prefix: NAMED,
  };
  const isEmpty = !rules.cpu && !rules.memory && !rules.application && keys.size === 0;
  return isEmpty ? undefined : rules;
}

/**
 * Adds what the rules let through. A utilization of 0 counts as not reported: on the wire the two are the same, and
 * taken for a value it would pull down the mean of backends that report something else.
 */
export function addMetrics(sums: MetricSums, rules: MetricRules, metrics: BackendMetrics): void {
  const { cpuUtilization, memUtilization, applicationUtilization, namedMetrics } = metrics;
  if (rules.cpu && cpuUtilization > 0) sums.add('cpu_utilization', '', cpuUtilization);
  if (rules.memory && memUtilization > 0) sums.add('mem_utilization', '', memUtilization);
  if (rules.application && applicationUtilization > 0) {
    sums.add('application_utilization', '', applicationUtilization);
  }
  for (const [key, value] of namedMetrics) {
    if (rules.named !== 'all' && !rules.named.has(key)) continue;
    sums.add('load_metric_stats', rules.prefix + key, value);
  }
}
