/** Where in a report a metric belongs. */
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
 * Names kept between two reports. Which there are is up to the backends, and with the server of load reports out of
 * reach, one that makes up a name for every call must not fill the memory.
 */
const MAX_NAMES = 1000;

/** Adds up the metrics that backends send with calls (gRFCs A64, A85). */
export class MetricSums {
  private readonly unnamed = new Map<MetricField, Sum>();
  private readonly named = new Map<string, Sum>();

  /** Every metric there is. */
  get totals(): MetricTotals {
    return [...this.unnamed.values(), ...this.named.values()];
  }

  /**
   * A call had the metric. A value that is no number, or not a finite one, is left out: it would make the sum
   * worthless for all calls.
   */
  add(field: MetricField, name: string, value: number): void {
    if (Number.isFinite(value)) this.addTotal({ field, name, calls: 1, sum: value });
  }

  /** Adds what was added up elsewhere. */
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
