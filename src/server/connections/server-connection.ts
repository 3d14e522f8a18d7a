import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { ConnectionInjector, Metadata, ServerInterceptor } from '../../grpc-js';
import {
  InterceptedRequest,
  requestConnection,
  type RequestConnection,
} from '../../http-filters/rbac/intercepted-request';
import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { Refusal } from '../../http-filters/server-filter';
import { tlsConnectionOf } from '../../security/peer/tls-connections';
import { JudgedCall, type CallJudge } from './judged-call';

/** Creates what serves the calls of one connection by the handlers of a server, after these interceptors. */
export type CreateInjector = (interceptors: ServerInterceptor[]) => ConnectionInjector;

/** What a connection belongs to. */
export interface ConnectionOwner {
  readonly createInjector: CreateInjector;
  /** The interceptors of the credentials, which are called after the judgement. */
  readonly interceptors: readonly ServerInterceptor[];
  /** Judges a request. @returns the status with which it ends; `undefined` if it is passed on. Does not throw. */
  judge(request: AuthorizationRequest): Refusal | undefined;
  /** Returns the status of a request that cannot be read. @param error What was thrown. */
  refuse(error: unknown, path: string): Refusal;
}

type InterceptedCall = Parameters<ServerInterceptor>[1];

/**
 * A connection of a server, from its accept to its close. It has an injector of its own: that of several connections could only
 * drain all of them at once, and none whose handshake has not ended.
 */
export class ServerConnection implements CallJudge {
  private injector: ConnectionInjector | undefined;
  private isDraining = false;
  private known: RequestConnection | undefined;

  /** @param onClosed Called once. */
  constructor(
    private readonly socket: Socket,
    private readonly owner: ConnectionOwner,
    onClosed: (connection: ServerConnection) => void,
  ) {
    // It closes after an error, such as that of a client that resets it.
    socket.on('error', ignore);
    socket.once('close', () => {
      // grpc-js keeps an injector until it is destroyed.
      this.drain();
      onClosed(this);
    });
  }

  /** Serves calls. @param stream The socket itself, or that of TLS above it after the handshake. */
  open(stream: Duplex): void {
    const { owner } = this;
    const injector = owner.createInjector([
      ({ path }, call) => new JudgedCall(call, path, this),
      ...owner.interceptors,
    ]);
    injector.injectConnection(stream);
    // The handshake has ended after the begin of the drain: the client connects again, and no call fails.
    if (this.isDraining) injector.destroy();
    else this.injector = injector;
  }

  /** Accepts no more calls (GOAWAY), and closes when those that have begun have ended. */
  drain(): void {
    this.isDraining = true;
    this.injector?.destroy();
    this.injector = undefined;
  }

  /** Closes the connection, with its calls. */
  destroy(): void {
    this.socket.destroy();
  }

  judge(path: string, metadata: Metadata, call: InterceptedCall): Refusal | undefined {
    try {
      this.known ??= describe(call);
    } catch (error) {
      return this.owner.refuse(error, path);
    }
    return this.owner.judge(new InterceptedRequest(path, metadata, call, this.known));
  }
}

/** @throws Error if the names of the certificate cannot be read: a request must not be judged without them. */
function describe(call: InterceptedCall): RequestConnection {
  const tls = tlsConnectionOf(call);
  if (tls?.problem !== undefined) throw new Error(tls.problem);
  return requestConnection(call.getConnectionInfo(), tls);
}

function ignore(): void {}
