import type { Logger } from '../util/logger';
import { sanitizeText } from '../util/sanitize-text';
import { log, logVerbosity, trace } from './index';

/**
 * A logger that writes where grpc-js does: `GRPC_VERBOSITY` and `grpc.setLogger` apply. Every line is sanitized:
 * resource names, versions and errors of servers are in it.
 * @param isTracerOn Tells whether `GRPC_TRACE` names the tracer; grpc-js does not say.
 */
export function createGrpcLogger(isTracerOn: (tracer: string) => boolean): Logger {
  return {
    trace(tracer, text) {
      if (isTracerOn(tracer)) trace(logVerbosity.DEBUG, tracer, sanitizeText(text()));
    },
    info: (text) => log(logVerbosity.INFO, sanitizeText(text())),
    error: (text) => log(logVerbosity.ERROR, sanitizeText(text())),
  };
}
