import { isLocalTarget, channelTarget, socketPathOf } from '../util/server-uri';
import type { ServerConfig } from '../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../bootstrap/limits';
import { RELAY_FEATURE } from '../util/relay-names';
import {
  Channel,
  ConnectivityState,
  type ChannelCredentials,
  type ChannelOptions,
} from '../grpc-js';
import type * as Children from '../grpc-js/child-channel-options';
import type { CheckedChildOptions } from '../grpc-js/child-channel-options';
import type { Clock } from '../util/clock';
import { describeDuration } from '../util/duration';
import { errorMessage } from '../util/errors';
import type { Handle } from '../util/handle';
import { lazy } from '../util/lazy';
import { err, ok, type Result } from '../util/result';
import { sanitizeText } from '../util/text';
import { StatusCode } from '../util/status-code';
import type {
  ConnectionOptions,
  StreamHeaders,
  StreamStatus,
  XdsStream,
  XdsStreamHandler,
  XdsTransport,
  XdsTransportFactory,
} from '../xds-client/transport';
import { createInterceptedCall, describeDetails, GrpcStream, type StreamCall } from './grpc-stream';
import { SentSecrets, TrackedCredentials, type ConnectionGuard } from './connection-credentials';
import { endConnectingWith, hasMethods, putQueueInBackground } from '../grpc-js/host-internals';
import type * as UnixSocket from '../util/unix-socket';
import type * as Guards from './socket-guard';
import { afterRunning } from '../util/running-time';

const loadChildren = lazy<typeof Children>(() => require('../grpc-js/child-channel-options'));
const loadSockets = lazy<typeof UnixSocket>(() => require('../util/unix-socket'));
const loadGuards = lazy<typeof Guards>(() => require('./socket-guard'));

/** How long a connection that is closed waits for the end of the server; it keeps the process alive. */
const CLOSE_TIMEOUT_MS = 1000;

/** Constructor options of a transport factory. */
export interface GrpcTransportOptions {
  /** Creates the credentials of a server. */
  readonly credentials: {
    create(server: ServerConfig): Result<ChannelCredentials, string>;
  };
  readonly clock: Clock;
  /**
   * Default: a ping every 20 s, answered within 10 s, so that a connection that died silently is noticed
   * within 30 s. Many servers allow one ping in 5 minutes and close the connection otherwise; to one that
   * does, pings are sent every 310 s from then on.
   */
  readonly keepalive?: KeepaliveOptions;
  /**
   * Milliseconds in which a connection must come about. Default: 15 s, as the wait for a resource (gRFC A57): calls that
   * wait for a server without a word then fail as soon as those that wait for one without an answer.
   */
  readonly connectTimeoutMs?: number;
  /** Default: those of an application that sets none. */
  readonly limits?: Pick<Limits, 'maxMessageBytes'>;
}

/** Just above the least interval that gRPC servers accept by default. */
const RELAXED_KEEPALIVE_MS = 310_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 15_000;

/** Makes transports that are grpc-js channels. */
export class GrpcTransportFactory implements XdsTransportFactory {
  constructor(private readonly options: GrpcTransportOptions) {}

  create(server: ServerConfig, connection?: ConnectionOptions): Result<XdsTransport, string> {
    const credentials = this.options.credentials.create(server);
    if (!credentials.ok) return credentials;
    const path = socketPathOf(channelTarget(server.serverUri));
    const problem = path === undefined ? undefined : loadSockets().findLengthProblem(path);
    if (problem !== undefined) return err(problem);
    const isGuarded = path !== undefined && server.features.has(RELAY_FEATURE);
    try {
      const transport = new GrpcTransport(server.serverUri, {
        credentials: credentials.value,
        childOptions: connection && loadChildren().childOptionsOf(connection),
        guard: isGuarded ? new (loadGuards().SocketGuard)(path) : undefined,
        options: this.options,
      });
      transport.connect();
      return ok(transport);
    } catch (error) {
      return err(errorMessage(error));
    }
  }
}

/** What the connections of a transport have in common. */
interface ConnectionParts {
  readonly credentials: ChannelCredentials;
  readonly childOptions: CheckedChildOptions | undefined;
  readonly guard: ConnectionGuard | undefined;
  readonly options: GrpcTransportOptions;
}

interface Connection {
  readonly channel: Channel;
  readonly credentials: TrackedCredentials;
  /** Ends what is being connected. */
  readonly connecting: AbortController;
}

