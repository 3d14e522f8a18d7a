import { status, type Server, type ServerDuplexStream } from '@grpc/grpc-js';
import { LoadStatsRequest, LoadStatsResponse } from '../generated/envoy/service/load_stats/v3/lrs';
import { asBuffer } from '../util/as-buffer';
import type { ClientIdentity, ClientNode } from './client-state';
import { LoadLedger } from './load-ledger';
import type { LoadReport } from './load-report';
import { LoadStream, type LoadReporting, type LoadStreamHost } from './load-stream';
import type { Snapshot } from './snapshot';

/** What the load reporting service needs from the server it belongs to. */
export interface LoadServiceHost {
  nextStreamId(): number;
  snapshotFor(node: ClientNode): Snapshot;
  onLoadReport(client: ClientIdentity, report: LoadReport): void;
}

const path = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';

type LoadCall = ServerDuplexStream<LoadStatsRequest, LoadStatsResponse>;

/** The load reporting service (LRS, gRFC A27): tells clients what to report and adds up what they report. */
export class LoadService {
  readonly ledger = new LoadLedger();
  private readonly streams = new Set<LoadStream>();

  constructor(
    private reporting: LoadReporting,
    private readonly host: LoadServiceHost,
  ) {}

  /** Adds the service to a server. */
  addTo(server: Server): void {
    const StreamLoadStats = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: (message: LoadStatsRequest) =>
        asBuffer(LoadStatsRequest.encode(message).finish()),
      requestDeserialize: (bytes: Buffer) => LoadStatsRequest.decode(bytes),
      responseSerialize: (message: LoadStatsResponse) =>
        asBuffer(LoadStatsResponse.encode(message).finish()),
      responseDeserialize: (bytes: Buffer) => LoadStatsResponse.decode(bytes),
    };
    server.addService(
      { StreamLoadStats },
      { StreamLoadStats: (call: LoadCall) => this.accept(call) },
    );
  }

  /** Changes what clients report, at once for those that are connected. */
  setReporting(reporting: LoadReporting): void {
    this.reporting = reporting;
    this.refresh();
  }

  /** Tells clients what to report, if that is something else than before. */
  refresh(): void {
    for (const stream of [...this.streams]) stream.refresh();
  }

  /** The clients that report, in the order they came. */
  clients(): readonly ClientIdentity[] {
    return [...this.streams].flatMap(({ client }) => (client === undefined ? [] : [client]));
  }

  /** Ends all streams. */
  stop(details: string): void {
    for (const stream of [...this.streams]) stream.fail(status.UNAVAILABLE, details);
  }

  private accept(call: LoadCall): void {
    const host: LoadStreamHost = {
      reporting: () => this.reporting,
      snapshotFor: (node) => this.host.snapshotFor(node),
      onReport: (client, report) => {
        this.ledger.add(client, report);
        this.host.onLoadReport(client, report);
      },
      onClosed: (stream, client) => {
        this.streams.delete(stream);
        if (client !== undefined) this.ledger.close(client.streamId);
      },
    };
    this.streams.add(new LoadStream(this.host.nextStreamId(), call, host));
  }
}
