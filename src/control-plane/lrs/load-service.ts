import { status } from '@grpc/grpc-js';
import type { Node } from '../../wire/generated/envoy/config/core/v3/base';
import {
  LoadStatsRequest,
  LoadStatsResponse,
} from '../../wire/generated/envoy/service/load_stats/v3/lrs';
import { BOOLEAN, optional, TEXTS, type MembersOf, type Rule } from '../../util/check-arguments';
import type { Clock } from '../../util/clock';
import { msToDuration } from '../../util/duration';
import { CLIENT_REQUEST_LIMIT } from '../../util/limits';
import {
  clientFeatures,
  findNodeProblem,
  identityOf,
  readNode,
  type ClientStream,
  type ClientNode,
} from '../client-state';
import {
  createStreamMethod,
  refuseStream,
  ServerStream,
  type AdmitStream,
  type StreamCall,
} from '../server-stream';
import type { Refusal, ResourceView } from '../ads/resource-view';
import { clusterKind } from '../resource';
import { readLoadReport, type LoadReport } from './load-totals';

/** The load reports that clients are requested to send. */
export interface LoadReporting {
  /** Interval of reports, in milliseconds. Default 10,000. */
  readonly intervalMs?: number;
  /**
   * Clusters to report. Default: all. Clients without the feature `envoy.lrs.supports_send_all_clusters` receive the
   * names of the clusters in their snapshot.
   */
  readonly clusters?: readonly string[];
  /** Requests loads per endpoint, which no gRPC client reports. Default false. */
  readonly reportEndpointGranularity?: boolean;
}

/** What a message of a duration can have: 10,000 years. */
const MAX_INTERVAL_MS = 315_576_000_000_000;

const INTERVAL: Rule = {
  legal: `a number of milliseconds from 0 to ${MAX_INTERVAL_MS}`,
  accepts: (value) => typeof value === 'number' && value >= 0 && value <= MAX_INTERVAL_MS,
};

export const LOAD_REPORTING: MembersOf<LoadReporting> = {
  intervalMs: optional(INTERVAL),
  clusters: optional(TEXTS),
  reportEndpointGranularity: optional(BOOLEAN),
};

/** The options of `LoadService`. */
export interface LoadServiceOptions {
  readonly clock: Clock;
  nextStreamId(): number;
  /** Default: all calls are served. */
  readonly admit?: AdmitStream;
  readonly view: ResourceView;
  /** Returns the reports that are requested of a client; `undefined` for none yet. Default: the same of all. */
  reportingOf?(client: ClientStream): LoadReporting | undefined;
  /** Called when a client has sent its node. Default: nothing happens. */
  onOpened?(client: ClientStream): void;
  /** Called with each report of it that has loads. */
  onReport(client: ClientStream, report: LoadReport): void;
  /** Called when the stream of a client has ended that has sent its node. */
  onClosed(client: ClientStream): void;
}

const path = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const messages = {
  request: LoadStatsRequest,
  response: LoadStatsResponse,
  limit: CLIENT_REQUEST_LIMIT,
};

type LoadCall = StreamCall<LoadStatsRequest, LoadStatsResponse>;

/** The load reporting service (LRS, gRFC A27): requests load reports of clients, and hands them on. */
export class LoadService {
  readonly methods = [createStreamMethod(path, messages, (call) => this.accept(call))];
  private readonly streams = new Set<LoadStream>();

  /** @param reporting `undefined` to request none for now. */
  constructor(
    private reporting: LoadReporting | undefined,
    private readonly options: LoadServiceOptions,
  ) {
    options.view.watch(() => this.refresh());
  }

  /** Changes the requested reports, also of connected clients. */
  setReporting(reporting: LoadReporting): void {
    this.reporting = reporting;
    this.refresh();
  }

  /** Returns the connected clients, in the order of their streams. */
  clients(): readonly ClientStream[] {
    return [...this.streams].flatMap(({ client }) => client ?? []);
  }

  /**
   * Ends streams with UNAVAILABLE.
   * @param peer Only those of the client at this address. Default: all.
   */
  endStreams(details: string, peer?: string): void {
    for (const stream of [...this.streams]) {
      if (peer !== undefined && stream.peer !== peer) continue;
      stream.fail(status.UNAVAILABLE, details);
    }
  }

  /** Sends each client its response if it has changed. */
  refresh(): void {
    for (const stream of [...this.streams]) stream.refresh();
  }

  private reportingOf(client: ClientStream): LoadReporting | undefined {
    if (this.options.reportingOf === undefined) return this.reporting;
    return this.options.reportingOf(client);
  }

