import type { Logger } from '../util/logger';
import { log, logVerbosity, trace } from './index';

/**
 * A logger that writes where grpc-js does: `GRPC_VERBOSITY` and `grpc.setLogger` apply.
 * @param isTracerOn Tells whether `GRPC_TRACE` names the tracer; grpc-js does not say.
 */
export function createGrpcLogger(isTracerOn: (tracer: string) => boolean): Logger {
  return {
    trace(tracer, text) {
      if (isTracerOn(tracer)) trace(logVerbosity.DEBUG, tracer, text());
    },
    info: (text) => log(logVerbosity.INFO, text()),
    error: (text) => log(logVerbosity.ERROR, text()),
  };
}
