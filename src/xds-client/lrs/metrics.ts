import {
  MAX_METRICS_OF_CLUSTER,
  MAX_METRICS_OF_LOCALITY,
  MAX_METRIC_NAME_LENGTH,
} from '../../util/limits';

/** The field of a report that a metric belongs to. */
export type MetricField =
  'cpu_utilization' | 'mem_utilization' | 'application_utilization' | 'load_metric_stats';

/** One metric of several calls. */
export interface MetricTotal {
  readonly field: MetricField;
  /** The name that backends report; empty for metrics that have a field of their own. */
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

/** How many more names the localities of one cluster may have until the next report. */
export class NameRoom {
  private left = MAX_METRICS_OF_CLUSTER;

  /** @returns Whether there was room for one more. */
  take(): boolean {
    if (this.left === 0) return false;
    this.left--;
    return true;
  }

  /** Makes all room free again. */
  clear(): void {
    this.left = MAX_METRICS_OF_CLUSTER;
  }
}

/** Adds up the metrics that backends send with calls (gRFCs A64, A85). */
export class MetricSums {
  private readonly unnamed = new Map<MetricField, Sum>();
  private readonly named = new Map<string, Sum>();

  /** @param room Default: that of a cluster with one locality. */
  constructor(private readonly room = new NameRoom()) {}

  /** Every metric. */
  get totals(): MetricTotals {
    return [...this.unnamed.values(), ...this.named.values()];
  }

  /**
   * Adds the metric of a call. A value that is not finite is left out: it would make the sum useless for all calls.
   *
   * @returns Whether there was room for its name.
   */
  add(field: MetricField, name: string, value: number): boolean {
    return !Number.isFinite(value) || this.addTotal({ field, name, calls: 1, sum: value });
  }

  /** Adds the totals of other sums. */
  addTotals(totals: MetricTotals): void {
    for (const total of totals) this.addTotal(total);
  }

  private addTotal({ field, name, calls, sum }: MetricTotal): boolean {
    const isNamed = field === 'load_metric_stats';
    const known = isNamed ? this.named.get(name) : this.unnamed.get(field);
    if (known !== undefined) {
      // Two values may be finite, and their sum not.
      if (!Number.isFinite(known.sum + sum)) return true;
      known.calls += calls;
      known.sum += sum;
    } else if (!isNamed) {
      this.unnamed.set(field, { field, name, calls, sum });
    } else {
      if (name.length > MAX_METRIC_NAME_LENGTH || this.named.size >= MAX_METRICS_OF_LOCALITY)
        return false;
      if (!this.room.take()) return false;
      this.named.set(name, { field, name, calls, sum });
    }
    return true;
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
 *
 * @returns Whether there was room for all names.
 */
export function addMetrics(sums: MetricSums, rules: MetricRules, metrics: BackendMetrics): boolean {
  const { cpuUtilization, memUtilization, applicationUtilization, namedMetrics } = metrics;
  if (rules.cpu && cpuUtilization > 0) sums.add('cpu_utilization', '', cpuUtilization);
  if (rules.memory && memUtilization > 0) sums.add('mem_utilization', '', memUtilization);
  if (rules.application && applicationUtilization > 0) {
    sums.add('application_utilization', '', applicationUtilization);
  }
  let hadRoom = true;
  for (const [key, value] of namedMetrics) {
    if (rules.named !== 'all' && !rules.named.has(key)) continue;
    if (!sums.add('load_metric_stats', rules.prefix + key, value)) hadRoom = false;
  }
  return hadRoom;
}
