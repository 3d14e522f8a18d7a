import type { Clock } from '../util/clock';
import { LogLimiter } from './log-limiter';
import {
  containLogger,
  type LogFields,
  type Logger,
  type LogLevel,
  type XdsLogger,
} from '../util/logger';
import { sanitizeText } from '../util/sanitize-text';
import { log, logVerbosity, trace } from '.';

export interface GrpcLoggerOptions {
  /** Whether `GRPC_TRACE` names the tracer; grpc-js does not export that. */
  readonly isTracerOn: (tracer: string) => boolean;
  /** Returns the logger of the application. Default: lines are written to that of grpc-js. */
  readonly application?: () => XdsLogger | undefined;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** What begins the stack of an exception in a sanitized line. */
const STACK = sanitizeText('\n    at ');

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 2, info: 1, debug: 0 };

/**
 * Creates a logger on that of the application, or else on that of grpc-js, to which `GRPC_VERBOSITY` and `grpc.setLogger`
 * apply. Every line is sanitized, as it may have resource names, versions and errors of servers. Lines of one cause are
 * limited; traces are not. Neither logger can stop anything by an exception.
 */
export function createGrpcLogger({ isTracerOn, application, clock }: GrpcLoggerOptions): Logger {
  // Of each level: lines that nothing shows must not take the place of others.
  const limiters = { error: new LogLimiter(clock), info: new LogLimiter(clock) };
  const write = (level: 'error' | 'info', text: () => string, given?: LogFields): unknown => {
    const target = application?.();
    if (target !== undefined && !accepts(target, level)) return undefined;
    const message = sanitizeText(text());
    const fields = given && sanitizeFields(given);
    const subject = withoutStack(message);
    const suppressed = limiters[level].admit(causeOf(subject, fields), subject);
    if (suppressed === undefined) return undefined;
    if (target === undefined) {
      const note = suppressed === 0 ? '' : ` (${suppressed} such lines were left out before)`;
      log(level === 'error' ? logVerbosity.ERROR : logVerbosity.INFO, `${message}${note}`);
      return undefined;
    }
    return target.log({ level, message, ...fields, ...(suppressed > 0 && { suppressed }) });
  };
  return containLogger({
    get showsInfo(): boolean {
      const target = application?.();
      return target === undefined ? isInfoShown() : accepts(target, 'info');
    },
    trace(tracer, text): unknown {
      const target = application?.();
      if (target === undefined) {
        if (isTracerOn(tracer)) trace(logVerbosity.DEBUG, tracer, sanitizeText(text()));
        return undefined;
      }
      if (!accepts(target, 'debug')) return undefined;
      return target.log({ level: 'debug', message: sanitizeText(text()), tracer });
    },
    info: (text, fields) => write('info', text, fields),
    error: (text, fields) => write('error', text, fields),
  });
}

/** Sanitizes the texts of a line besides its message: a logger of the application writes them as they are. */
function sanitizeFields(fields: LogFields): LogFields {
  const entries = Object.entries(fields);
  return Object.fromEntries(
    entries.map(([key, value]: [string, unknown]) => [
      key,
      typeof value === 'string' ? sanitizeText(value) : value,
    ]),
  );
}

/** Whether grpc-js shows INFO by the environment; it does not export what was set by a call. */
function isInfoShown(env = process.env): boolean {
  const verbosity = env['GRPC_NODE_VERBOSITY'] ?? env['GRPC_VERBOSITY'] ?? '';
  return /^(info|debug)$/i.test(verbosity);
}

function accepts({ level = 'info' }: XdsLogger, of: LogLevel): boolean {
  return SEVERITY[of] >= SEVERITY[level];
}

/** Returns a line without the stack of an exception, which differs by the way to it: the exception is the same. */
function withoutStack(message: string): string {
  const end = message.indexOf(STACK);
  return end < 0 ? message : message.slice(0, end);
}

/** Returns what lines have in common that are about the same: their subject, or the text without numbers. */
function causeOf(message: string, fields: LogFields = {}): string {
  const { event, serverUri = '', typeUrl = '', name = '', target = '', cluster = '' } = fields;
  const { endpoint, error = '' } = fields;
  if (event === undefined) return message.replace(/\d+/g, '#');
  // Several endpoints of a cluster fail for one cause, and others for another.
  const detail = endpoint === undefined ? '' : error;
  // Not the event: a failure that follows a recovery is no repetition.
  return [serverUri, typeUrl, name, target, cluster, detail].join('\n');
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
