import { Client, credentials, Server } from '@grpc/grpc-js';
import type { ClientDuplexStream, ServerDuplexStream } from '@grpc/grpc-js';
import { bytesCodec } from '../support/bytes-codec';
import { bind } from '../support/listen';

const PATH = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const same = (bytes: Buffer) => bytes;

/** An agent before a control plane: it hands on each stream, except the first ones, which it ends as if another process had connected. */
export class DisplacingAgent {
  /** The streams that were opened. */
  streams = 0;
  private readonly server = new Server();
  private readonly upstream: Client;

  private constructor(
    upstream: string,
    private readonly displaced: number,
  ) {
    this.upstream = new Client(upstream, credentials.createInsecure());
    this.server.addService(
      {
        ads: {
          path: PATH,
          requestStream: true,
          responseStream: true,
          ...bytesCodec,
        },
      },
      { ads: (call: ServerDuplexStream<Buffer, Buffer>) => this.serve(call) },
    );
  }

  /** @param displaced How many streams are ended with the first request. */
  static async start(
    upstream: string,
    displaced: number,
  ): Promise<DisplacingAgent & { readonly address: string }> {
    const agent = new DisplacingAgent(upstream, displaced);
    return Object.assign(agent, { address: `127.0.0.1:${await bind(agent.server)}` });
  }

  stop(): void {
    this.server.forceShutdown();
    this.upstream.close();
  }

  private serve(call: ServerDuplexStream<Buffer, Buffer>): void {
    call.on('error', () => {});
    if (++this.streams <= this.displaced) {
      call.once('data', () => call.end());
      return;
    }
    const above: ClientDuplexStream<Buffer, Buffer> = this.upstream.makeBidiStreamRequest(
      PATH,
      same,
      same,
    );
    above.on('error', () => {});
    above.on('data', (bytes: Buffer) => call.write(bytes));
    call.on('data', (bytes: Buffer) => above.write(bytes));
    call.on('close', () => above.cancel());
    call.on('cancelled', () => above.cancel());
  }
}
