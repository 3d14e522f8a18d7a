import {
  createServerCredentialsWithInterceptors,
  Metadata,
  Server,
  ServerCredentials,
  Status,
  type StatusObject,
} from '../grpc-js';
import { showListenSocket } from '../grpc-js/host-internals';
import { showRequestHeaders } from '../grpc-js/server-requests';
import { processStats } from '../observe/stats/stats-registry';
import { ConnectionAdmission } from '../util/connection-admission';
import { checkArgument, FUNCTION, MILLISECONDS } from '../util/check-arguments';
import { systemClock } from '../util/clock';
import { ClosedConnections } from '../util/closed-connections';
import { contained } from '../util/contained';
import { errorStack } from '../util/errors';
import { ok, type Result } from '../util/result';
import { SessionLimits } from '../util/session-limits';
import type { CreateInjector } from './connections/served-chain';
import { parseLiteralAddress, type LiteralAddress } from './literal-address';
import { serverLogger } from './credentials/process-certificates';
import { acquireClient } from './acquire-client';
import { ServedAddress, type DrainOptions, type ServedAddressOptions } from './served-address';
import { SERVER_CREDENTIALS } from './xds-server-credentials';
import {
  checkXdsServerOptions,
  type CheckedXdsOptions,
  type ServingState,
  type ServingStateListener,
  type XdsServerOptions,
} from './xds-server-options';
import { XdsError } from '../util/xds-error';

/** A listener of `addServingStateListener`: OK while an address is served, UNAVAILABLE with the reason while it is not. */
export type ServingStatusListener = (status: StatusObject) => void;

/** Connections are secured before they get to the server. */
const PLAIN = ServerCredentials.createInsecure();
/** Calls may take as long as they need. */
const PATIENT: DrainOptions = { graceMs: Infinity, jitterMs: 0 };

/**
 * A server of `@grpc/grpc-js` that the control plane configures (gRFCs A36, A39, A41): which connections are accepted and how
 * they are secured, and which calls are authorized. The server listens on an address only while there is a Listener for it.
 * Services, interceptors, health, reflection and admin services work as on every `Server`; interceptors are called for calls that
 * are authorized.
 *
 * @example
 * ```ts
 * import { ServerCredentials } from '@grpc/grpc-js';
 * import { XdsServer, XdsServerCredentials } from 'grpc-xds/server';
 *
 * const server = new XdsServer({
 *   onServingState: (address, state, error) => console.log(address, state, error?.message),
 * });
 * const credentials = new XdsServerCredentials(ServerCredentials.createInsecure());
 * server.bindAsync('0.0.0.0:50051', credentials, (error) => {
 *   if (error !== null) throw error;
 * });
 * ```
 */
export class XdsServer extends Server {
  private readonly xds: CheckedXdsOptions;
  private readonly enableTrace: boolean;
  /** The open addresses. */
  private readonly addresses = new Map<string, ServedAddress>();
  /** The addresses with open connections, including addresses that are no longer bound. */
  private readonly unended = new Set<ServedAddress>();
  private readonly statusListeners = new Map<string, Set<ServingStatusListener>>();
  private readonly onServingState: ServingStateListener | undefined;
  /** Called when nothing is left. */
  private readonly onAllEnded: (() => void)[] = [];
  private hasShutDown = false;
  private readonly limits: Pick<ServedAddressOptions, 'admission' | 'sessions'>;

  /** @throws XdsError if an option is unknown or invalid. */
  constructor(options: XdsServerOptions = {}) {
    const { own, ofHost } = checkXdsServerOptions(options);
    super(ofHost);
    this.xds = own;
    this.onServingState = own.onServingState && contained(own.onServingState, reportListener);
    this.enableTrace = ofHost['grpc-node.tls_enable_trace'] === 1;
    // First: the limits may let a call begin in a later turn, with the listeners that there are.
    showRequestHeaders(this);
    processStats.watchServer?.(this);
    const maxStreams = ofHost['grpc.max_concurrent_streams'];
    const closed = new ClosedConnections(systemClock, serverLogger);
    this.limits = {
      admission: new ConnectionAdmission(systemClock, closed),
      sessions: new SessionLimits(this, { maxStreams, clock: systemClock, closed }),
    };
  }

  /**
   * Serves an address as soon as the control plane has sent a Listener for it. Failures on the way, such as an unreachable
   * management server, are reported by `onServingState` and in the log; the server keeps trying.
   *
   * @param address An IP address and a port, such as `0.0.0.0:50051` or `[::]:50051`, which name the Listener.
   * @param credentials `XdsServerCredentials`, or others, which ignore the TLS that the control plane configures.
   * @param callback Called when the address is served for the first time, or with an error if that can never happen: there is no
   * bootstrap or template, or the address was unbound or the server shut down first.
   * @throws XdsError for any other address, and after a shutdown.
   */
  override bindAsync(
    address: string,
    credentials: ServerCredentials,
    callback: (error: Error | null, port: number) => void,
  ): void {
    if (this.hasShutDown)
      throw new XdsError('XDS_STATE_INVALID', 'bindAsync() called after shutdown');
    const literal = parseLiteralAddress('bindAsync()', address);
    checkArgument('bindAsync()', 'credentials', credentials, SERVER_CREDENTIALS);
    checkArgument('bindAsync()', 'callback', callback, FUNCTION);
    const bound = this.addresses.get(literal.text);
    if (bound?.credentials._equals(credentials) === false) {
      const error = new XdsError(
        'XDS_STATE_INVALID',
        `bindAsync(): ${literal.text} already bound with incompatible credentials`,
      );
      systemClock.soon(() => callback(error, 0));
      return;
    }
    const served = bound ? ok(bound) : this.serve(literal, credentials);
    if (served.ok) {
      served.value.whenServed(callback);
      return;
    }
    const message = `bindAsync(): ${literal.text}: ${served.error}`;
    systemClock.soon(() => callback(new XdsError('XDS_NOT_SERVED', message), 0));
  }

