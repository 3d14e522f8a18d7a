import type { ServerConfig } from '../bootstrap/bootstrap';
import type { ClientIdentity } from '../control-plane/client-state';
import type { ClusterLoad, LoadReport, LocalityLoad } from '../control-plane/lrs/load-totals';
import type { LoadReporting, ReportReceipt } from '../control-plane/lrs/load-service';
import { RefCountedMap, type Handle } from '../util/handle';
import { cutText } from '../util/text';
import { ReceivedReport } from './received-report';
import type { LocalityLoad as LocalityCounter } from '../xds-client/lrs/cluster-load';
import type { LoadReference, LoadReporter } from '../xds-client/lrs/load-reporter';
import type { LrsResponse } from '../xds-client/lrs/lrs-response';
import type { MetricField, MetricTotals } from '../xds-client/lrs/metrics';
import {
  HOLD_MS,
  MAX_ENDED_REPORTS,
  MAX_HELD_REPORTS,
  MAX_LOAD_ENTRIES_OF_CLUSTER,
  MAX_OWN_TEXT_LENGTH,
} from './limits';
import type { RelayLoadClientReport } from './relay-report';
import { afterRunning, type RunningClock } from '../util/running-time';

/** Constructor options of `RelayedLoads`. */
export interface RelayedLoadsOptions {
  readonly reporter: Pick<LoadReporter, 'acquire'>;
  /** Its LRS stream is open while a client reports loads. */
  readonly defaultServer: ServerConfig;
  /** Returns the server that a cluster is from; `undefined` if there is no cluster of this name. */
  readonly serverOf: (cluster: string) => ServerConfig | undefined;
  /** Whether a server has sent the cluster. */
  readonly isKnown: (cluster: string) => boolean;
  readonly clock: RunningClock;
  /** Called when servers request other reports than before. */
  readonly onRequested: (reporting: LoadReporting) => void;
  /** Called with the name of a cluster whose load is left out. */
  readonly onLeftOut: (cluster: string) => void;
}

/** The last report of a client, as far as it lasts: the calls in progress, and references to the clusters. */
interface ClientLoads {
  readonly presence: Handle;
  clusters: readonly ReportedCluster[];
  /** The last reports with a number. */
  received: readonly ReceivedReport[];
  /** A report of clusters that are not known yet. It outlives the stream. */
  held: HeldReport | undefined;
  isClosed: boolean;
  readonly calls: { issued: number; succeeded: number; failed: number; dropped: number };
}

interface HeldReport {
  readonly report: LoadReport;
  readonly received: ReceivedReport;
  readonly timer: Handle;
}

/** As many reports of a client as can be without an acknowledgement. */
const MAX_RECEIVED = 2;

interface ReportedCluster {
  readonly handle: Handle & { readonly value: SharedCluster };
  readonly inProgress: readonly { readonly counter: LocalityCounter; readonly calls: number }[];
}

