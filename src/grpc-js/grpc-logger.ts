import type { Clock } from '../util/clock';
import {
  containLogger,
  type LogFields,
  type Logger,
  type LogLevel,
  type XdsLogger,
} from '../util/logger';
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
const STACK = sanitizeText('\n    at ');

const SEVERITY: Readonly<Record<LogLevel, number>> = { error: 3, warn: 2, info: 1, debug: 0 };

/**
 * Creates a logger on that of the application, or else on that of grpc-js, to which `GRPC_VERBOSITY` and `grpc.setLogger`
 * apply. Every line is sanitized, as it may have resource names, versions and errors of servers. Lines of one cause are
 * limited; traces are not. Neither logger can stop anything by an exception.
 */
export function createGrpcLogger(options: GrpcLoggerOptions): Logger {
  const { isTracerOn, application } = options;
  const write = createWriter(options);
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

/** Returns the function that writes a line, unless it is one too many of its cause. */
function createWriter({ application, recoveryLevel, clock }: GrpcLoggerOptions) {
  // Of each level: lines that nothing shows must not take the place of others.
  const limiters = { error: new LogLimiter(clock), info: new LogLimiter(clock) };
  return (given: 'error' | 'info', text: () => string, raw?: LogFields): unknown => {
    const target = application?.();
    const isRecovery = RECOVERY.test(raw?.event ?? '');
    const level = isRecovery ? (recoveryLevel?.() ?? given) : given;
    const fields = raw && sanitizeFields(raw);
    // Whether this line is written or not, a failure after a recovery is no repetition, nor is a recovery after a failure.
    const other = level === 'error' ? limiters.info : limiters.error;
    if (fields?.event !== undefined) other.onOtherLine(causeOf('', fields));
    if (target !== undefined && !accepts(target, level)) return undefined;
    const message = sanitizeText(text());
    const subject = withoutSince(withoutStack(message));
    const suppressed = limiters[level].admit(causeOf(subject, fields), subject);
    if (suppressed === undefined) return undefined;
    if (target === undefined) {
      const note = describeSuppressed(suppressed);
      const severity = level === 'error' ? logVerbosity.ERROR : logVerbosity.INFO;
      // As in the traces of grpc-js, whose other lines have no time.
      log(severity, `${toIso(clock.now())} | ${message}${note}`);
      return undefined;
    }
    return target.log({ level, message, ...fields, ...(suppressed > 0 && { suppressed }) });
  };
}

function describeSuppressed(count: number): string {
  if (count === 0) return '';
  const lines = count === 1 ? '1 such line was' : `${count} such lines were`;
  return ` (${lines} left out before)`;
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

/** A level that is set later and is none counts as the default: what fails must not be lost by it. */
function accepts({ level = 'info' }: XdsLogger, of: LogLevel): boolean {
  return SEVERITY[of] >= (Object.hasOwn(SEVERITY, level) ? SEVERITY[level] : SEVERITY.info);
}

/** Returns a line without the stack of an exception, which differs by the way to it: the exception is the same. */
function withoutStack(message: string): string {
  const end = message.indexOf(STACK);
  return end < 0 ? message : message.slice(0, end);
}

/** Events of clients of a server, which have no resource and no recovery. */
const OF_CLIENTS: ReadonlySet<string> = new Set(['call-refused', 'handshake-failed']);

/** Returns what lines have in common that are about the same: their subject, or the text without numbers. */
function causeOf(message: string, fields: LogFields = {}): string {
  const { event, serverUri = '', typeUrl = '', name = '', target = '', cluster = '' } = fields;
  const { endpoint, error = '' } = fields;
  // What has no event of its own has no fields either.
  if (event === undefined || event === 'recovered') return message.replace(/\d+/g, '#');
  // Several endpoints of a cluster fail for one cause, and others for another; so do clients of a server.
  const detail = endpoint === undefined && !OF_CLIENTS.has(event) ? '' : error;
  // Not the event: a failure and its recovery are about the same.
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

/** The number of lines of one cause at once. */
const BURST = 5;
/** Milliseconds after which one more line of a cause is written. */
const INTERVAL_MS = 10_000;
/** The lines of all causes in a second. */
const MAX_PER_SECOND = 20;
/** The number of causes that are remembered. */
const MAX_CAUSES = 1000;

interface CauseLines {
  /** Lines that may still be written; one more after each interval. */
  credit: number;
  /** When the credit was last counted, on the monotonic clock. */
  sinceMs: number;
  suppressed: number;
  /** The line written last. */
  last: string | undefined;
  lastMs: number;
}

/** Bounds the lines of a log, by cause and in all. Lines that are left out are counted. */
export class LogLimiter {
  /** The cause that had a line last at the end. */
  private readonly causes = new Map<string, CauseLines>();
  private secondMs = -Infinity;
  private written = 0;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /**
   * Decides whether to write a line. One that repeats the last of its cause, such as for another channel, is written
   * again after the interval only.
   *
   * @returns The number of lines of the cause left out before this one; `undefined` if this one is to be left out.
   */
  admit(cause: string, line: string): number | undefined {
    const nowMs = this.clock.monotonicMs();
    const lines = this.find(cause, nowMs);
    const isRepeated = lines.last === line && nowMs - lines.lastMs < INTERVAL_MS;
    if (isRepeated || lines.credit < 1 || !this.hasRoom(nowMs)) {
      lines.suppressed++;
      return undefined;
    }
    const { suppressed } = lines;
    lines.credit--;
    lines.suppressed = 0;
    lines.last = line;
    lines.lastMs = nowMs;
    this.written++;
    return suppressed;
  }

  /** Handles a line about the same at another level: the next one here is no repetition. */
  onOtherLine(cause: string): void {
    const lines = this.causes.get(cause);
    if (lines !== undefined) lines.last = undefined;
  }

  private find(cause: string, nowMs: number): CauseLines {
    const known = this.causes.get(cause);
    const lines = known ?? {
      credit: BURST,
      sinceMs: nowMs,
      suppressed: 0,
      last: undefined,
      lastMs: nowMs,
    };
    const intervals = Math.floor((nowMs - lines.sinceMs) / INTERVAL_MS);
    if (lines.credit === BURST) lines.sinceMs = nowMs;
    else lines.sinceMs += intervals * INTERVAL_MS;
    lines.credit = Math.min(BURST, lines.credit + intervals);
    this.causes.delete(cause);
    this.causes.set(cause, lines);
    this.forgetOldest();
    return lines;
  }

  private forgetOldest(): void {
    if (this.causes.size <= MAX_CAUSES) return;
    for (const oldest of this.causes.keys()) {
      this.causes.delete(oldest);
      return;
    }
  }

  private hasRoom(nowMs: number): boolean {
    if (nowMs - this.secondMs >= 1000) {
      this.secondMs = nowMs;
      this.written = 0;
    }
    return this.written < MAX_PER_SECOND;
  }
}
