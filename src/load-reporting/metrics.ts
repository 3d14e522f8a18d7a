/** The field of a report that a metric belongs to. */
export type MetricField =
  'cpu_utilization' | 'mem_utilization' | 'application_utilization' | 'load_metric_stats';

/** One metric of several calls. */
export interface MetricTotal {
  readonly field: MetricField;
  /** As reported; empty for those that have a field of their own. */
  readonly name: string;
  /** Calls that had the metric. */
  readonly calls: number;
  /** Sum of its values. */
  readonly sum: number;
}

/** Every metric that at least one call had. */
export type MetricTotals = readonly MetricTotal[];

interface Sum {
  readonly field: MetricField;
  readonly name: string;
  calls: number;
  sum: number;
}

/**
 * Names kept between two reports. Backends choose them, and one with a new name for every call must not fill the memory
 * while no report can be sent.
 */
const MAX_NAMES = 1000;

/** Adds up the metrics that backends send with calls (gRFCs A64, A85). */
export class MetricSums {
  private readonly unnamed = new Map<MetricField, Sum>();
  private readonly named = new Map<string, Sum>();

  /** Every metric. */
  get totals(): MetricTotals {
    return [...this.unnamed.values(), ...this.named.values()];
  }

  /**
   * Adds the metric of a call. A value that is not finite is left out: it would make the sum useless for all calls.
   */
  add(field: MetricField, name: string, value: number): void {
    if (Number.isFinite(value)) this.addTotal({ field, name, calls: 1, sum: value });
  }

  /** Adds the totals of other sums. */
  addTotals(totals: MetricTotals): void {
    for (const total of totals) this.addTotal(total);
  }

  private addTotal({ field, name, calls, sum }: MetricTotal): void {
    const known = field === 'load_metric_stats' ? this.named.get(name) : this.unnamed.get(field);
    if (known !== undefined) {
      known.calls += calls;
      known.sum += sum;
    } else if (field !== 'load_metric_stats') {
      this.unnamed.set(field, { field, name, calls, sum });
    } else if (this.named.size < MAX_NAMES) {
      this.named.set(name, { field, name, calls, sum });
    }
  }
}

/** The metrics that a backend sends with a call (gRFC A51). */
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

/** The rules of gRFC A64: all named metrics, unprefixed. */
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
 * Adds the metrics that the rules select. A utilization of 0 counts as not reported: on the wire the two are the same,
 * and as a value it would lower the mean of backends that report another one.
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
