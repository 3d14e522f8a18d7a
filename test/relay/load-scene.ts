import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import { readLoadReport } from '../../src/control-plane/lrs/load-totals';
import { RelayedLoads } from '../../src/relay/relayed-loads';
import {
  LoadStatsRequest,
  LoadStatsResponse,
} from '../../src/wire/generated/envoy/service/load_stats/v3/lrs';
import {
  LoadReporter,
  LoadStreams,
  type LoadReference,
} from '../../src/xds-client/lrs/load-reporter';
import { createNode } from '../../src/xds-client/management-servers';
import { FakeClock } from '../support/fake-clock';
import { FakeNetwork, type FakeServer, type FakeStream } from '../support/fake-transport';
import { serverConfig } from '../xds-client/harness';

/** The interval of all reports, in milliseconds. */
export const INTERVAL_MS = 1000;
const STEP_MS = 50;

const relayServer = serverConfig('relay:1');
const upstreamServer = serverConfig('upstream:1');
const locality = { region: '', zone: 'z', subZone: '' };

const node = createNode(
  { id: 'n', cluster: '', locality: undefined, metadata: undefined },
  { name: 'test', version: '1' },
);

/** Processes that report loads to a relay, which reports them to a server: all real but the connections between them. */
export class LoadScene {
  readonly clock = new FakeClock();
  readonly network = new FakeNetwork(this.clock);
  readonly errors: string[] = [];
  readonly workers: LoadReporter[];
  /** Clusters that the relay does not have yet. */
  readonly late = new Set<string>();
  /** Whether acknowledgements get to the clients. */
  acknowledges = true;
  relay: FakeRelay | undefined;
  /** Calls that were made. */
  made = 0;
  /** Calls that the server was reported. */
  reported = 0;
  private readonly references = new Map<string, LoadReference>();
  /** How many messages of a stream the server has counted. */
  private readonly counted = new Map<FakeStream, number>();

  constructor(random: () => number, workers = 2) {
    this.workers = Array.from({ length: workers }, () => this.createReporter(random));
    this.relay = new FakeRelay(this, random);
  }

  get upstream(): FakeServer {
    return this.network.server('upstream:1');
  }

  /** The newest stream of each worker to the relay. */
  get open(): readonly FakeStream[] {
    return this.network.server('relay:1').streams.filter(({ isOpen }) => isOpen);
  }

  /** Opens a cluster at a worker, of the relay or of the server itself, instead of where it was before. */
  use(worker: number, server: 'relay' | 'upstream', cluster = 'c'): void {
    const key = `${worker} ${cluster}`;
    const before = this.references.get(key);
    const reference = this.workers[worker]?.acquire({
      ...{ server: server === 'relay' ? relayServer : upstreamServer },
      ...{ cluster, edsServiceName: '', metrics: [] },
    });
    if (reference !== undefined) this.references.set(key, reference);
    before?.release();
    this.pass(0);
  }

  /** Closes what a worker uses. */
  close(worker: number, cluster = 'c'): void {
    this.references.get(`${worker} ${cluster}`)?.release();
    this.pass(0);
  }

  call(worker: number, count = 1, cluster = 'c'): void {
    const counter = this.references.get(`${worker} ${cluster}`)?.load.createLocality(locality);
    for (let i = 0; i < count; i++) {
      counter?.start();
      counter?.end(true);
    }
    this.made += count;
  }

  /** Lets time pass. */
  pass(ms: number): void {
    for (let leftMs = ms; leftMs >= 0; leftMs -= STEP_MS) {
      this.exchange();
      if (leftMs > 0) this.clock.advance(Math.min(STEP_MS, leftMs));
    }
    this.exchange();
  }

  /** The relay receives the clusters that it does not have. */
  findClusters(): void {
    this.late.clear();
    this.relay?.onClusters();
  }

  kill(): void {
    this.relay?.kill();
    this.relay = undefined;
    for (const stream of this.open) stream.end();
  }

  /** Stops the relay as its command does. */
  stop(): void {
    this.relay?.stop();
    this.pass(200);
    this.relay?.kill();
    this.relay = undefined;
    for (const stream of this.open) stream.end(0);
  }

  start(random: () => number): void {
    this.relay ??= new FakeRelay(this, random);
    this.pass(0);
  }

