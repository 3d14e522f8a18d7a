import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';

/** A stream of a client, as bytes. */
export type RawCall = ServerDuplexStream<Buffer, Buffer>;

/** The discovery services, each with the suffix of its two methods. */
const services = [
  ['discovery.v3.AggregatedDiscoveryService', 'AggregatedResources'],
  ['listener.v3.ListenerDiscoveryService', 'Listeners'],
  ['route.v3.RouteDiscoveryService', 'Routes'],
  ['cluster.v3.ClusterDiscoveryService', 'Clusters'],
  ['endpoint.v3.EndpointDiscoveryService', 'Endpoints'],
] as const;

const same = (bytes: Buffer) => bytes;

/** A gRPC server of all discovery services that leaves the messages as they are. Without authentication. */
export class RawAdsServer {
  private readonly server = new Server({ 'grpc.max_send_message_length': -1 });

  /** @param onStream Receives each stream, with the path of its method. */
  constructor(onStream: (method: string, call: RawCall) => void) {
    for (const [service, suffix] of services) {
      for (const name of [`Stream${suffix}`, `Delta${suffix}`]) {
        const path = `/envoy.service.${service}/${name}`;
        const codec = {
          ...{ requestSerialize: same, requestDeserialize: same },
          ...{ responseSerialize: same, responseDeserialize: same },
        };
        this.server.addService(
          { [name]: { path, requestStream: true, responseStream: true, ...codec } },
          { [name]: (call: RawCall) => onStream(path, call) },
        );
      }
    }
  }

  /** Starts to listen. @returns the port. @throws the system's error if the address cannot be used. */
  listen(host: string, port: number): Promise<number> {
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    return new Promise((resolve, reject) => {
      this.server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
  }

  /** Ends all streams. */
  close(): void {
    this.server.forceShutdown();
  }
}
