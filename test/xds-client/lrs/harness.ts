import type { ClusterStats } from '../../../src/wire/generated/envoy/config/endpoint/v3/load_report';
import {
  LoadStatsRequest,
  LoadStatsResponse,
} from '../../../src/wire/generated/envoy/service/load_stats/v3/lrs';
import { LoadReporter, type LoadSource } from '../../../src/xds-client/lrs/load-reporter';
import { createNode } from '../../../src/xds-client/management-servers';
import type { Logger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';
import { FakeNetwork, type FakeServer, type FakeStream } from '../../support/fake-transport';
import { serverConfig } from '../harness';

/** Keeps what is logged. */
class RecordingLogger implements Logger {
  readonly infos: string[] = [];
  readonly errors: string[] = [];

  trace(_tracer: string, text: () => string): void {
    text();
  }

  info(text: () => string): void {
    this.infos.push(text());
  }

  error(text: () => string): void {
    this.errors.push(text());
  }
}

/** The server of load reports. */
export const SERVER = serverConfig('lrs.test:1');

/** A cluster that reports to the server, of which a test says what is of interest. */
function source(options: Partial<LoadSource> = {}): LoadSource {
  return { server: SERVER, cluster: 'c', edsServiceName: '', metrics: [], ...options };
}

/** A locality that is told apart by its zone. */
export function zone(name: string) {
  return { region: 'r', zone: name, subZone: '' };
}

/** What a server may order. */
export interface Order {
  /** Default: all. */
  readonly clusters?: readonly string[];
  /** `undefined`: none is named. */
  readonly intervalMs: number | undefined;
}

/** A report in short: one line per cluster, locality and drop category. */
function describeReport(bytes: Uint8Array): string[] {
  return LoadStatsRequest.decode(bytes).clusterStats.flatMap(describeCluster);
}

function describeCluster(stats: ClusterStats): string[] {
  const name = [stats.clusterName, stats.clusterServiceName].filter(Boolean).join('/');
  const { seconds = 0n, nanos = 0 } = stats.loadReportInterval ?? {};
  const drops = stats.droppedRequests.map((drop) => `${drop.category} ${drop.droppedCount}`);
  return [
    `${name} over ${Number(seconds) * 1000 + nanos / 1e6} ms, dropped ${stats.totalDroppedRequests}` +
      (drops.length === 0 ? '' : ` (${drops.join(', ')})`),
    ...stats.upstreamLocalityStats.map(
      (locality) =>
        `  ${locality.locality?.zone}: ${locality.totalIssuedRequests} issued, ` +
        `${locality.totalSuccessfulRequests} ok, ${locality.totalErrorRequests} failed, ` +
        `${locality.totalRequestsInProgress} running`,
    ),
  ];
}

/** A reporter and the server it reports to. */
export class LrsHarness {
  readonly clock: FakeClock;
  readonly network: FakeNetwork;
  readonly logger = new RecordingLogger();
  readonly reporter: LoadReporter;

  constructor({ choosesMetrics = true, clock = new FakeClock() } = {}) {
    this.clock = clock;
    this.network = new FakeNetwork(clock);
    this.reporter = new LoadReporter({
      node: createNode(
        { id: 'node-1', cluster: 'c1', locality: undefined, metadata: undefined },
        { name: 'test-agent', version: '1.2.3' },
      ),
      transportFactory: this.network,
      clock: this.clock,
      random: () => 0.5,
      logger: this.logger,
      choosesMetrics,
    });
  }

  get server(): FakeServer {
    return this.network.server('lrs.test:1');
  }

  /** The newest stream. */
  get stream(): FakeStream {
    return this.server.stream;
  }

  /** How many streams there have been. */
  get streamCount(): number {
    return this.server.streams.length;
  }

  /** Takes a hold on a cluster and lets the first message go out. */
  acquire(options: Partial<LoadSource> = {}) {
    const hold = this.reporter.acquire(source(options));
    this.clock.flush();
    return hold;
  }

  /** Says what is wanted. */
  order({ clusters, intervalMs }: Order): void {
    const response = LoadStatsResponse.create({
      clusters: [...(clusters ?? [])],
      sendAllClusters: clusters === undefined,
    });
    if (intervalMs !== undefined) {
      const seconds = Math.floor(intervalMs / 1000);
      response.loadReportingInterval = {
        seconds: BigInt(seconds),
        nanos: Math.round((intervalMs - seconds * 1000) * 1e6),
      };
    }
    this.stream.respondBytes(LoadStatsResponse.encode(response).finish());
  }

  /** Every report of the newest stream; the message that names the client is none. */
  get reports(): string[][] {
    return this.stream.messages.slice(1).map(describeReport);
  }

  /** The newest report. */
  get report(): string[] {
    const report = this.reports.at(-1);
    if (report === undefined) throw new Error('There has been no report');
    return report;
  }

  /** The metrics in the newest report. */
  get metrics(): string[] {
    const bytes = this.stream.messages.at(-1) ?? new Uint8Array();
    return LoadStatsRequest.decode(bytes).clusterStats.flatMap(({ upstreamLocalityStats }) =>
      upstreamLocalityStats.flatMap(({ locality, loadMetricStats }) =>
        loadMetricStats.map(
          (metric) =>
            `${locality?.zone} ${metric.metricName}: ` +
            `${metric.numRequestsFinishedWithMetric} calls, ${metric.totalMetricValue}`,
        ),
      ),
    );
  }
}
