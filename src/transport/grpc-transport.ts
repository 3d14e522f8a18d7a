import type { ServerConfig } from '../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../bootstrap/limits';
import { channelTarget } from '../bootstrap/server-uri';
import {
  Channel,
  ConnectivityState,
  type ChannelCredentials,
  type ChannelOptions,
} from '../grpc-js';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import type { Handle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import { sanitizeText } from '../util/sanitize-text';
import { StatusCode } from '../util/status-code';
import type {
  StreamStatus,
  XdsStream,
  XdsStreamHandler,
  XdsTransport,
  XdsTransportFactory,
} from '../xds-client/transport';
import { describeDetails, GrpcStream } from './grpc-stream';
import { SentSecrets } from './sent-secrets';
import { TrackedCredentials } from './tracked-credentials';

/** When a connection that looks open is given up. */
export interface KeepaliveOptions {
  /** Milliseconds between pings while there is a stream. */
  readonly timeMs: number;
  /** Milliseconds to wait for the answer to a ping. */
  readonly timeoutMs: number;
}

/** What transports are made of. */
export interface GrpcTransportOptions {
  /** Creates the credentials of a server. */
  readonly credentials: {
    create(server: ServerConfig): Result<ChannelCredentials, string>;
  };
  readonly clock: Clock;
  /**
   * Default: a ping every 20 s, answered within 10 s, so that a connection that died without a word is noticed
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

const DEFAULT_KEEPALIVE: KeepaliveOptions = { timeMs: 20_000, timeoutMs: 10_000 };
/** Just above the least interval that gRPC servers accept by default. */
const RELAXED_KEEPALIVE_MS = 310_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 15_000;

/** Makes transports that are grpc-js channels. */
export class GrpcTransportFactory implements XdsTransportFactory {
  constructor(private readonly options: GrpcTransportOptions) {}

  /** See `XdsTransportFactory`. */
  create(server: ServerConfig): Result<XdsTransport, string> {
    const credentials = this.options.credentials.create(server);
    if (!credentials.ok) return credentials;
    return GrpcTransport.create(server.serverUri, credentials.value, this.options);
  }
}

interface Connection {
  readonly channel: Channel;
  readonly credentials: TrackedCredentials;
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

  private constructor(
    private readonly serverUri: string,
    private readonly credentials: ChannelCredentials,
    private readonly clock: Clock,
    private readonly connectTimeoutMs: number,
    private keepalive: KeepaliveOptions,
    private readonly maxMessageBytes: number,
  ) {}

  static create(
    serverUri: string,
    credentials: ChannelCredentials,
    options: GrpcTransportOptions,
  ): Result<XdsTransport, string> {
    const { clock, keepalive = DEFAULT_KEEPALIVE } = options;
    const connectTimeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
    const { maxMessageBytes } = options.limits ?? DEFAULT_LIMITS;
    const transport = new GrpcTransport(
      serverUri,
      credentials,
      clock,
      connectTimeoutMs,
      keepalive,
      maxMessageBytes,
    );
    try {
      transport.connect();
      return ok(transport);
    } catch (error) {
      return err(errorMessage(error));
    }
  }

  openStream(method: string, handler: XdsStreamHandler): XdsStream {
    if (this.isClosed) throw new Error(`openStream on the closed transport to ${this.serverUri}`);
    const connection = this.connect();
    const call = connection.channel.createCall(method, Infinity, null, null, null);
    const stream: GrpcStream = new GrpcStream(call, handler, {
      onEnd: () => this.forget(stream),
      describe: (status) => this.describeEnd(connection, status),
    });
    const timer = this.clock.setTimer(
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

  /** The connection in use, made if there is none. Nothing is sent before a stream is opened. */
  private connect(): Connection {
    if (this.connection !== undefined) return this.connection;
    const credentials = new TrackedCredentials(this.credentials, this.secrets);
    const channel = new Channel(
      channelTarget(this.serverUri),
      credentials,
      channelOptions(this.keepalive, this.maxMessageBytes),
    );
    this.connection = { channel, credentials };
    return this.connection;
  }

  /** Closes a connection, unless that has been done: streams on one connection end one after another. */
  private disconnect(connection: Connection): void {
    if (this.connection !== connection) return;
    this.connection = undefined;
    const isReady = stateOf(connection) === ConnectivityState.READY;
    connection.channel.close();
    connection.credentials.retire();
    // A connection in use is closed in good order: the server receives the cancellations first.
    if (!isReady) connection.credentials.destroySockets();
  }

  /** Handles the end of a stream by the server. @returns the status to pass on. */
  private describeEnd(connection: Connection, status: StreamStatus): StreamStatus {
    const { code } = status;
    const details = sanitizeText(this.secrets.redact(describeDetails(status.details)));
    const state = stateOf(connection);
    // grpc-js reports a GOAWAY with ENHANCE_YOUR_CALM as this status on a closed connection.
    if (code === StatusCode.RESOURCE_EXHAUSTED && state === ConnectivityState.IDLE) {
      this.keepalive = { ...this.keepalive, timeMs: RELAXED_KEEPALIVE_MS };
      this.disconnect(connection);
      const consequence = `keepalive pings are sent every ${RELAXED_KEEPALIVE_MS / 1000} s from now on`;
      return { code, details: `${details}; ${consequence}` };
    }
    if (state === ConnectivityState.TRANSIENT_FAILURE) this.disconnect(connection);
    return { code, details };
  }

  private onConnectTimeout(stream: GrpcStream, connection: Connection): void {
    if (stateOf(connection) === ConnectivityState.READY) return;
    this.disconnect(connection);
    const details = `no connection within ${this.connectTimeoutMs / 1000} s`;
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

// Lets a configuration of some megabytes arrive without a pause per 64 KiB. The client stops reading while it is busy,
// so this is also the most that is buffered.
const FLOW_CONTROL_WINDOW_BYTES = 1024 * 1024;

/**
 * Returns the options of a channel to a management server. HTTP proxies of the environment apply to it as to every
 * channel; `no_proxy` exempts servers.
 */
function channelOptions(
  keepalive: { readonly timeMs: number; readonly timeoutMs: number },
  maxMessageBytes: number,
): ChannelOptions {
  return {
    // The default would be 4 MiB, which is soon exceeded.
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': -1,
    'grpc.keepalive_time_ms': keepalive.timeMs,
    'grpc.keepalive_timeout_ms': keepalive.timeoutMs,
    'grpc.keepalive_permit_without_calls': 0,
    // Without retries, and without room to keep messages for them, a message counts as sent when the
    // connection has taken it and not when it was put aside.
    'grpc.enable_retries': 0,
    'grpc.per_rpc_retry_buffer_size': -1,
    // The connection is this channel's alone and ends with it.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.service_config_disable_resolution': 1,
    'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
  };
}
