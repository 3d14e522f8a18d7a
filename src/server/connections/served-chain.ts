import type { Socket } from 'node:net';
import {
  Status,
  type ConnectionInjector,
  type ServerCredentials,
  type ServerInterceptor,
} from '../../grpc-js';
import { CallerDetails, type Refusal } from '../../authorization/refusal';
import type { Judgement, ServerRequest } from '../../http-filters/server-filter';
import type { FilterChain } from '../../resources/listener/listener';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { DownstreamTls } from '../../resources/tls/tls';
import type { ServerClient } from '../../runtime/server-client';
import { errorMessage } from '../../util/errors';
import type { Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import type { SessionLimits } from '../../util/session-limits';
import { TlsHandshakes } from '../../util/tls-handshakes';
import { failureCauseOf } from '../credentials/server-handshakes';
import { ServerTlsCredentials } from '../credentials/server-tls-credentials';
import { labelOf } from '../observation/describe-chain';
import type { ReadRequest } from '../observation/recent-calls';
import type { ServerEvents } from '../observation/server-events';
import { ServerRouteTable } from '../routes/server-route-table';

/** Creates what serves the calls of one connection by the handlers of a server, after these interceptors. */
export type CreateInjector = (interceptors: ServerInterceptor[]) => ConnectionInjector;

/** What the filter chains and connections of an address have in common. */
export interface ServerEnvironment {
  readonly client: ServerClient;
  readonly createInjector: CreateInjector;
  readonly sessions: Pick<SessionLimits, 'inject'>;
  /** The credentials of the application: their interceptors are called after the judgement. */
  readonly credentials: ServerCredentials;
  /** Those for chains without TLS; `undefined` if `credentials` are for all chains. */
  readonly fallback: ServerCredentials | undefined;
  /** Whether Node.js traces the TLS protocol (`grpc-node.tls_enable_trace`). */
  readonly enableTrace: boolean;
  /** The management server and the node, for the reasons of refusals. */
  readonly origin: string;
  /** Begins the messages of the log; ends in a space. */
  readonly subject: string;
  readonly events: ServerEvents;
}

/** The cause of handshakes that end because the server has no certificate yet. */
const NOT_LOADED = 'NOT_LOADED';
const NO_ROUTES = 'its routes have not been received';
const REPLACED = 'the listener of its connection has been replaced';

/** A filter chain in use: secures the connections that match it, and judges their requests by the routes as of now. */
export class ServedChain {
  /** Whether its connections are secured. */
  readonly isSecure: boolean;
  /** `undefined` once there is no connection left that may need them. */
  private credentials: ServerCredentials | undefined;
  /** Made for the first connection. */
  private handshakes: TlsHandshakes | undefined;
  private routes: Result<ServerRouteTable, string> = err(NO_ROUTES);
  private readonly label: string;
  /** Keeps what its filters share: over updates, as the next version of it begins before this one ends. */
  private readonly retained: Handle;

  constructor(
    chain: FilterChain,
    readonly environment: ServerEnvironment,
  ) {
    this.label = labelOf(chain);
    this.credentials = credentialsOf(chain.tls, environment);
    this.isSecure = this.credentials._isSecure();
    const { httpFilters } = chain.httpConnectionManager;
    this.retained = environment.client.httpFilters.retain(httpFilters.map(({ config }) => config));
  }

  /** Why it has no routes, so that its calls fail; `undefined` if it has. */
  get routeFailure(): string | undefined {
    return this.routes.ok ? undefined : this.routes.error;
  }

  /** Replaces the routes, or says why there are none. */
  use(routes: Result<RouteConfigResource, string>, chain: FilterChain): void {
    if (!routes.ok) {
      this.routes = routes;
      return;
    }
    const routeConfig = routes.value;
    const { httpFilters } = chain.httpConnectionManager;
    const { client, origin, events } = this.environment;
    const { httpFilters: registry, random, meter } = client;
    const table = new ServerRouteTable({
      routeConfig,
      httpFilters,
      registry,
      origin,
      random,
      meter,
    });
    events.onRoutes(`${this.label}\n${routeConfig.name}`, table);
    this.routes = ok(table);
  }

  /** Judges a request. Does not throw or reject. */
  judge(request: ServerRequest): Judgement {
    const { routes } = this;
    const judgement = routes.ok ? routes.value.judge(request) : withoutRoutes(routes.error);
    if (judgement instanceof Promise) {
      return judgement.then((refusal) => this.report(request, refusal));
    }
    this.environment.events.onJudged(this.label, request, judgement);
    return judgement;
  }

  /** Reports what is decided about a request, and returns it. @param request With its path only if nothing else of it is read. */
  report<T extends Refusal | undefined>(request: ReadRequest, refusal: T): T {
    this.environment.events.onJudged(this.label, request, refusal);
    return refusal;
  }

  /** Releases what handshakes and calls need. There must be no connection left that may have calls. */
  close(): void {
    this.handshakes?.close();
    this.handshakes = undefined;
    this.credentials = undefined;
    this.routes = err(REPLACED);
    this.retained.release();
  }

  /** @param open Called with the connection as calls use it: after its handshake, if it has one. */
  secure(socket: Socket, open: (stream: Socket) => void): void {
    const { credentials } = this;
    if (credentials === undefined) {
      socket.destroy();
    } else if (this.isSecure) {
      this.handshakes ??= this.createHandshakes(credentials);
      this.handshakes.begin(socket, (secured) => {
        this.environment.events.onHandshake(undefined, secured.isSessionReused());
        open(secured);
      });
    } else {
      open(socket);
    }
  }

  private createHandshakes(credentials: ServerCredentials): TlsHandshakes {
    const { subject, enableTrace, client, events } = this.environment;
    // These report handshakes that fail themselves, because they know more causes than Node.js.
    const own = credentials instanceof ServerTlsCredentials ? credentials : undefined;
    const handler = {
      onBadCertificates: (error: unknown) =>
        client.logger.error(() => `${subject}certificates cannot be used: ${errorMessage(error)}`),
      onFailed: (error: Error) => {
        const cause = own === undefined ? failureCauseOf(error) : undefined;
        if (cause !== undefined) events.onHandshake(cause);
      },
      onNoCertificates: () => events.onHandshake(NOT_LOADED),
    };
    const handshakes = new TlsHandshakes(credentials, handler, { enableTrace });
    own?.watchFailures(handshakes.server);
    handshakes.open();
    return handshakes;
  }
}

function withoutRoutes(reason: string): Refusal {
  return { code: Status.UNAVAILABLE, details: CallerDetails.NO_ROUTES, reason };
}

function credentialsOf(
  tls: DownstreamTls | undefined,
  { credentials, fallback, client, events }: ServerEnvironment,
): ServerCredentials {
  const { certificates, clock } = client;
  if (fallback === undefined) return credentials;
  if (tls === undefined) return fallback;
  return new ServerTlsCredentials({ tls, certificates, clock, log: events.handshakeLog });
}
