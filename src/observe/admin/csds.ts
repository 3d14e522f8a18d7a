import {
  ClientStatusDiscoveryServiceDefinition,
  ClientStatusRequest,
} from '../../wire/generated/envoy/service/status/v3/csds';
import {
  Status,
  type Server,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceDefinition,
  type ServiceHandlers,
  type UnaryCallback,
} from '../../grpc-js';
import { containedCallback } from '../../grpc-js/host-callbacks';
import { resetCall } from '../../grpc-js/host-internals';
import {
  containedHandler,
  containedUnaryHandler,
  onCallEvent,
} from '../../grpc-js/server-callbacks';
import { asBuffer } from '../../util/bytes';
import { systemClock, type Clock } from '../../util/clock';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import { REQUEST_LIMIT } from '../../util/limits';
import { ReadBudget } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import { StatusQueue, type DescriptionOptions, type ObserveClients } from './status-queue';

/** For exceptions. */
const PLACE = 'the client status discovery service';

/** A request, or why it is not one that is answered. */
type Request = Result<DescriptionOptions, string>;
type FetchCall = ServerUnaryCall<Request, Buffer>;
type StreamCall = ServerDuplexStream<Request, Buffer>;

const { fullName, methods } = ClientStatusDiscoveryServiceDefinition;

const serialization = {
  requestSerialize: (message: ClientStatusRequest) =>
    asBuffer(ClientStatusRequest.encode(message).finish()),
  requestDeserialize: readRequest,
  // Encoded in slices by StatusQueue, and shared by callers.
  responseSerialize: (response: Buffer) => response,
  responseDeserialize: (bytes: Buffer) => bytes,
};

/** The client status discovery service (gRFC A40), in the form of grpc-js. */
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

function readRequest(bytes: Buffer): Request {
  try {
    const budget = new ReadBudget(REQUEST_LIMIT);
    const request = ClientStatusRequest.decode(bytes, undefined, budget);
    return request.nodeMatchers.length === 0
      ? ok({ excludeContents: request.excludeResourceContents })
      : err('node_matchers: not supported, must be empty');
  } catch (error) {
    return err(`cannot be read: ${errorMessage(error)}`);
  }
}

/** The status of a call that is not answered. */
interface Failure {
  readonly code: Status;
  readonly details: string;
}

/** Adds the service to a server. */
export function addStatusService(
  server: Pick<Server, 'addService'>,
  observeClients: ObserveClients,
  clock: Clock,
): void {
  server.addService(csdsDefinition, createCsdsHandlers(observeClients, clock));
}

/** Answers with the state of the clients of this process at the time of each request. */
export function createCsdsHandlers(
  observeClients: ObserveClients,
  clock: Clock = systemClock,
): ServiceHandlers {
  const queue = new StatusQueue(observeClients, clock);
  return {
    FetchClientStatus: containedUnaryHandler(
      PLACE,
      (call: FetchCall, callback: UnaryCallback<Buffer>): void => {
        if (!call.request.ok) {
          callback(invalid(call.request.error));
          return;
        }
        const request = queue.request(call.request.value, {
          onResponse: (response) => callback(null, response),
          onRefused: (details) => callback(refusal(details)),
          onUnread: () => resetCall(call),
        });
        // grpc-js emits it at the end of every call, also when the response has been written.
        onCallEvent(PLACE, call, 'cancelled', () => request.release());
      },
    ),
    StreamClientStatus: containedHandler(PLACE, (call: StreamCall) => answerEach(call, queue)),
  };
}

/**
 * Answers the requests of a stream one after the other, at the pace at which the caller reads the responses: each
 * may be large. A paused call emits neither further requests nor its end.
 */
function answerEach(call: StreamCall, queue: StatusQueue): void {
  let isOver = false;
  let request: Handle | undefined;
  const fail = (status: Failure) => {
    isOver = true;
    call.emit('error', status);
  };
  onCallEvent(PLACE, call, 'data', (received: Request) => {
    if (isOver) return;
    if (!received.ok) {
      fail(invalid(received.error));
      return;
    }
    call.pause();
    request = queue.request(received.value, {
      onResponse: (response) => {
        const onWritten = containedCallback(PLACE, () => {
          request?.release();
          call.resume();
        });
        call.write(response, onWritten);
      },
      onRefused: (details) => fail(refusal(details)),
      onUnread: () => resetCall(call),
    });
  });
  onCallEvent(PLACE, call, 'cancelled', () => request?.release());
  onCallEvent(PLACE, call, 'end', () => call.end());
}

function invalid(details: string): Failure {
  return { code: Status.INVALID_ARGUMENT, details };
}

function refusal(details: string): Failure {
  return { code: Status.RESOURCE_EXHAUSTED, details: `xds: CSDS: ${details}` };
}
