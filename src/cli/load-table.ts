import type { ClusterLoad, LocalityLoad } from '../control-plane';
import { formatTable, type Cell } from './text-table';

const titles = ['cluster', 'locality', 'started', 'succeeded', 'failed', 'running', 'dropped'];

/** A row per cluster and locality, and one per cluster for the calls that were dropped before they had a locality. */
export function formatLoads(loads: readonly ClusterLoad[]): readonly string[] {
  return formatTable(titles, loads.flatMap(rowsOf));
}

/** Whether anything happened; clients also report that nothing did. */
export function hasLoad({ localities, totalDropped }: ClusterLoad): boolean {
  return (
    totalDropped > 0 ||
    localities.some((each) => each.issued + each.failed + each.succeeded + each.inProgress > 0)
  );
}

function rowsOf(load: ClusterLoad): readonly (readonly Cell[])[] {
  const { cluster, serviceName, totalDropped } = load;
  const name =
    serviceName === '' || serviceName === cluster ? cluster : `${cluster} (${serviceName})`;
  const rows: (readonly Cell[])[] = load.localities.map((locality) => {
    const { issued, succeeded, failed, inProgress } = locality;
    return [name, formatLocality(locality), issued, succeeded, failed, inProgress, 0];
  });
  if (totalDropped > 0) rows.push([name, formatDrops(load), 0, 0, 0, 0, totalDropped]);
  return rows;
}

function formatLocality({ region, zone, subZone }: LocalityLoad): string {
  const parts = [region, zone, subZone];
  while (parts.at(-1) === '') parts.pop();
  return parts.length === 0 ? '-' : parts.join('/');
}

/** `throttle 3, other 2`: why calls were dropped. */
function formatDrops({ droppedByCategory, totalDropped }: ClusterLoad): string {
  let other = totalDropped;
  const reasons: string[] = [];
  for (const [category, count] of droppedByCategory) {
    reasons.push(`${category} ${count}`);
    other -= count;
  }
  if (reasons.length > 0 && other > 0) reasons.push(`other ${other}`);
  return reasons.length === 0 ? '-' : reasons.join(', ');
}
