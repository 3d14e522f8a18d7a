import type { ClientIdentity } from './client-state';
import type { ClusterLoad, LoadReport, LocalityLoad } from './load-report';
import { LoadTotals } from './load-totals';

/**
 * All loads ever reported, added up per node. Calls in progress are those of the last report of each stream that
 * is still there: they are a state, not a count of events.
 */
export class LoadLedger {
  private readonly byNode = new Map<string, LoadTotals>();
  private readonly lastReports = new Map<number, LastReport>();

  /** Adds what a client reports. */
  add({ nodeId, streamId }: ClientIdentity, report: LoadReport): void {
    let totals = this.byNode.get(nodeId);
    if (totals === undefined) {
      totals = new LoadTotals();
      this.byNode.set(nodeId, totals);
    }
    for (const load of report.clusters) totals.add(mapLocalities(load, withoutInProgress));
    this.lastReports.set(streamId, { nodeId, report });
  }

  /** The stream is over: its calls in progress are somebody else's to report. */
  close(streamId: number): void {
    this.lastReports.delete(streamId);
  }

  /** Forgets everything. */
  clear(): void {
    this.byNode.clear();
    this.lastReports.clear();
  }

  /** The loads of one node, or of all. */
  totals(nodeId?: string): readonly ClusterLoad[] {
    const sum = new LoadTotals();
    for (const [node, totals] of this.byNode) {
      if (nodeId !== undefined && nodeId !== node) continue;
      for (const load of totals.list()) sum.add(load);
    }
    for (const last of this.lastReports.values()) {
      if (nodeId !== undefined && nodeId !== last.nodeId) continue;
      for (const load of last.report.clusters) sum.add(onlyInProgress(load));
    }
    return sum.list();
  }
}

interface LastReport {
  readonly nodeId: string;
  readonly report: LoadReport;
}

function mapLocalities(
  load: ClusterLoad,
  change: (locality: LocalityLoad) => LocalityLoad,
): ClusterLoad {
  return { ...load, localities: load.localities.map(change) };
}

function withoutInProgress(locality: LocalityLoad): LocalityLoad {
  return { ...locality, inProgress: 0 };
}

/** What is in progress and nothing that is counted already. */
function onlyInProgress(load: ClusterLoad): ClusterLoad {
  return {
    ...mapLocalities(load, (locality) => ({
      ...locality,
      issued: 0,
      succeeded: 0,
      failed: 0,
      metrics: new Map(),
    })),
    intervalMs: 0,
    totalDropped: 0,
    droppedByCategory: new Map(),
  };
}