  createReporter(
    random: () => number,
    options: Partial<ConstructorParameters<typeof LoadReporter>[0]> = {},
  ): LoadReporter {
    return new LoadReporter({
      ...{ node, transportFactory: this.network, choosesMetrics: true },
      ...{ clock: this.clock, random },
      logger: {
        trace() {},
        info() {},
        error: (text) => void this.errors.push(text()),
      },
      ...options,
    });
  }

  /** Hands on what was sent. */
  private exchange(): void {
    this.clock.flush();
    for (const stream of this.upstream.streams) {
      if (stream.isOpen && this.upstream.isReachable) this.receive(stream);
    }
    this.clock.flush();
    this.relay?.exchange(this.open);
    this.clock.flush();
  }

  private receive(stream: FakeStream): void {
    const counted = this.counted.get(stream) ?? 0;
    this.counted.set(stream, stream.messages.length);
    for (const message of stream.messages.slice(counted)) {
      for (const { localities } of readLoadReport(LoadStatsRequest.decode(message)).clusters) {
        for (const { succeeded } of localities) this.reported += succeeded;
      }
    }
    stream.confirmSent();
    if (counted === 0 && stream.messages.length > 0) stream.respondBytes(requestAll(undefined));
    if (stream.isHalfClosed) stream.end(0);
  }
}

/** The relay's part of load reports. */
class FakeRelay {
  private readonly streams: LoadStreams;
  private readonly loads: RelayedLoads;
  private isRequesting = false;
  /** How many messages of a stream were received. */
  private readonly received = new Map<FakeStream, number>();
  private readonly answered = new Set<FakeStream>();

  constructor(
    private readonly scene: LoadScene,
    random: () => number,
  ) {
    const { clock } = scene;
    this.streams = new LoadStreams(clock);
    const reporter = scene.createReporter(random, {
      streams: this.streams,
      onRequested: (server, response) => this.loads.onResponse(server, response),
    });
    this.loads = new RelayedLoads({
      ...{ reporter, clock, defaultServer: upstreamServer },
      serverOf: (cluster): ServerConfig | undefined =>
        scene.late.has(cluster) ? undefined : upstreamServer,
      isKnown: (cluster) => !scene.late.has(cluster),
      onRequested: () => void (this.isRequesting = true),
      onLeftOut: () => {},
    });
  }

  onClusters(): void {
    this.loads.onClusters();
  }

  exchange(open: readonly FakeStream[]): void {
    for (const stream of this.received.keys()) if (!stream.isOpen) this.end(stream);
    for (const stream of open) {
      this.receive(stream);
      if (this.isRequesting && !this.answered.has(stream)) {
        this.answered.add(stream);
        stream.respondBytes(requestAll(0n));
      }
      if (!stream.isHalfClosed) continue;
      this.end(stream);
      stream.end(0);
    }
  }

  /** Ends the stream of a client, which goes on. */
  cut(stream: FakeStream): void {
    this.end(stream);
    stream.end();
  }

  stop(): void {
    this.loads.end();
    void this.streams.end(1000);
  }

  kill(): void {
    this.loads.end();
    this.streams.close();
  }

  private receive(stream: FakeStream): void {
    const received = this.received.get(stream) ?? 0;
    const client = this.client(stream);
    this.received.set(stream, stream.messages.length);
    if (received === 0) this.loads.open(client);
    for (const message of stream.messages.slice(received)) {
      const request = LoadStatsRequest.decode(message);
      const { reportId: id } = request;
      if (request.clusterStats.length === 0) continue;
      const acknowledge = () => {
        const response = LoadStatsResponse.create({ acknowledgedReport: id });
        if (!stream.isOpen || !this.scene.acknowledges) return;
        stream.respondBytes(LoadStatsResponse.encode(response).finish());
      };
      this.loads.add(client, readLoadReport(request), id > 0n ? { id, acknowledge } : undefined);
    }
  }

  private end(stream: FakeStream): void {
    this.loads.close(this.client(stream));
    this.received.delete(stream);
  }

  private client(stream: FakeStream) {
    const streamId = this.scene.network.server('relay:1').streams.indexOf(stream);
    return { streamId, nodeId: 'n', peer: '' };
  }
}

function requestAll(acknowledgedReport: bigint | undefined): Uint8Array {
  return LoadStatsResponse.encode({
    ...{ clusters: [], sendAllClusters: true, reportEndpointGranularity: false },
    loadReportingInterval: { seconds: BigInt(INTERVAL_MS / 1000), nanos: 0 },
    acknowledgedReport,
  }).finish();
}
