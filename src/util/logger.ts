/** Where this package writes. Every text is built only if it will be written. */
export interface Logger {
  /** Detail for `GRPC_TRACE=<tracer>`. */
  trace(tracer: string, text: () => string): void;
  /** Something an operator should see. */
  info(text: () => string): void;
  /** Something an operator must see. */
  error(text: () => string): void;
}

/** A logger that writes nothing. */
export const silentLogger: Logger = { trace() {}, info() {}, error() {} };
