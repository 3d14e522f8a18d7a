import {
  ClientStatusDiscoveryServiceDefinition,
  ClientStatusRequest,
} from '../generated/envoy/service/status/v3/csds';
import {
  Status,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
  type ServiceHandlers,
  type UnaryCallback,
} from '../grpc-js';
import { asBuffer } from '../util/as-buffer';
import { systemClock, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { StatusEncoder, type ObserveClients } from './status-encoder';

type FetchCall = ServerUnaryCall<ClientStatusRequest, Buffer>;
type StreamCall = ServerDuplexStream<ClientStatusRequest, Buffer>;

const { fullName, methods } = ClientStatusDiscoveryServiceDefinition;

const serialization = {
  requestSerialize: (message: ClientStatusRequest) =>
    asBuffer(ClientStatusRequest.encode(message).finish()),
  requestDeserialize: (bytes: Buffer) => ClientStatusRequest.decode(bytes),
  // Encoded by StatusEncoder, in slices.
  responseSerialize: (response: Buffer) => response,
  responseDeserialize: (bytes: Buffer) => bytes,
};

/** The client status discovery service (gRFC A40), as the host library wants it. */
export const csdsDefinition: ServiceDefinition = {
  StreamClientStatus: {
    path: `/${fullName}/${methods.streamClientStatus.name}`,
    requestStream: true,
    responseStream: true,
    ...serialization,
  },
  FetchClientStatus: {
    path: `/${fullName}/${methods.fetchClientStatus.name}`,
    requestStream: false,
    responseStream: false,
    ...serialization,
  },
};

const UNSUPPORTED = {
  code: Status.INVALID_ARGUMENT,
  details: 'node_matchers: not supported, must be empty',
};

/** Answers with the state of the clients of this process at the time of each request. */
export function createCsdsHandlers(
  observeClients: ObserveClients,
  clock: Clock = systemClock,
): ServiceHandlers {
  const encoder = new StatusEncoder(observeClients, clock);
  return {
    FetchClientStatus: (call: FetchCall, callback: UnaryCallback<Buffer>): void => {
      const { nodeMatchers, excludeResourceContents: excludeContents } = call.request;
      if (nodeMatchers.length > 0) {
        callback(UNSUPPORTED);
        return;
      }
      const encoding = encoder.encode({ excludeContents }, (response) => callback(null, response));
      call.on('cancelled', () => encoding.release());
    },
    StreamClientStatus: (call: StreamCall): void => answerEach(call, encoder),
  };
}

/**
 * Answers the requests of a stream one after the other, at the pace at which the caller reads the responses: each
 * may be large. A paused call emits neither further requests nor its end.
 */
function answerEach(call: StreamCall, encoder: StatusEncoder): void {
  let isOver = false;
  let encoding: Handle | undefined;
  call.on('data', ({ nodeMatchers, excludeResourceContents }: ClientStatusRequest) => {
    if (isOver) return;
    if (nodeMatchers.length > 0) {
      isOver = true;
      call.emit('error', UNSUPPORTED);
      return;
    }
    call.pause();
    const options = { excludeContents: excludeResourceContents };
    encoding = encoder.encode(options, (response) => {
      if (call.write(response)) call.resume();
    });
  });
  call.on('cancelled', () => encoding?.release());
  call.on('drain', () => call.resume());
  call.on('end', () => call.end());
}
