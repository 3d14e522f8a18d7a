import type { status, ServerDuplexStream } from '@grpc/grpc-js';
import { Node } from '../generated/envoy/config/core/v3/base';
import {
  LoadStatsResponse,
  type LoadStatsRequest,
} from '../generated/envoy/service/load_stats/v3/lrs';
import type { ClientIdentity, ClientNode } from './client-state';
import { readLoadReport, type LoadReport } from './load-report';
import { clientFeatures, readNode, toDuration } from './protocol-parts';
import { clusterKind } from './resource-kind';
import type { Snapshot } from './snapshot';

/** What clients are asked to report. */
export interface LoadReporting {
  /** Time between two reports, in milliseconds. Default 10,000. */
  readonly intervalMs?: number;
  /**
   * Clusters to report. Default: all. Clients that cannot be asked for all are given the names of the clusters in
   * their snapshot.
   */
  readonly clusters?: readonly string[];
  /** Asks for loads per endpoint, which no gRPC client reports. Default false. */
  readonly reportEndpointGranularity?: boolean;
}

/** What a stream needs from the service it belongs to. */
export interface LoadStreamHost {
  reporting(): LoadReporting;
  snapshotFor(node: ClientNode): Snapshot;
  onReport(client: ClientIdentity, report: LoadReport): void;
  /** The stream is over; the client is undefined if it has never said who it is. */
  onClosed(stream: LoadStream, client: ClientIdentity | undefined): void;
}

const defaultIntervalMs = 10_000;

/** One stream on which a client reports loads. */
export class LoadStream {
  private introduced: Introduced | undefined;
  private open = true;

  constructor(
    private readonly streamId: number,
    private readonly call: ServerDuplexStream<LoadStatsRequest, LoadStatsResponse>,
    private readonly host: LoadStreamHost,
  ) {
    call.on('data', (request: LoadStatsRequest) => this.onRequest(request));
    call.on('end', () => {
      if (!this.open) return;
      this.close();
      call.end();
    });
    call.on('cancelled', () => this.close());
    call.on('error', () => this.close());
    call.on('close', () => this.close());
  }

  /** Who reports; undefined before the first request. */
  get client(): ClientIdentity | undefined {
    return this.introduced?.client;
  }

  /** Tells the client what to report, if that is something else than before. */
  refresh(): void {
    const { introduced } = this;
    if (introduced === undefined || !this.open) return;
    const message = this.compose(introduced);
    const text = Buffer.from(LoadStatsResponse.encode(message).finish()).toString('latin1');
    if (text === introduced.said) return;
    introduced.said = text;
    this.call.write(message);
  }

  /** Ends the stream with an error the client can read. */
  fail(code: status, details: string): void {
    if (!this.open) return;
    this.close();
    this.call.emit('error', { code, details });
  }

  private onRequest(request: LoadStatsRequest): void {
    if (!this.open) return;
    const { client } = this.introduced ?? this.introduce(request.node);
    // The first request says who the client is; it has nothing to report yet.
    if (request.clusterStats.length > 0) this.host.onReport(client, readLoadReport(request));
  }

  private introduce(message: Node | undefined): Introduced {
    const node = readNode(message ?? Node.create());
    const client = { streamId: this.streamId, nodeId: node.id, peer: this.call.getPeer() };
    const introduced: Introduced = { client, node, said: undefined };
    this.introduced = introduced;
    this.refresh();
    return introduced;
  }

  private compose({ node }: Introduced): LoadStatsResponse {
    const reporting = this.host.reporting();
    const canSendAll = node.clientFeatures.includes(clientFeatures.sendAllClusters);
    const sendAllClusters = reporting.clusters === undefined && canSendAll;
    const inSnapshot = () => this.host.snapshotFor(node).set(clusterKind).byName.keys();
    return {
      clusters: sendAllClusters ? [] : [...(reporting.clusters ?? inSnapshot())],
      sendAllClusters,
      loadReportingInterval: toDuration(reporting.intervalMs ?? defaultIntervalMs),
      reportEndpointGranularity: reporting.reportEndpointGranularity ?? false,
    };
  }

  private close(): void {
    if (!this.open) return;
    this.open = false;
    this.host.onClosed(this, this.client);
  }
}

interface Introduced {
  readonly client: ClientIdentity;
  readonly node: ClientNode;
  /** The last response, encoded; undefined before the first. */
  said: string | undefined;
}
