/** The log of this package. A text is built only if it is written. */
export interface Logger {
  /** Logs details for `GRPC_TRACE=<tracer>`. */
  trace(tracer: string, text: () => string): void;
  /** Logs an event for operators. */
  info(text: () => string): void;
  /** Logs an error for operators. */
  error(text: () => string): void;
}

/** A logger without output. */
export const silentLogger: Logger = { trace() {}, info() {}, error() {} };