/**
 * A connection to one server. Retries are decided where streams are opened, not by the channel: one that failed to
 * connect is closed, because it would retry on its own, and until then every new stream on it would fail with the old
 * error.
 */
class GrpcTransport implements XdsTransport {
  private readonly streams = new Map<GrpcStream, Handle>();
  private readonly secrets = new SentSecrets();
  private connection: Connection | undefined;
  private isClosed = false;
  /** Counts up while there is no connection: streams at whose ends it is the same number were on the same one. */
  private connectionNumber = 0;
  private keepalive: KeepaliveOptions;

  constructor(
    private readonly serverUri: string,
    private readonly parts: ConnectionParts,
  ) {
    this.keepalive = createKeepalive(parts.childOptions, parts.options.keepalive);
  }

  openStream(method: string, handler: XdsStreamHandler, headers?: StreamHeaders): XdsStream {
    if (this.isClosed) throw new Error(`openStream on the closed transport to ${this.serverUri}`);
    const connection = this.connect();
    if (stateOf(connection) !== ConnectivityState.READY) this.connectionNumber++;
    const call = this.createCall(connection.channel, method);
    const stream: GrpcStream = new GrpcStream(call, handler, {
      onEnd: () => this.forget(stream),
      describe: (status) => this.describeEnd(connection, status),
      headers,
    });
    const timer = afterRunning(
      this.parts.options.clock,
      () => this.onConnectTimeout(stream, connection),
      this.connectTimeoutMs,
    );
    this.streams.set(stream, timer);
    return stream;
  }

  close(): void {
    this.isClosed = true;
    for (const stream of this.streams.keys()) stream.close();
    if (this.connection !== undefined) this.disconnect(this.connection);
  }

  private get connectTimeoutMs(): number {
    return this.parts.options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  }

  private createCall(channel: Channel, method: string): StreamCall {
    const { childOptions, options } = this.parts;
    const create = () => channel.createCall(method, Infinity, null, null, null);
    if (childOptions === undefined) return create();
    return createInterceptedCall(channel, method, childOptions, options.clock) ?? create();
  }

  /** The connection in use, made if there is none. Nothing is sent before a stream is opened. */
  connect(): Connection {
    if (this.connection !== undefined) return this.connection;
    const { guard, childOptions, options } = this.parts;
    const credentials = new TrackedCredentials(this.parts.credentials, this.secrets, guard);
    const { keepalive } = this;
    const { maxMessageBytes } = options.limits ?? DEFAULT_LIMITS;
    const target = channelTarget(this.serverUri);
    const channel = createChannel(target, credentials, {
      keepalive,
      maxMessageBytes,
      childOptions,
    });
    const connecting = new AbortController();
    putQueueInBackground(channel);
    // What a factory returns may share its connections with others.
    if (childOptions?.factory === undefined) endConnectingWith(channel, connecting.signal);
    this.connection = { channel, credentials, connecting };
    return this.connection;
  }

  /** Closes a connection, unless that has been done: streams on one connection end one after another. */
  private disconnect(connection: Connection): void {
    if (this.connection !== connection) return;
    this.connection = undefined;
    const isReady = stateOf(connection) === ConnectivityState.READY;
    connection.channel.close();
    connection.credentials.retire();
    // A connection in use is closed in good order: the server receives the cancellations first, unless it reads nothing.
    if (isReady) {
      const { clock } = this.parts.options;
      const { credentials } = connection;
      const timer = afterRunning(clock, () => credentials.destroySockets(), CLOSE_TIMEOUT_MS);
      credentials.whenClosed(() => timer.release());
      return;
    }
    connection.connecting.abort();
    connection.credentials.destroySockets();
  }

  /** Handles the end of a stream by the server. @returns the status to pass on. */
  private describeEnd(connection: Connection, status: StreamStatus): StreamStatus {
    const { code, hasAnswered = false } = status;
    const details = sanitizeText(this.secrets.redact(describeDetails(status.details)));
    const state = stateOf(connection);
    // grpc-js reports a GOAWAY with ENHANCE_YOUR_CALM as this status on a closed connection.
    const isPinging = this.keepalive.timeMs > 0;
    if (isPinging && code === StatusCode.RESOURCE_EXHAUSTED && state === ConnectivityState.IDLE) {
      const timeMs = Math.max(this.keepalive.timeMs, RELAXED_KEEPALIVE_MS);
      this.keepalive = { ...this.keepalive, timeMs };
      this.disconnect(connection);
      const consequence = `keepalive pings are sent every ${describeDuration(timeMs)} from now on`;
      return { code, details: `${details}; ${consequence}`, hasAnswered };
    }
    if (state === ConnectivityState.TRANSIENT_FAILURE) this.disconnect(connection);
    const hasOutlived = state === ConnectivityState.READY;
    const outlived = hasOutlived ? { connection: this.connectionNumber } : {};
    return { code, details, hasAnswered, ...outlived };
  }