  private accept(call: LoadCall): void {
    if (refuseStream(call, this.streams.size, this.options.admit)) return;
    const streamId = this.options.nextStreamId();
    const stream = new LoadStream(call, {
      clock: this.options.clock,
      streamId,
      createResponse: (node, client) => {
        const reporting = this.reportingOf(client);
        return reporting && this.createResponse(node, reporting);
      },
      findRefusal: (node, client) => this.options.view.open?.(node, client),
      onOpened: (client) => this.options.onOpened?.(client),
      onReport: (client, report) => this.options.onReport(client, report),
      onClosed: () => {
        this.streams.delete(stream);
        if (stream.client !== undefined) this.options.onClosed(stream.client);
      },
    });
    this.streams.add(stream);
  }

  private createResponse(node: ClientNode, reporting: LoadReporting): LoadStatsResponse {
    const { clusters, intervalMs = 10_000, reportEndpointGranularity = false } = reporting;
    const canSendAll = node.clientFeatures.includes(clientFeatures.sendAllClusters);
    const sendAllClusters = clusters === undefined && canSendAll;
    const served = () =>
      this.options.view.resourcesFor(node).set(clusterKind.typeUrl)?.byName.keys() ?? [];
    return {
      clusters: sendAllClusters ? [] : [...(clusters ?? served())],
      sendAllClusters,
      loadReportingInterval: msToDuration(intervalMs),
      reportEndpointGranularity,
    };
  }
}

/** The options of `LoadStream`. */
interface LoadStreamOptions {
  readonly clock: Clock;
  readonly streamId: number;
  /** Returns what is requested of a client; `undefined` if nothing is yet. */
  createResponse(node: ClientNode, client: ClientStream): LoadStatsResponse | undefined;
  /** Returns why a client cannot be served, which ends its stream. */
  findRefusal(node: ClientNode, client: ClientStream): Refusal | undefined;
  onOpened(client: ClientStream): void;
  onReport: LoadServiceOptions['onReport'];
  /** Called once, when the stream has ended. */
  onClosed(): void;
}

/** The server's end of one LRS stream. */
class LoadStream {
  private readonly stream: ServerStream<LoadStatsRequest, LoadStatsResponse>;
  private identified: { readonly client: ClientStream; readonly node: ClientNode } | undefined;
  /** The last response, encoded; undefined before the first. */
  private lastResponse: Buffer | undefined;

  constructor(
    call: LoadCall,
    private readonly options: LoadStreamOptions,
  ) {
    const listener = {
      onRequest: (request: LoadStatsRequest) => this.onRequest(request),
      onUnblocked: () => this.refresh(),
      onClosed: () => options.onClosed(),
    };
    this.stream = new ServerStream(call, listener, options.clock);
  }

  get peer(): string {
    return this.stream.peer;
  }

  /** Undefined before the first request. */
  get client(): ClientStream | undefined {
    return this.identified?.client;
  }

  /** Sends the response if it differs from the last one. */
  refresh(): void {
    const { isOpen, isBlocked } = this.stream;
    if (this.identified === undefined || !isOpen || isBlocked) return;
    const { node, client } = this.identified;
    const response = this.options.createResponse(node, client);
    if (response === undefined) return;
    const encoded = Buffer.from(LoadStatsResponse.encode(response).finish());
    if (this.lastResponse?.equals(encoded) === true) return;
    this.lastResponse = encoded;
    this.stream.write(response);
  }

  /** Ends the stream with an error status. */
  fail(code: number, details: string): void {
    this.stream.fail(code, details);
  }

  private onRequest(request: LoadStatsRequest): void {
    const problem = this.client === undefined ? findNodeProblem(request.node) : undefined;
    if (problem !== undefined) {
      this.fail(status.RESOURCE_EXHAUSTED, problem);
      return;
    }
    const client = this.client ?? this.identify(request.node);
    if (client === undefined) return;
    // The first request holds the node and no loads.
    if (request.clusterStats.length === 0) return;
    this.options.onReport(client, readLoadReport(request));
  }

  /** Reads the node. Ends the stream if it is refused. */
  private identify(message: Node | undefined): ClientStream | undefined {
    const node = readNode(message, this.stream.principal);
    const client = identityOf(this.stream, this.options.streamId, node.id);
    const refusal = this.options.findRefusal(node, client);
    if (refusal !== undefined) {
      this.fail(refusal.code, refusal.details);
      return undefined;
    }
    this.identified = { client, node };
    this.refresh();
    this.options.onOpened(client);
    return client;
  }
}
