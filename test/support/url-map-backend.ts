import {
  Metadata,
  Server,
  type MethodDefinition,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import { bind } from './listen';
import { bytesCodec } from './bytes-codec';

// The server of gRPC's xDS interop tests, as far as tests need it.

/** The methods of `grpc.testing.TestService` that tests call. */
type Rpc = 'UnaryCall' | 'EmptyCall';

/** The path of a method. */
const pathOf = (rpc: Rpc): string => `/grpc.testing.TestService/${rpc}`;

/** A method whose messages are opaque bytes: no case looks at them. */
export const methodOf = (rpc: Rpc): MethodDefinition<Buffer, Buffer> => ({
  path: pathOf(rpc),
  requestStream: false,
  responseStream: false,
  ...bytesCodec,
});

/** What a call asks the server to do, by its `rpc-behavior` headers. */
export interface RpcPlan {
  readonly sleepMs: number;
  /** Whether to leave the call unanswered. */
  readonly keepOpen: boolean;
  /** The status to answer with. */
  readonly code: number;
}

/**
 * Reads `rpc-behavior`: a comma list of `sleep-N` (seconds), `keep-open`, `error-code-N` and
 * `succeed-on-retry-attempt-N`, each for one server alone if it begins with `hostname=X `.
 * A success by attempt ends the list.
 */
function planRpc(
  behaviors: readonly string[],
  hostname: string,
  previousAttempts: number,
): RpcPlan {
  const plan = { sleepMs: 0, keepOpen: false, code: 0 };
  for (const item of behaviors.flatMap((value) => value.split(','))) {
    const [, host = hostname, behavior = ''] = /^(?:hostname=(\S+) )?(.*)$/.exec(item.trim()) ?? [];
    if (host !== hostname) continue;
    const [, name, number = ''] = /^(.*?)(?:-(\d+))?$/.exec(behavior) ?? [];
    if (name === 'sleep') plan.sleepMs = Number(number) * 1000;
    else if (name === 'keep-open') plan.keepOpen = true;
    else if (name === 'error-code') plan.code = Number(number);
    else if (name !== 'succeed-on-retry-attempt') throw new Error(`Unknown behavior ${item}`);
    else if (Number(number) === previousAttempts) return plan;
  }
  return plan;
}

/** One attempt of a call, as the server saw it. */
export interface SeenAttempt {
  readonly rpc: Rpc;
  /** `grpc-previous-rpc-attempts`; 0 without it. */
  readonly previousAttempts: number;
  /** Milliseconds left when it came in; `Infinity` if it has no deadline. */
  readonly timeLeftMs: number;
}

type Call = ServerUnaryCall<Buffer, Buffer>;

/**
 * A real server that does what `rpc-behavior` says. An answer names the server in the header `hostname`, and in
 * `time-left-ms` the time until the deadline when the call came in.
 */
export class UrlMapBackend {
  /** Every attempt, in order of arrival. */
  readonly seen: SeenAttempt[] = [];

  private constructor(
    readonly hostname: string,
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(hostname: string): Promise<UrlMapBackend> {
    const server = new Server();
    const ready: { backend?: UrlMapBackend } = {};
    const serve = (rpc: Rpc) => (call: Call, callback: sendUnaryData<Buffer>) => {
      void ready.backend?.answer(rpc, call, callback);
    };
    server.addService(
      { UnaryCall: methodOf('UnaryCall'), EmptyCall: methodOf('EmptyCall') },
      { UnaryCall: serve('UnaryCall'), EmptyCall: serve('EmptyCall') },
    );
    const port = await bind(server);
    ready.backend = new UrlMapBackend(hostname, server, port);
    return ready.backend;
  }

  stop(): void {
    this.server.forceShutdown();
  }

  private async answer(rpc: Rpc, call: Call, callback: sendUnaryData<Buffer>): Promise<void> {
    const previousAttempts = Number(call.metadata.get('grpc-previous-rpc-attempts')[0] ?? 0);
    const timeLeftMs = Number(call.getDeadline()) - Date.now();
    this.seen.push({ rpc, previousAttempts, timeLeftMs });
    const behaviors = call.metadata.get('rpc-behavior').map(String);
    const plan = planRpc(behaviors, this.hostname, previousAttempts);
    if (plan.sleepMs > 0) await sleep(plan.sleepMs);
    if (plan.keepOpen || call.cancelled) return;
    if (plan.code !== 0) {
      // Without headers before, for they would rule out a retry.
      callback({ code: plan.code, details: 'as rpc-behavior says' });
      return;
    }
    const headers = new Metadata();
    headers.set('hostname', this.hostname);
    headers.set('time-left-ms', String(timeLeftMs));
    call.sendMetadata(headers);
    callback(null, Buffer.alloc(0));
  }
}
