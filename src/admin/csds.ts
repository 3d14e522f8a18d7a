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
import { resetCall } from '../grpc-js/host-internals';
import { asBuffer } from '../util/as-buffer';
import { systemClock, type Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import { StatusQueue, type ObserveClients } from './status-queue';

type FetchCall = ServerUnaryCall<ClientStatusRequest, Buffer>;
type StreamCall = ServerDuplexStream<ClientStatusRequest, Buffer>;

const { fullName, methods } = ClientStatusDiscoveryServiceDefinition;

const serialization = {
  requestSerialize: (message: ClientStatusRequest) =>
    asBuffer(ClientStatusRequest.encode(message).finish()),
  requestDeserialize: (bytes: Buffer) => ClientStatusRequest.decode(bytes),
  // Encoded in slices by StatusQueue, and shared by callers.
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
  const queue = new StatusQueue(observeClients, clock);
  return {
    FetchClientStatus: (call: FetchCall, callback: UnaryCallback<Buffer>): void => {
      const { nodeMatchers, excludeResourceContents: excludeContents } = call.request;
      if (nodeMatchers.length > 0) {
        callback(UNSUPPORTED);
        return;
      }
      const request = queue.request(
        { excludeContents },
        {
          onResponse: (response) => callback(null, response),
          onRefused: (details) => callback(refusal(details)),
          onUnread: () => resetCall(call),
        },
      );
      // grpc-js emits it at the end of every call, also when the response has been written.
      call.on('cancelled', () => request.release());
    },
    StreamClientStatus: (call: StreamCall): void => answerEach(call, queue),
  };
}

/**
 * Answers the requests of a stream one after the other, at the pace at which the caller reads the responses: each
 * may be large. A paused call emits neither further requests nor its end.
 */
function answerEach(call: StreamCall, queue: StatusQueue): void {
  let isOver = false;
  let request: Handle | undefined;
  const fail = (status: typeof UNSUPPORTED) => {
    isOver = true;
    call.emit('error', status);
  };
  call.on('data', ({ nodeMatchers, excludeResourceContents }: ClientStatusRequest) => {
    if (isOver) return;
    if (nodeMatchers.length > 0) {
      fail(UNSUPPORTED);
      return;
    }
    call.pause();
    request = queue.request(
      { excludeContents: excludeResourceContents },
      {
        onResponse: (response) =>
          call.write(response, () => {
            request?.release();
            call.resume();
          }),
        onRefused: (details) => fail(refusal(details)),
        onUnread: () => resetCall(call),
      },
    );
  });
  call.on('cancelled', () => request?.release());
  call.on('end', () => call.end());
}

function refusal(details: string): typeof UNSUPPORTED {
  return { code: Status.RESOURCE_EXHAUSTED, details: `xds: CSDS: ${details}` };
}