/**
 * The loads that the clients of a relay report, added up for the servers that their clusters are from (gRFC A27). Counts are
 * added when they are received, so that nothing is lost with a client; its calls in progress are those of its last report, and
 * end with its stream. A report with a number is acknowledged when the servers have its counts. A client that repeats one on its
 * next stream, because it has not received the acknowledgement, is acknowledged what the relay already has, which is not added
 * again.
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
  /** Streams with a report of clusters that are not known yet. */
  private readonly holding = new Set<ClientLoads>();
  /** The last reports of streams that have ended, by number. */
  private readonly ended = new Map<bigint, ReceivedReport>();
  private isClosed = false;

  constructor(private readonly options: RelayedLoadsOptions) {}

  /** Handles that a client has opened a stream. */
  open({ streamId }: ClientIdentity): void {
    const { reporter, defaultServer: server } = this.options;
    if (this.isClosed) return;
    // A cluster without calls, which no report has: the server is to say what it requests before clients report anything.
    const presence = reporter.acquire({ server, cluster: '', edsServiceName: '', metrics: [] });
    this.clients.set(streamId, {
      presence,
      clusters: [],
      received: [],
      held: undefined,
      isClosed: false,
      calls: { issued: 0, succeeded: 0, failed: 0, dropped: 0 },
    });
  }

  /** Adds a report. A cluster that it does not have has no calls in progress. */
  add({ streamId }: ClientIdentity, report: LoadReport, receipt?: ReportReceipt): void {
    const client = this.clients.get(streamId);
    if (client === undefined || this.isClosed) return;
    this.addHeld(client);
    if (receipt === undefined) this.addNow(client, report);
    else if (this.ended.has(receipt.id)) this.repeat(client, receipt);
    else this.addNumbered(client, report, receipt);
  }

  /** Handles that the clusters of servers have changed. */
  onClusters(): void {
    for (const client of this.holding) {
      if (client.held !== undefined && this.isKnown(client.held.report)) this.addHeld(client);
    }
  }

  /** Returns the calls that a client has reported. */
  describe({ streamId, nodeId }: ClientIdentity): RelayLoadClientReport {
    const none = { issued: 0, succeeded: 0, failed: 0, dropped: 0 };
    return {
      streamId,
      nodeId: cutText(nodeId, MAX_OWN_TEXT_LENGTH),
      ...(this.clients.get(streamId)?.calls ?? none),
    };
  }

  /** Handles the end of a stream. */
  close({ streamId }: ClientIdentity): void {
    const client = this.clients.get(streamId);
    this.clients.delete(streamId);
    if (client === undefined) return;
    client.isClosed = true;
    const [oldest] = this.holding;
    if (oldest !== undefined && this.holding.size > MAX_HELD_REPORTS) this.addHeld(oldest);
    for (const received of client.received) this.ended.set(received.id, received);
    for (const id of this.ended.keys()) {
      if (this.ended.size <= MAX_ENDED_REPORTS) break;
      this.ended.delete(id);
    }
    endAll(client.clusters);
    client.presence.release();
  }

  /** Ends the acceptance of reports: clients keep those that follow, and those that are held. */
  end(): void {
    this.isClosed = true;
    for (const { held } of this.holding) held?.timer.release();
    this.holding.clear();
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

  private isKnown({ clusters }: LoadReport): boolean {
    return clusters.every(({ cluster }) => this.options.isKnown(cluster));
  }

  private addNumbered(client: ClientLoads, report: LoadReport, receipt: ReportReceipt): void {
    const received = new ReceivedReport(receipt);
    this.remember(client, received);
    if (this.isKnown(report)) {
      this.place(client, report, received);
      return;
    }
    const timer = afterRunning(this.options.clock, () => this.addHeld(client), HOLD_MS);
    client.held = { report, received, timer };
    this.holding.add(client);
  }

  private addHeld(client: ClientLoads): void {
    const { held } = client;
    if (held === undefined) return;
    client.held = undefined;
    this.holding.delete(client);
    held.timer.release();
    this.place(client, held.report, held.received);
  }

  private place(client: ClientLoads, report: LoadReport, received: ReceivedReport): void {
    this.addNow(client, report);
    for (const { handle } of client.clusters) received.await(handle.value);
    received.onPlaced();
    if (!client.isClosed) return;
    endAll(client.clusters);
    client.clusters = [];
  }

  private repeat(client: ClientLoads, receipt: ReportReceipt): void {
    const received = this.ended.get(receipt.id);
    if (received === undefined) return;
    this.ended.delete(receipt.id);
    received.repeat(receipt);
    this.remember(client, received);
  }

  private remember(client: ClientLoads, received: ReceivedReport): void {
    client.received = [...client.received, received].slice(-MAX_RECEIVED);
  }

  private addNow(client: ClientLoads, { clusters }: LoadReport): void {
    const before = client.clusters;
    client.clusters = clusters.flatMap((load) => this.addCluster(load) ?? []);
    endAll(before);
    countCalls(client.calls, clusters);
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

  /** Calls back once, when the server has the counts of now. */
  whenReported(onReported: () => void): void {
    this.reference.load.whenReported(onReported);
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

const FIELDS: ReadonlySet<string> = new Set<MetricField>([
  'cpu_utilization',
  'mem_utilization',
  'application_utilization',
]);

function isField(name: string): name is MetricField {
  return FIELDS.has(name);
}

function toTotals(metrics: LocalityLoad['metrics']): MetricTotals {
  return Array.from(metrics, ([name, { calls, total: sum }]) =>
    isField(name)
      ? { field: name, name: '', calls, sum }
      : { field: 'load_metric_stats' as const, name, calls, sum },
  );
}

function noCounts(locality: LocalityCounter['locality']) {
  return { locality, issued: 0, succeeded: 0, failed: 0, metrics: [] };
}
