import { abandon, isPromiseLike } from './contained';

/** The fields of a log line besides its text. The event decides which fields a line has. */
export interface LogFields {
  /**
   * What happened: `server-failed`, `server-recovered`, `resource-waiting`, `resource-received`, `resource-nacked`,
   * `config-failed`, `config-recovered`, `cluster-failed`, `cluster-connecting`, `cluster-recovered`, `endpoints-failed`,
   * `endpoints-recovered`, `endpoints-removed`, `dns-waiting`, `dns-answered`, `failover-recovered`, `snapshot-failed`,
   * `snapshot-recovered`, `handshake-failed`, `streams-cut`, `streams-failing`, `streams-lasting`, `call-refused`, `serving`,
   * `serving-failed`, `serving-recovered`, `relay-failed`,
   * `recovered` (of a failure without an event), `fields-unused`, or one that begins with `kubernetes-`. Others may follow.
   */
  readonly event?: string;
  /** `node.id` of the bootstrap. */
  readonly nodeId?: string;
  /** The management server: `server_uri` of the bootstrap. */
  readonly serverUri?: string;
  /** The type URL of the resource. */
  readonly typeUrl?: string;
  /** The name of the resource. */
  readonly name?: string;
  /** The version of the resource. */
  readonly version?: string;
  /** The target of the channel, such as `xds:///echo.example.com`. */
  readonly target?: string;
  /** The name of the cluster. */
  readonly cluster?: string;
  /** The locality of the endpoint. */
  readonly locality?: string;
  /** The address of the first endpoint that the line is about, such as `10.0.0.1:443`. */
  readonly endpoint?: string;
  /** Why. */
  readonly error?: string;
  /** Milliseconds until the next attempt. */
  readonly retryInMs?: number;
}

/** The log of this package. A text is built only if it is written. No method throws. */
export interface Logger {
  /** Whether lines of the level INFO are shown: skip lines that take time to build if not. Default: `false`. */
  readonly showsInfo?: boolean;
  /** Logs details for `GRPC_TRACE=<tracer>`. */
  trace(tracer: string, text: () => string): void;
  /** Logs an event for operators, such as the end of a failure that was logged as an error. */
  info(text: () => string, fields?: LogFields): void;
  /** Logs an error for operators. */
  error(text: () => string, fields?: LogFields): void;
}

/**
 * Returns a logger that drops what a line throws, be it that its text cannot be made or that it cannot be written: a log
 * must not stop what it is about.
 */
export function containLogger(logger: Logger): Logger {
  const attempt = (write: () => unknown) => {
    try {
      const written = write();
      if (isPromiseLike(written)) abandon(written);
    } catch {
      // There is no other log.
    }
  };
  return {
    get showsInfo(): boolean {
      let shows = false;
      attempt(() => (shows = logger.showsInfo === true));
      return shows;
    },
    trace: (tracer, text) => attempt(() => logger.trace(tracer, text)),
    info: (text, fields) => attempt(() => logger.info(text, fields)),
    error: (text, fields) => attempt(() => logger.error(text, fields)),
  };
}

/** A logger without output. */
export const silentLogger: Logger = { trace() {}, info() {}, error() {} };

/**
 * The level of a log line. No line has `warn` yet; as the lowest level that is written, it means what fails and what
 * recovers, as `error` does. Traces have `debug`.
 */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** A log line, for the logger of an application. */
export interface LogRecord extends LogFields {
  /** The level of the line. */
  readonly level: LogLevel;
  /** One line without control characters. */
  readonly message: string;
  /** The name of the tracer; absent except for `debug`. */
  readonly tracer?: string;
  /** The number of lines of the same cause that were left out since the previous one; absent if there were none. */
  readonly suppressed?: number;
}

/** The logger of an application: see `RegisterOptions.logger`. */
export interface XdsLogger {
  /** The lowest level that is written. Read for each line, so that it can change at any time. Default: `info`. */
  readonly level?: LogLevel;
  /** Writes a line. An exception is dropped. */
  log(record: LogRecord): void;
}
