import type { Logger } from '../util/logger';
import { sanitizeText } from '../util/sanitize-text';
import { log, logVerbosity, trace } from '.';

/**
 * Creates a logger on that of grpc-js: `GRPC_VERBOSITY` and `grpc.setLogger` apply. Every line is sanitized, as it may
 * have resource names, versions and errors of servers.
 * @param isTracerOn Whether `GRPC_TRACE` names the tracer; grpc-js does not export that.
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

/**
 * Reads a `GRPC_TRACE` list: names separated by commas, `all` for every tracer, `-name` for all but one.
 * @returns a function that decides whether a tracer is on.
 */
export function parseTracers(list: string): (tracer: string) => boolean {
  const on = new Set<string>();
  const off = new Set<string>();
  for (const item of list.split(',')) {
    if (item.startsWith('-')) off.add(item.slice(1));
    else on.add(item);
  }
  return (tracer) => !off.has(tracer) && (on.has('all') || on.has(tracer));
}

/** Reads the tracers from the environment variables of grpc-js. For the composition root. */
export function currentTracers(): (tracer: string) => boolean {
  return parseTracers(process.env['GRPC_NODE_TRACE'] ?? process.env['GRPC_TRACE'] ?? '');
}
