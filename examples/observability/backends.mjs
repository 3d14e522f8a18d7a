// Real gRPC servers on loopback that report their load with each call.
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { OrcaReporter } from 'grpc-xds/orca';

const same = (buffer) => buffer;

const method = (path) => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});

/** The service of all backends, for servers and clients. */
export const shopService = {
  browse: method('/demo.Shop/Browse'),
  buy: method('/demo.Shop/Buy'),
};

const CAPACITY = 100;
/** Milliseconds, used in turn. */
const DELAYS = [1, 2, 2, 3, 5, 8, 15, 40];

/** A server that can be stopped and started again on the same port. */
export class Backend {
  port = 0;
  /** Whether three of four calls fail with UNAVAILABLE. */
  isFailing = false;
  #server;
  #calls = 0;

  constructor(name) {
    this.name = name;
  }

  async start() {
    const { interceptor } = new OrcaReporter({
      measure: ({ queriesPerSecond }) => ({ applicationUtilization: queriesPerSecond / CAPACITY }),
    });
    const server = new Server({ interceptors: [interceptor] });
    const answer = (_call, callback) => this.#answer(callback);
    server.addService(shopService, { browse: answer, buy: answer });
    const credentials = ServerCredentials.createInsecure();
    this.port = await new Promise((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${this.port}`, credentials, (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
  }

  stop() {
    this.#server.forceShutdown();
  }

  #answer(callback) {
    const count = this.#calls++;
    if (this.isFailing && count % 4 !== 0) {
      callback({ code: status.UNAVAILABLE, details: `${this.name} has a bad release` });
      return;
    }
    setTimeout(() => callback(null, Buffer.from(this.name)), DELAYS[count % DELAYS.length]);
  }
}
