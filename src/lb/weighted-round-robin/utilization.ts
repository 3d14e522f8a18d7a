import type { OrcaLoadReport } from '../../wire/generated/xds/data/orca/v3/orca_load_report';

/** The load report of a backend, from which its weight is computed (gRFCs A58, A114). */
export type LoadReport = Readonly<OrcaLoadReport>;

type Metric = (report: LoadReport) => number | undefined;

const FIELDS: ReadonlyMap<string, Metric> = new Map<string, Metric>([
  ['application_utilization', (report) => report.applicationUtilization],
  ['cpu_utilization', (report) => report.cpuUtilization],
  ['mem_utilization', (report) => report.memUtilization],
]);

const MAPS: ReadonlyMap<string, (report: LoadReport) => ReadonlyMap<string, number>> = new Map([
  ['named_metrics', (report: LoadReport) => report.namedMetrics],
  ['utilization', (report: LoadReport) => report.utilization],
]);

/**
 * Creates the function that returns the utilization of a backend: the greatest of the named metrics that are above 0, else
 * `application_utilization`, else `cpu_utilization`. Names of metrics that are unknown or not reported are ignored.
 *
 * @param metricNames `named_metrics.<key>`, `utilization.<key>` or the name of a field, as of gRFC A114.
 */
export function createUtilizationReader(
  metricNames: readonly string[],
): (report: LoadReport) => number {
  const metrics = metricNames.map(findMetric).filter((metric) => metric !== undefined);
  return (report) => {
    let greatest = 0;
    for (const metric of metrics) {
      const value = metric(report);
      // False for NaN, too.
      if (value !== undefined && value > greatest) greatest = value;
    }
    if (greatest > 0) return greatest;
    return report.applicationUtilization > 0
      ? report.applicationUtilization
      : report.cpuUtilization;
  };
}

function findMetric(name: string): Metric | undefined {
  const dot = name.indexOf('.');
  if (dot < 0) return FIELDS.get(name);
  const readMap = MAPS.get(name.slice(0, dot));
  const key = name.slice(dot + 1);
  return readMap && ((report) => readMap(report).get(key));
}
