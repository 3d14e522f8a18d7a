import { Client, credentials, status, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { completeStatus, containedCallback } from 'grpc-xds/internal';
import { describeDuration } from '../../../../src/util/duration';
import { RELAY_INSPECT_PATH } from '../../../../src/util/relay-names';
import { err, ok, type Result } from '../../../../src/util/result';
import {
  ClientStatusDiscoveryServiceDefinition,
  ClientStatusRequest,
  ClientStatusResponse,
} from '../../../../src/wire/generated/envoy/service/status/v3/csds';

/** A response may have all resources of a mesh. */
const MAX_RESPONSE_BYTES = 512 * 1024 * 1024;

const { fullName, methods } = ClientStatusDiscoveryServiceDefinition;

/** A method of an admin service. */
export interface AdminMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

const FETCH_STATUS: AdminMethod<ClientStatusRequest, ClientStatusResponse> = {
  path: `/${fullName}/${methods.fetchClientStatus.name}`,
  requestSerialize: (request) => Buffer.from(ClientStatusRequest.encode(request).finish()),
  responseDeserialize: (bytes) => ClientStatusResponse.decode(bytes),
};

const INSPECT_RELAY: AdminMethod<undefined, string> = {
  path: RELAY_INSPECT_PATH,
  requestSerialize: () => Buffer.alloc(0),
  responseDeserialize: (bytes) => bytes.toString('utf8'),
};

/** Why a call has no response. */
export interface AdminFailure {
  readonly code: status | undefined;
  /** Says what to do. */
  readonly text: string;
}

/** For exceptions. */
const PLACE = 'the answer of an admin service';

/** Calls the admin services of a process, in plain text. */
export class AdminClient {
  private readonly client: Client;
  /** Of all calls together. */
  private readonly deadline: number;

  /** @param name What errors call the address. */
  constructor(
    address: string,
    private readonly timeoutMs: number,
    private readonly name = `--admin ${address}`,
  ) {
    this.deadline = Date.now() + timeoutMs;
    this.client = new Client(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_RESPONSE_BYTES,
    });
  }

  /** Fetches the state of the xDS clients of the process over CSDS (gRFC A40). @returns it, or why there is none. */
  fetchStatus(): Promise<Result<ClientStatusResponse, AdminFailure>> {
    return this.call(FETCH_STATUS, ClientStatusRequest.create());
  }

  /** Fetches the report of a relay, in JSON. @returns it, or why there is none. */
  inspectRelay(): Promise<Result<string, AdminFailure>> {
    return this.call(INSPECT_RELAY, undefined);
  }

  /** Calls a method. @returns the response, or why there is none. */
  call<Request, Response>(
    { path, requestSerialize, responseDeserialize }: AdminMethod<Request, Response>,
    request: Request,
  ): Promise<Result<Response, AdminFailure>> {
    return new Promise((resolve) => {
      this.client.makeUnaryRequest<Request, Response>(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        { deadline: this.deadline },
        containedCallback(PLACE, (error: ServiceError | null, response?: Response) => {
          if (error === null && response !== undefined) resolve(ok(response));
          else resolve(err(this.failureOf(error && completeStatus(error))));
        }),
      );
    });
  }

  close(): void {
    this.client.close();
  }

  private failureOf(ended: StatusObject | null): AdminFailure {
    const text = `${this.name}: ${this.describeFailure(ended)}`;
    return { code: ended?.code, text };
  }

  /** Describes why there are no admin services at the address, and what to do. */
  private describeFailure(error: StatusObject | null): string {
    switch (error?.code) {
      case status.UNAVAILABLE:
        return `cannot be reached: ${withoutEmptyNote(error.details)}; check the address, and that the process runs`;
      case status.UNIMPLEMENTED:
        return 'a gRPC server without admin services; add them with addAdminServicesToServer(server)';
      case status.DEADLINE_EXCEEDED:
        return `no response within ${describeDuration(this.timeoutMs)}; check the address, or raise --timeout`;
      default:
        return withoutEmptyNote(error?.details ?? 'no response');
    }
  }
}

/** grpc-js ends its message with a note about the resolution of the name, which may be empty. */
function withoutEmptyNote(details: string): string {
  const [text = '', note = ''] = details.split('Resolution note:', 2);
  return note.trim() === '' ? text.trimEnd().replace(/\.$/, '') : details;
}