  private onConnectTimeout(stream: GrpcStream, connection: Connection): void {
    if (stateOf(connection) === ConnectivityState.READY) return;
    this.disconnect(connection);
    const details = `no connection within ${describeDuration(this.connectTimeoutMs)}`;
    stream.abort({ code: StatusCode.UNAVAILABLE, details });
  }

  private forget(stream: GrpcStream): void {
    this.streams.get(stream)?.release();
    this.streams.delete(stream);
  }
}

function stateOf({ channel }: Connection): ConnectivityState {
  return channel.getConnectivityState(false);
}

/** When a connection that looks open is given up. */
export interface KeepaliveOptions {
  /** Milliseconds between pings while there is a stream. */
  readonly timeMs: number;
  /** Milliseconds to wait for the answer to a ping. */
  readonly timeoutMs: number;
}

const DEFAULT_KEEPALIVE: KeepaliveOptions = { timeMs: 20_000, timeoutMs: 10_000 };

/** Lets a configuration of some megabytes arrive without a pause per 64 KiB. */
const FLOW_CONTROL_WINDOW_BYTES = 512 * 1024;

/** Options of the channel of a connection. */
interface ConnectionChannelOptions {
  readonly keepalive: KeepaliveOptions;
  readonly maxMessageBytes: number;
  /** Those of the application (gRFC A110). */
  readonly childOptions: CheckedChildOptions | undefined;
}

/** Returns the intervals of keepalive pings: those of the application, where it has set them. */
function createKeepalive(
  childOptions: CheckedChildOptions | undefined,
  defaults = DEFAULT_KEEPALIVE,
): KeepaliveOptions {
  const {
    'grpc.keepalive_time_ms': timeMs = defaults.timeMs,
    'grpc.keepalive_timeout_ms': timeoutMs = defaults.timeoutMs,
  } = childOptions?.forChannel ?? {};
  return { timeMs, timeoutMs };
}

/**
 * Creates the channel of a connection to a management server. HTTP proxies of the environment apply to it as to every
 * channel, but for servers on this machine; `no_proxy` exempts others.
 *
 * @throws Error if the channel cannot be created, or the factory of the application returns none.
 */
function createChannel(
  target: string,
  credentials: ChannelCredentials,
  { keepalive, maxMessageBytes, childOptions }: ConnectionChannelOptions,
): Channel {
  const options: ChannelOptions = {
    'grpc.keepalive_permit_without_calls': 0,
    // The client stops reading while it is busy, so this is also the most that is buffered.
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
    ...childOptions?.forChannel,
    'grpc.keepalive_time_ms': keepalive.timeMs,
    'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    ...requiredOptions(maxMessageBytes),
    // What is on this machine is not reached through a proxy, which would see what is sent without TLS because it stays here.
    ...(isLocalTarget(target) && { 'grpc.enable_http_proxy': 0 }),
  };
  const factory = childOptions?.factory;
  if (factory === undefined) return new Channel(target, credentials, options);
  const channel: unknown = factory(target, credentials, options);
  if (hasMethods<Channel>(channel, 'createCall', 'getConnectivityState', 'close')) return channel;
  throw new Error('channelFactoryOverride of the child channel options did not return a channel');
}

/** The options that take precedence over those of the application, because the streams rely on them (gRFC A110). */
export const REQUIRED_OPTIONS: readonly string[] = Object.keys(requiredOptions(0));

function requiredOptions(maxMessageBytes: number): ChannelOptions {
  return {
    // The default would be 4 MiB, which is soon exceeded.
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    // Without retries, and without room to keep messages for them, a message counts as sent when the
    // connection has taken it and not when it was put aside.
    'grpc.enable_retries': 0,
    'grpc.per_rpc_retry_buffer_size': -1,
    // The connection is this channel's alone and ends with it.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.service_config_disable_resolution': 1,
  };
}
