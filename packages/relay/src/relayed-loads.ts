import type {
  ServerConfig,
  LocalityLoad as LocalityCounter,
  LoadReference,
  LoadReporter,
  LrsResponse,
} from 'grpc-xds/internal';
import type {
  ClientStream,
  ClusterLoad,
  LoadReport,
  LocalityLoad,
  LoadReporting,
} from 'grpc-xds/control-plane';
import { RefCountedMap, type Handle } from '../../../src/util/handle';
import { cutText } from '../../../src/util/text';
import { MAX_LOAD_ENTRIES_OF_CLUSTER, MAX_OWN_TEXT_LENGTH } from './limits';
import type { RelayLoadClientReport } from './relay-report';

/** Constructor options of `RelayedLoads`. */
export interface RelayedLoadsOptions {
  readonly reporter: Pick<LoadReporter, 'acquire'>;
  /** Its LRS stream is open while a client reports loads. */
  readonly defaultServer: ServerConfig;
  /** Returns the server that a cluster is from; `undefined` if there is no cluster of this name. */
  readonly serverOf: (cluster: string) => ServerConfig | undefined;
  /** Called when servers request other reports than before. */
  readonly onRequested: (reporting: LoadReporting) => void;
  /** Called with the name of a cluster whose load is left out. */
  readonly onLeftOut: (cluster: string) => void;
}

/** The last report of a client, as far as it lasts: the calls in progress, and references to the clusters. */
interface ClientLoads {
  readonly presence: Handle;
  clusters: readonly ReportedCluster[];
  readonly calls: { issued: number; succeeded: number; failed: number; dropped: number };
}

interface ReportedCluster {
  readonly handle: Handle & { readonly value: SharedCluster };
  readonly inProgress: readonly { readonly counter: LocalityCounter; readonly calls: number }[];
}

/**
 * The loads that the clients of a relay report, added up for the servers that their clusters are from (gRFC A27). Counts are
 * added when they are received, so that nothing is lost with a client; its calls in progress are those of its last report, and
 * end with its stream.
 */
export class RelayedLoads {
  /** By stream. */
  private readonly clients = new Map<number, ClientLoads>();
  private readonly clusters = new RefCountedMap<string, SharedCluster>(
    (key) => this.createCluster(key),
    (cluster) => cluster.release(),
  );
  /** The last response of each server, by its key. */
  private readonly requested = new Map<string, LrsResponse>();
  private isClosed = false;

  constructor(private readonly options: RelayedLoadsOptions) {}

  /** Handles that a client has opened a stream. */
  open({ streamId }: ClientStream): void {
    const { reporter, defaultServer: server } = this.options;
    if (this.isClosed) return;
    // A cluster without calls, which no report has: the server is to say what it requests before clients report anything.
    const presence = reporter.acquire({ server, cluster: '', edsServiceName: '', metrics: [] });
    this.clients.set(streamId, {
      presence,
      clusters: [],
      calls: { issued: 0, succeeded: 0, failed: 0, dropped: 0 },
    });
  }

  /** Adds a report. A cluster that it does not have has no calls in progress. */
  add({ streamId }: ClientStream, { clusters }: LoadReport): void {
    const client = this.clients.get(streamId);
    if (client === undefined || this.isClosed) return;
    const before = client.clusters;
    client.clusters = clusters.flatMap((load) => this.addCluster(load) ?? []);
    endAll(before);
    countCalls(client.calls, clusters);
  }

  /** Returns the calls that a client has reported. */
  describe({ streamId, nodeId }: ClientStream): RelayLoadClientReport {
    const none = { issued: 0, succeeded: 0, failed: 0, dropped: 0 };
    return {
      streamId,
      nodeId: cutText(nodeId, MAX_OWN_TEXT_LENGTH),
      ...(this.clients.get(streamId)?.calls ?? none),
    };
  }

  /** Handles the end of a stream. */
  close({ streamId }: ClientStream): void {
    const client = this.clients.get(streamId);
    this.clients.delete(streamId);
    if (client === undefined) return;
    endAll(client.clusters);
    client.presence.release();
  }

  /** Ends the acceptance of reports. */
  end(): void {
    this.isClosed = true;
  }