  /** Stops listening on an address. Its connections close when their calls have ended. Listeners of its state are not notified. */
  override unbind(address: string): void {
    const { text } = parseLiteralAddress('unbind()', address);
    this.addresses.get(text)?.close('unbound', PATIENT);
  }

  /**
   * Drains the open connections: they accept no more calls, and clients reconnect.
   *
   * @param address Default: all addresses.
   * @param graceTimeMs Milliseconds from the GOAWAY after which calls that have not ended are cancelled. Default: `drainGraceTimeMs`.
   */
  override drain(address?: string, graceTimeMs = this.xds.drainGraceTimeMs): void {
    checkArgument('drain()', 'graceTimeMs', graceTimeMs, MILLISECONDS);
    const text = address === undefined ? undefined : parseLiteralAddress('drain()', address).text;
    for (const [each, served] of this.addresses) {
      if (text === undefined || each === text) served.drain({ graceMs: graceTimeMs, jitterMs: 0 });
    }
  }

  /**
   * Stops listening, and waits for open calls, including the ones on drained connections. The XdsClient is released, so that the
   * process can end.
   */
  override tryShutdown(callback: (error?: Error) => void): void {
    checkArgument('tryShutdown()', 'callback', callback, FUNCTION);
    this.hasShutDown = true;
    this.onAllEnded.push(() => super.tryShutdown(callback));
    for (const served of this.unended) served.close('shut down', PATIENT);
    this.endIfUnused();
  }

  /** Stops listening, and closes all connections with their calls. */
  override forceShutdown(): void {
    this.hasShutDown = true;
    for (const served of this.unended) served.destroy('shut down');
    super.forceShutdown();
  }

  /**
   * Does nothing: a server need not be started.
   *
   * @deprecated As in grpc-js.
   */
  override start(): void {}

  /**
   * Adds a listener of the state of an address, as in `@grpc/grpc-js-xds`. Unlike it, `onServingState` of the constructor misses no change.
   */
  addServingStateListener(address: string, listener: ServingStatusListener): void {
    checkArgument('addServingStateListener()', 'listener', listener, FUNCTION);
    const { text } = parseLiteralAddress('addServingStateListener()', address);
    const listeners = this.statusListeners.get(text) ?? new Set();
    this.statusListeners.set(text, listeners.add(listener));
  }

  /** Removes a listener of the state of an address. */
  removeServingStateListener(address: string, listener: ServingStatusListener): void {
    checkArgument('removeServingStateListener()', 'listener', listener, FUNCTION);
    const { text } = parseLiteralAddress('removeServingStateListener()', address);
    this.statusListeners.get(text)?.delete(listener);
  }

  private serve(
    address: LiteralAddress,
    credentials: ServerCredentials,
  ): Result<ServedAddress, string> {
    const { drainGraceTimeMs: graceMs, drainJitterMs } = this.xds;
    const acquired = acquireClient(address, this.xds);
    if (!acquired.ok) return acquired;
    const channelz = this.experimentalRegisterListenerToChannelz(address);
    const shown = showListenSocket(this, channelz);
    const createInjector: CreateInjector = (interceptors) => {
      const own = createServerCredentialsWithInterceptors(PLAIN, interceptors);
      const injector = this.experimentalCreateConnectionInjectorWithChannelzRef(own, channelz);
      shown.onInjector();
      return injector;
    };
    const served = new ServedAddress({
      address,
      credentials,
      createInjector,
      ...this.limits,
      ...acquired.value,
      enableTrace: this.enableTrace,
      drain: { graceMs, jitterMs: drainJitterMs },
      onState: (...state) => this.notify(...state),
      onClosed: () => this.addresses.delete(address.text),
      onEnded: () => {
        shown.release();
        this.experimentalUnregisterListenerFromChannelz(channelz);
        this.unended.delete(served);
        this.endIfUnused();
      },
    });
    this.addresses.set(address.text, served);
    this.unended.add(served);
    return ok(served);
  }

  private notify(address: string, state: ServingState, error: Error | undefined): void {
    this.onServingState?.(address, state, error);
    const status: StatusObject = {
      code: state === 'SERVING' ? Status.OK : Status.UNAVAILABLE,
      details: error?.message ?? '',
      metadata: new Metadata(),
    };
    for (const listener of this.statusListeners.get(address) ?? []) {
      contained(listener, reportListener)(status);
    }
  }

  private endIfUnused(): void {
    if (this.unended.size > 0) return;
    for (const callback of this.onAllEnded.splice(0)) callback();
  }
}

/** An exception of a listener of the application changes nothing. */
function reportListener(error: unknown): void {
  serverLogger.error(() => `XdsServer: a listener of its state failed: ${errorStack(error)}`);
}
