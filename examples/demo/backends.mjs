// Real gRPC servers that answer with their own name, and tell with each call how busy they are.
import grpc from '@grpc/grpc-js';
import { OrcaReporter } from 'grpc-xds/orca';

const same = (buffer) => buffer;

/** The one method of the demo service, for servers and clients. */
export const sayMethod = {
  path: '/demo.Shop/Say',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

/** A server that can be drained and started again on the same port. */
export class Backend {
  port = 0;
  #server;

  /** @param capacity Calls per second it could serve. */
  constructor(name, capacity) {
    this.name = name;
    this.capacity = capacity;
  }

  async start() {
    const { interceptor } = new OrcaReporter({
      measure: ({ queriesPerSecond }) => ({
        applicationUtilization: queriesPerSecond / this.capacity,
      }),
    });
    const server = new grpc.Server({ interceptors: [interceptor] });
    const answer = Buffer.from(this.name);
    server.addService({ say: sayMethod }, { say: (_call, callback) => callback(null, answer) });
    this.port = await new Promise((resolve, reject) => {
      const address = `127.0.0.1:${this.port}`;
      server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
  }

  /** Finishes the calls under way and closes every connection. */
  drain() {
    return new Promise((resolve) => this.#server.tryShutdown(resolve));
  }

  stop() {
    this.#server.forceShutdown();
  }
}
