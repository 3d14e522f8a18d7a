import type { Clock } from '../util/clock';
import {
  containLogger,
  type LogFields,
  type Logger,
  type LogLevel,
  type XdsLogger,
} from '../util/logger';
import { guardHostLog, writeOwn } from './host-log';
import { causeOf, describeSuppressed, LogLimiter } from '../util/log-limiter';
import { toIso, withoutSince } from '../util/since';
import { sanitizeText } from '../util/text';

import { log, logVerbosity, trace } from '.';

export interface GrpcLoggerOptions {
  /** Whether `GRPC_TRACE` names the tracer; grpc-js does not export that. */
  readonly isTracerOn: (tracer: string) => boolean;
  /** Returns the logger of the application. Default: lines are written to that of grpc-js. */
  readonly application?: () => XdsLogger | undefined;
  /** Returns the level of lines that end what was logged as an error. Default: `info`. */
  readonly recoveryLevel?: () => RecoveryLevel | undefined;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
}

/** The level of a line that says that a failure is over. */
export type RecoveryLevel = 'info' | 'error';

/** The events that end what was logged as an error. */
const RECOVERY = /(?:^|-)recovered$|^resource-received$|^dns-answered$/;

/** What begins the stack of an exception in a sanitized line. */
const STACK = String.raw`\n    at `;

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 3, warn: 2, info: 1, debug: 0 };

/** The levels of grpc-js. */
const VERBOSITY = { error: logVerbosity.ERROR, info: logVerbosity.INFO } as const;

/**
 * Creates a logger on that of the application, or else on that of grpc-js, to which `GRPC_VERBOSITY` and `grpc.setLogger`
 * apply. Every line is sanitized, as it may have resource names, versions and errors of servers. Lines of one cause are
 * limited; traces are not. Neither logger can stop anything by an exception.
 */
export function createGrpcLogger(options: GrpcLoggerOptions): Logger {
  const { isTracerOn, application } = options;
  guardHostLog();
  const write = createWriter(options);
  const isInfoOn = isInfoShown();
  return containLogger({
    get showsInfo(): boolean {
      const target = application?.();
      return target === undefined ? isInfoOn : accepts(target, 'info');
    },
    trace(tracer, text): unknown {
      const target = application?.();
      if (target === undefined) {
        if (!isTracerOn(tracer)) return undefined;
        const line = sanitizeText(text());
        writeOwn(() => trace(logVerbosity.DEBUG, tracer, line));
        return undefined;
      }
      if (!accepts(target, 'debug')) return undefined;
      return target.log({ level: 'debug', message: sanitizeText(text()), tracer });
    },
    info: (text, fields) => write('info', text, fields),
    error: (text, fields) => write('error', text, fields),
  });
}

/** Returns the function that writes a line, unless it is one too many of its cause. */
function createWriter({ application, recoveryLevel, clock }: GrpcLoggerOptions) {
  // Of each level: lines that nothing shows must not take the place of others.
  const limiters = { error: new LogLimiter(clock), info: new LogLimiter(clock) };
  return (given: 'error' | 'info', text: () => string, raw: LogFields = {}): unknown => {
    const target = application?.();
    const isRecovery = RECOVERY.test(raw.event ?? '');
    const level = isRecovery ? (recoveryLevel?.() ?? given) : given;
    const fields = sanitizeFields(raw);
    // Whether this line is written or not, a failure after a recovery is no repetition, nor is a recovery after a failure.
    const other = level === 'error' ? limiters.info : limiters.error;
    if (fields.event !== undefined) other.onOtherLine(causeOf('', fields));
    if (target !== undefined && !accepts(target, level)) return undefined;
    const message = sanitizeText(text());
    const subject = withoutSince(withoutStack(message));
    const suppressed = limiters[level].admit(causeOf(subject, fields), subject);
    if (suppressed === undefined) return undefined;
    if (target === undefined) {
      const note = describeSuppressed(suppressed);
      // As in the traces of grpc-js, whose other lines have no time.
      writeOwn(() => log(VERBOSITY[level], `${toIso(clock.now())} | ${message}${note}`));
      return undefined;
    }
    return target.log({ level, message, ...fields, ...(suppressed > 0 && { suppressed }) });
  };
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

/** Whether grpc-js shows INFO by the environment, which it reads once; it does not export what was set by a call. */
function isInfoShown(env = process.env): boolean {
  const verbosity = env['GRPC_NODE_VERBOSITY'] ?? env['GRPC_VERBOSITY'] ?? '';
  return /^(info|debug)$/i.test(verbosity);
}

/** A level that is set later and is none counts as the default: what fails must not be lost by it. */
function accepts({ level = 'info' }: XdsLogger, of: LogLevel): boolean {
  return SEVERITY[of] >= (Object.hasOwn(SEVERITY, level) ? SEVERITY[level] : SEVERITY.info);
}

/** Returns a line without the stack of an exception, which differs by the way to it: the exception is the same. */
function withoutStack(message: string): string {
  const end = message.indexOf(STACK);
  return end < 0 ? message : message.slice(0, end);
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
