import {
  ClientStatusDiscoveryServiceDefinition,
  ClientStatusRequest,
  ClientStatusResponse,
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
import { describeClient, type ObservedClient } from './client-config';

type FetchCall = ServerUnaryCall<ClientStatusRequest, ClientStatusResponse>;
type StreamCall = ServerDuplexStream<ClientStatusRequest, ClientStatusResponse>;

const { fullName, methods } = ClientStatusDiscoveryServiceDefinition;

const serialization = {
  requestSerialize: (message: ClientStatusRequest) =>
    asBuffer(ClientStatusRequest.encode(message).finish()),
  requestDeserialize: (bytes: Buffer) => ClientStatusRequest.decode(bytes),
  responseSerialize: (message: ClientStatusResponse) =>
    asBuffer(ClientStatusResponse.encode(message).finish()),
  responseDeserialize: (bytes: Buffer) => ClientStatusResponse.decode(bytes),
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

/** Looks at every client there is. None is fine. */
export type ObserveClients = () => readonly ObservedClient[];

/**
 * Answers with what the clients of this process know at the time of each request.
 */
export function createCsdsHandlers(observeClients: ObserveClients): ServiceHandlers {
  const answer = ({ excludeResourceContents: excludeContents }: ClientStatusRequest) => ({
    config: observeClients().map((client) => describeClient(client, { excludeContents })),
  });
  return {
    FetchClientStatus: (
      { request }: FetchCall,
      callback: UnaryCallback<ClientStatusResponse>,
    ): void => {
      if (request.nodeMatchers.length > 0) callback(UNSUPPORTED);
      else callback(null, answer(request));
    },
    StreamClientStatus: (call: StreamCall): void => answerEach(call, answer),
  };
}

/** One answer per request, at the pace at which the asker reads them: each may be large. */
function answerEach(
  call: StreamCall,
  answer: (request: ClientStatusRequest) => ClientStatusResponse,
): void {
  let isOver = false;
  call.on('data', (request: ClientStatusRequest) => {
    if (isOver) return;
    if (request.nodeMatchers.length > 0) {
      isOver = true;
      call.emit('error', UNSUPPORTED);
    } else if (!call.write(answer(request))) call.pause();
  });
  call.on('drain', () => call.resume());
  call.on('end', () => call.end());
}