  /** Handles a response of a server: the clients are requested what all servers request. */
  onResponse(server: ServerConfig, response: LrsResponse): void {
    this.requested.set(server.key, response);
    let intervalMs = Infinity;
    const names = new Set<string>();
    let isAll = false;
    for (const each of this.requested.values()) {
      intervalMs = Math.min(intervalMs, each.intervalMs);
      if (each.clusters === 'all') isAll = true;
      else for (const name of each.clusters) names.add(name);
    }
    this.options.onRequested(isAll ? { intervalMs } : { intervalMs, clusters: [...names] });
  }

  private addCluster(load: ClusterLoad): ReportedCluster | undefined {
    const { serverOf, onLeftOut } = this.options;
    const { cluster, serviceName } = load;
    if (serverOf(cluster) === undefined) {
      onLeftOut(cluster);
      return undefined;
    }
    const handle = this.clusters.acquire(JSON.stringify([cluster, serviceName]));
    const inProgress = handle.value.add(load);
    if (inProgress.length < load.localities.length) onLeftOut(cluster);
    return { handle, inProgress };
  }

  private createCluster(key: string): SharedCluster {
    const { reporter, serverOf, defaultServer } = this.options;
    const parsed: unknown = JSON.parse(key);
    const [cluster = '', edsServiceName = ''] = Array.isArray(parsed) ? parsed.map(String) : [];
    const server = serverOf(cluster) ?? defaultServer;
    return new SharedCluster(reporter.acquire({ server, cluster, edsServiceName, metrics: [] }));
  }
}

/** Adds the calls of a report to those that a client has reported. */
function countCalls(calls: ClientLoads['calls'], clusters: readonly ClusterLoad[]): void {
  for (const { localities, totalDropped } of clusters) {
    calls.dropped += totalDropped;
    for (const { issued, succeeded, failed } of localities) {
      calls.issued += issued;
      calls.succeeded += succeeded;
      calls.failed += failed;
    }
  }
}

/** The calls in progress of earlier reports, which have ended or are in the next one. */
function endAll(clusters: readonly ReportedCluster[]): void {
  for (const { handle, inProgress } of clusters) {
    for (const { counter, calls } of inProgress) {
      counter.addReported({ ...noCounts(counter.locality), inProgress: -calls });
    }
    handle.release();
  }
}

/** The load of one cluster that clients have in their last reports. */
class SharedCluster implements Handle {
  private readonly localities = new Map<string, LocalityCounter>();

  constructor(private readonly reference: LoadReference) {}

  release(): void {
    this.reference.release();
  }

  /** Adds a report. @returns the calls in progress in each of its localities, unless there was no room for it. */
  add({ localities, droppedByCategory, totalDropped }: ClusterLoad): ReportedCluster['inProgress'] {
    const { load } = this.reference;
    let categorized = 0;
    for (const count of droppedByCategory.values()) categorized += count;
    const hasRoom = load.entries + droppedByCategory.size <= MAX_LOAD_ENTRIES_OF_CLUSTER;
    const categories = hasRoom ? droppedByCategory : new Map<string, number>();
    const others = hasRoom ? Math.max(0, totalDropped - categorized) : totalDropped;
    if (totalDropped + categorized > 0) load.addDrops(categories, others);
    return localities.flatMap((each) => this.addLocality(each) ?? []);
  }

  private addLocality(load: LocalityLoad) {
    const { region, zone, subZone, issued, succeeded, failed, inProgress: calls } = load;
    const key = JSON.stringify([region, zone, subZone]);
    let counter = this.localities.get(key);
    if (counter === undefined) {
      if (this.reference.load.entries >= MAX_LOAD_ENTRIES_OF_CLUSTER) return undefined;
      counter = this.reference.load.createLocality({ region, zone, subZone });
      this.localities.set(key, counter);
    }
    const { locality } = counter;
    const metrics = toTotals(load.metrics);
    counter.addReported({ locality, issued, succeeded, failed, inProgress: calls, metrics });
    return { counter, calls };
  }
}

/** The metrics that have a field of their own. */
const FIELDS = ['cpu_utilization', 'mem_utilization', 'application_utilization'] as const;

function toTotals(metrics: LocalityLoad['metrics']) {
  return Array.from(metrics, ([name, { calls, total: sum }]) => {
    const field = FIELDS.find((each) => each === name);
    return field === undefined
      ? { field: 'load_metric_stats' as const, name, calls, sum }
      : { field, name: '', calls, sum };
  });
}

function noCounts(locality: LocalityCounter['locality']) {
  return { locality, issued: 0, succeeded: 0, failed: 0, metrics: [] };
}
