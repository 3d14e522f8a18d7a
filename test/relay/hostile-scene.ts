import {
  connect as connectHttp2,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { SnapshotInput } from '../../src/control-plane';
import { DiscoveryRequest } from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { DeltaClient, type DeltaClientStream } from '../control-plane/delta-client';
import { CDS, cluster, echo } from '../control-plane/resources';
import { RelayScene } from './relay-scene';

export const ADS_HEADERS = {
  ':method': 'POST',
  ':path': '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources',
  'content-type': 'application/grpc',
  te: 'trailers',
};

/** A relay with a client that behaves, which has the cluster `echo`, and connections below gRPC. */
export class HostileScene {
  private readonly sockets: { destroy(): unknown }[] = [];
  private readonly good: DeltaClient;
  private readonly stream: DeltaClientStream;
  private changes = 0;

  private constructor(private readonly scene: RelayScene) {
    this.good = new DeltaClient(scene.listen);
    this.stream = this.good.open();
  }

  static async start(): Promise<HostileScene> {
    const scene = new HostileScene(await RelayScene.start());
    scene.serve({});
    scene.stream.send(CDS, { node: { id: 'good' }, sub: ['echo'] });
    scene.stream.ack(await scene.stream.next());
    return scene;
  }

  get listen(): string {
    return this.scene.listen;
  }

  get nodeIds(): readonly string[] {
    return this.inspect().clients.map(({ nodeId }) => nodeId);
  }

  inspect() {
    return this.scene.relay.inspect();
  }

  /** The version of all clusters that a client has been sent. */
  sentVersion(nodeId: string): string | undefined {
    const client = this.inspect().clients.find((each) => each.nodeId === nodeId);
    return client?.types[0]?.sentVersion;
  }

  /** Replaces the resources, among which `echo` is another one than before. */
  serve({ clusters = [], ...rest }: SnapshotInput): void {
    const metadata = { filter_metadata: { change: { count: ++this.changes } } };
    const changed = { ...cluster('echo'), metadata };
    this.scene.serve({ ...echo, ...rest, clusters: [changed, ...clusters] });
  }

  /** Changes `echo`, which the client that behaves receives, and nothing else. */
  async expectUpdate(input: SnapshotInput = {}): Promise<void> {
    this.serve(input);
    const response = await this.stream.next();
    this.stream.ack(response);
    expect(response.resources.map(({ name }) => name)).toEqual(['echo']);
  }

  /** A connection below HTTP/2. */
  connect(): Socket {
    const socket = connect(this.listen.slice('unix:'.length));
    socket.on('error', () => {});
    this.sockets.push(socket);
    return socket;
  }

  /** A connection below gRPC. */
  openSession(): ClientHttp2Session {
    const session = connectHttp2('http://localhost', { createConnection: () => this.connect() });
    session.on('error', () => {});
    return session;
  }

  /** A stream that subscribes to clusters. Nothing is read of it until a listener of `data` is added. */
  subscribe(
    session: ClientHttp2Session,
    resourceNames: readonly string[],
    more: Partial<DiscoveryRequest> = {},
  ): ClientHttp2Stream {
    const stream = session.request(ADS_HEADERS);
    stream.on('error', () => {});
    this.send(stream, { resourceNames: [...resourceNames], ...more });
    return stream;
  }

  /** Sends a request for clusters. */
  send(stream: ClientHttp2Stream, request: Partial<DiscoveryRequest>): void {
    const message = DiscoveryRequest.create({ typeUrl: CDS, ...request });
    stream.write(frame(DiscoveryRequest.encode(message).finish()));
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.good.close();
    this.scene.stop();
  }
}

/** A message as gRPC frames it. */
function frame(message: Uint8Array): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}
