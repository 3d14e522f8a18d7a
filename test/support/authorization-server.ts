import { join } from 'node:path';
import {
  Server,
  type status,
  type Metadata,
  type sendUnaryData,
  type ServerCredentials,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { officialMessage } from '../protos/official-schema';
import { bind } from './listen';
import type { Json } from './xds-json';
import { bytesCodec } from './bytes-codec';

const FILE = join('envoy', 'service', 'auth', 'v3', 'external_auth.proto');

/** What a server was asked. */
export interface Check {
  readonly request: Json;
  readonly metadata: Metadata;
  /** The address of the client: one per connection. */
  readonly peer: string;
  /** Milliseconds until its deadline, when it was received. */
  readonly timeoutMs: number;
  readonly isCancelled: () => boolean;
}

/** Answers with a response in the form of protobufjs, fails, or leaves it to the test, which calls it later. */
export type Answer = (check: Check) => Json | { readonly code: status } | Promise<Json>;

/** An authorization server with the official schema. */
export class AuthorizationServer {
  readonly checks: Check[] = [];
  /** Default: allows all calls. */
  answer: Answer = () => ({});
  port = 0;
  /** The checks that wait for their answer. */
  readonly waiting = new Set<Check>();
  private server: Server | undefined;
  private readonly request = officialMessage(FILE, 'envoy.service.auth.v3.CheckRequest');
  private readonly response = officialMessage(FILE, 'envoy.service.auth.v3.CheckResponse');

  /** @param credentials Default: insecure. */
  constructor(private readonly credentials?: ServerCredentials) {}

  static async start(credentials?: ServerCredentials): Promise<AuthorizationServer> {
    const server = new AuthorizationServer(credentials);
    await server.listen();
    return server;
  }

  get target(): string {
    return `dns:///127.0.0.1:${this.port}`;
  }

  async listen(): Promise<void> {
    const server = new Server();
    const check = {
      path: '/envoy.service.auth.v3.Authorization/Check',
      requestStream: false,
      responseStream: false,
      ...bytesCodec,
    } as const;
    server.addService(
      { check },
      {
        check: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
          void this.serve(call, callback),
      },
    );
    this.port = await bind(server, this.credentials, `127.0.0.1:${this.port}`);
    this.server = server;
  }

  /** Ends all connections. */
  stop(): void {
    this.server?.forceShutdown();
    this.server = undefined;
  }

  private async serve(
    call: ServerUnaryCall<Buffer, Buffer>,
    callback: sendUnaryData<Buffer>,
  ): Promise<void> {
    const { request, metadata } = call;
    const decoded = this.request.toObject(this.request.decode(request), { longs: String });
    const check = {
      request: decoded,
      metadata,
      peer: call.getPeer(),
      timeoutMs: Number(call.getDeadline()) - Date.now(),
      isCancelled: () => call.cancelled,
    };
    this.checks.push(check);
    this.waiting.add(check);
    call.on('cancelled', () => this.waiting.delete(check));
    const answer = await this.answer(check);
    if (call.cancelled) return;
    this.waiting.delete(check);
    if ('code' in answer) callback({ code: Number(answer['code']) });
    else
      callback(null, Buffer.from(this.response.encode(this.response.fromObject(answer)).finish()));
  }
}

/** An `ExtAuthz` for a server without TLS. */
export function extAuthzJson(target: string, extra: Json = {}, serviceExtra: Json = {}): Json {
  const insecure =
    'type.googleapis.com/envoy.extensions.grpc_service.channel_credentials.insecure.v3.InsecureCredentials';
  return {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz',
    grpc_service: {
      google_grpc: { target_uri: target, channel_credentials_plugin: [{ '@type': insecure }] },
      ...serviceExtra,
    },
    ...extra,
  };
}
