// How one service calls another.
import grpc from '@grpc/grpc-js';
import { createXdsChannelCredentials } from 'grpc-xds';

const same = (buffer) => buffer;

/** The only method. */
export const ask = {
  path: '/demo.Shop/Ask',
  requestStream: false,
  responseStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

const DEADLINE_MS = 10_000;

/** A client of a service, as each process that calls it has one. */
export class ServiceClient {
  #client;

  constructor(service) {
    const credentials = createXdsChannelCredentials(grpc.credentials.createInsecure());
    this.#client = new grpc.Client(`xds:///${service}`, credentials);
  }

  /** Makes a call. @returns a promise that is rejected with the status if it fails. */
  call() {
    const { path, requestSerialize, responseDeserialize } = ask;
    const options = { deadline: Date.now() + DEADLINE_MS };
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        Buffer.alloc(0),
        options,
        (error) => (error ? reject(error) : resolve()),
      );
    });
  }

  close() {
    this.#client.close();
  }
}
