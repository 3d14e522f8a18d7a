// A route lookup service for tests, on this machine.

import type { status } from '@grpc/grpc-js';
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import {
  RouteLookupRequest,
  RouteLookupResponse,
} from '../../src/wire/generated/grpc/lookup/v1/rls';
import { bind } from './listen';

/** The answer to a request: a response, encoded or not, or the status of a failure. */
export type LookupAnswer =
  | { readonly targets: readonly string[]; readonly headerData?: string }
  | { readonly code: status; readonly details?: string }
  | Buffer
  | 'never';

/** Answers lookups as the test says, and records them. */
export class LookupServer {
  port = 0;
  readonly requests: RouteLookupRequest[] = [];
  /** The `:authority` and the headers of the last request. */
  authority = '';
  metadata = new Metadata();
  /** Answers a request. Default: with the value of the key `to` as target. */
  answer: (request: RouteLookupRequest) => LookupAnswer = ({ keyMap }) => ({
    targets: [keyMap.get('to') ?? ''],
  });
  private server: Server | undefined;

  constructor(private readonly credentials = ServerCredentials.createInsecure()) {}

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get keys(): readonly object[] {
    return this.requests.map(({ keyMap }) => Object.fromEntries(keyMap));
  }

  async start(): Promise<this> {
    const server = new Server();
    server.addService(
      {
        lookup: {
          path: '/grpc.lookup.v1.RouteLookupService/RouteLookup',
          requestStream: false,
          responseStream: false,
          requestSerialize: (value: RouteLookupRequest) =>
            Buffer.from(RouteLookupRequest.encode(value).finish()),
          requestDeserialize: (bytes: Buffer) => RouteLookupRequest.decode(bytes),
          responseSerialize: (value: Buffer) => value,
          responseDeserialize: (value: Buffer) => value,
        },
      },
      {
        lookup: (
          call: {
            readonly request: RouteLookupRequest;
            readonly metadata: Metadata;
            getHost(): string;
          },
          callback: (error: { code: status; details?: string } | null, answer?: Buffer) => void,
        ): void => {
          this.requests.push(call.request);
          this.authority = call.getHost();
          this.metadata = call.metadata;
          const answer = this.answer(call.request);
          if (answer === 'never') return;
          if (Buffer.isBuffer(answer)) callback(null, answer);
          else if ('code' in answer) callback(answer);
          else callback(null, Buffer.from(encodeResponse(answer.targets, answer.headerData)));
        },
      },
    );
    this.port = await bind(server, this.credentials, `127.0.0.1:${this.port}`);
    this.server = server;
    return this;
  }

  stop(): void {
    this.server?.forceShutdown();
    this.server = undefined;
  }
}

function encodeResponse(targets: readonly string[], headerData = ''): Uint8Array {
  return RouteLookupResponse.encode({ targets: [...targets], headerData }).finish();
}
