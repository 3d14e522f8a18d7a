import type { Socket } from 'node:net';
import { Status, type ServerCredentials, type ServerInterceptor } from '../../grpc-js';
import { CallerDetails } from '../../http-filters/caller-details';
import { DENIED } from '../../http-filters/rbac/rbac-filter';
import type { AuthorizationRequest } from '../../http-filters/rbac/request';
import type { Refusal } from '../../http-filters/server-filter';
import { errorStack } from '../../util/errors';
import type { ConnectionEnds } from '../../util/connection-ends';
import { err, type Result } from '../../util/result';
import { quoteText } from '../../util/text';
import { processServers } from '../../observe/admin/process-servers';
import type { Refusals } from '../observation/refusals';
import type { CallCounts } from '../observation/server-counts';
import type { ServerRouteTable } from '../routes/server-route-table';
import type { RefusedRequest } from './refusal-log';
import {
  ServerConnection,
  type ConnectionClock,
  type ConnectionOwner,
  type ConnectionWatcher,
  type CreateInjector,
  type ServerLimits,
} from './server-connection';
import { TlsAcceptor, type TlsAcceptorOptions } from './tls-acceptor';

/** Constructor options of a chain. */
export interface ServedChainOptions {
  readonly credentials: ServerCredentials;
  /** Called after the judgement of a request. */
  readonly interceptors: readonly ServerInterceptor[];
  readonly createInjector: CreateInjector;
  readonly limits: ServerLimits;
  readonly tls: Omit<TlsAcceptorOptions, 'credentials'>;
  readonly refusals: Refusals;
  readonly calls: CallCounts;
  /** Called with each judged request while a live page is served. */
  readonly onJudged: (request: RefusedRequest, refusal: Refusal | undefined) => void;
  readonly clock: ConnectionClock;
}

/** Characters of a method of HTTP in the log. */
const MAX_METHOD_LENGTH = 20;

const NO_ROUTES = 'its routes have not been received';
const REPLACED = 'the listener of its connection has been replaced';

/** A filter chain of a generation: accepts connections, and judges their requests by the routes as of now. */
export class ServedChain implements ConnectionOwner {
  readonly createInjector: CreateInjector;
  readonly sessions: ServerLimits['sessions'];
  readonly interceptors: readonly ServerInterceptor[];
  readonly calls: CallCounts;
  readonly clock: ConnectionClock;
  private readonly options: Omit<ServedChainOptions, 'credentials'>;
  private routes: Result<ServerRouteTable, string> = err(NO_ROUTES);
  private acceptor: TlsAcceptor | undefined;
  private credentials: ServerCredentials | undefined;
  /** Whether its connections are secured. */
  readonly isSecure: boolean;

  constructor({ credentials, ...options }: ServedChainOptions) {
    this.credentials = credentials;
    this.isSecure = credentials._isSecure();
    this.options = options;
    this.createInjector = options.createInjector;
    this.sessions = options.limits.sessions;
    this.interceptors = options.interceptors;
    this.clock = options.clock;
    this.calls = options.calls;
  }

  /** Why it has no routes, so that its calls fail; `undefined` if it has. */
  get routeFailure(): string | undefined {
    return this.routes.ok ? undefined : this.routes.error;
  }

  /** Replaces the routes, or says why there are none. */
  use(routes: Result<ServerRouteTable, string>): void {
    this.routes = routes;
  }

  accept(socket: Socket, ends: ConnectionEnds, watcher: ConnectionWatcher): ServerConnection {
    const connection = new ServerConnection(socket, ends, this, watcher);
    this.options.limits.admission.admit(socket, (onProven, onSecured) =>
      this.begin(socket, (stream) => {
        onSecured();
        connection.open(stream, onProven);
      }),
    );
    return connection;
  }

  private begin(socket: Socket, open: (stream: Socket) => void): void {
    const { credentials } = this;
    if (credentials === undefined) {
      socket.destroy();
    } else if (this.isSecure) {
      this.acceptor ??= new TlsAcceptor({ ...this.options.tls, credentials });
      this.acceptor.accept(socket, open);
    } else {
      open(socket);
    }
  }

  judge(request: AuthorizationRequest): Refusal | undefined {
    const refusal = this.decide(request);
    if (refusal !== undefined) this.options.refusals.report(refusal, request);
    if (processServers.isCounting) this.options.onJudged(request, refusal);
    return refusal;
  }

  refuse(reason: string, path: string): Refusal {
    return this.refuseUnread(
      {
        code: Status.PERMISSION_DENIED,
        details: DENIED,
        reason: `it cannot be judged: ${reason}`,
        policy: undefined,
      },
      path,
    );
  }

  refuseMethod(method: string, path: string): Refusal {
    const details = CallerDetails.WRONG_METHOD;
    const reason = `${details}: its client has sent ${quoteText(method, MAX_METHOD_LENGTH)}`;
    return this.refuseUnread({ code: Status.INTERNAL, details, reason, policy: undefined }, path);
  }

  /** Reports the refusal of a request of which only the path is read. */
  private refuseUnread(refusal: Refusal, path: string): Refusal {
    this.options.refusals.report(refusal, { path });
    if (processServers.isCounting) this.options.onJudged({ path }, refusal);
    return refusal;
  }

  onFailed(error: unknown): void {
    const { subject, logger } = this.options.tls;
    logger.error(() => `${subject}a connection is closed: unexpected error: ${errorStack(error)}`);
  }

  /** Releases what handshakes and calls need. There must be no connection left that may have calls. */
  close(): void {
    this.acceptor?.close();
    this.acceptor = undefined;
    this.credentials = undefined;
    this.routes = err(REPLACED);
  }

  private decide(request: AuthorizationRequest): Refusal | undefined {
    const { routes } = this;
    if (routes.ok) return routes.value.judge(request);
    const reason = routes.error;
    const details = CallerDetails.NO_ROUTES;
    return { code: Status.UNAVAILABLE, details, reason, policy: undefined };
  }
}
