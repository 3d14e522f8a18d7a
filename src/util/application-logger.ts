import type { LogLevel, LogRecord, XdsLogger } from './logger';
import { XdsError } from './xds-error';

/** Writes a line. Its arguments depend on the library. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the methods of pino are generic, those of `console` take anything
type LogMethod = (...args: any[]) => void;

/**
 * A logger with a method for each level, such as `console` or a logger of pino, bunyan, loglevel or log4js. Its own level decides
 * what it writes.
 */
export interface LevelLogger {
  readonly error: LogMethod;
  readonly info: LogMethod;
  /** Default: lines of this level go to `info`, if they are written at all. */
  readonly debug?: LogMethod | undefined;
}

/** The levels of an {@link XdsLogger}. */
export const LEVELS: readonly LogLevel[] = ['error', 'warn', 'info', 'debug'];

/** Levels of other libraries at which details are written. */
const DETAILED = new Set(['debug', 'trace', 'silly', 'all', 'ALL', 'TRACE', 'DEBUG', 10, 20]);

/** Whether a value is a logger of some kind. */
export function isLogger(value: unknown): value is XdsLogger | LevelLogger {
  return isObject(value) && (has(value, 'log') || hasLevels(value));
}

/**
 * Returns a logger in the form of this package. One with the method `log` is used as it is, except `console`, whose `log`
 * writes any values.
 *
 * @throws XdsError if the level of such a logger is none of this package, and it has no levels of its own.
 */
export function adaptLogger(logger: XdsLogger | LevelLogger): XdsLogger {
  if (isConsole(logger) || !isXdsLogger(logger)) return new LeveledLogger(logger);
  const { level } = logger;
  if (hasOwnLevels(logger)) return new ForeignLevels(logger);
  if (level === undefined || LEVELS.includes(level)) return logger;
  // The `log` of such a library, as log4js and consola have it, takes other arguments than a record.
  if (hasLevels(logger)) return new LeveledLogger(logger);
  throw new XdsError(
    'XDS_OPTION_INVALID',
    `logger.level of register() must be ${LEVELS.join(', ')}, not ${JSON.stringify(level)}`,
  );
}

/** Calls the methods of a logger that has one for each level. */
class LeveledLogger implements XdsLogger {
  /** Whether the fields of a line come before its text, as in pino and bunyan. */
  private readonly hasFieldsFirst: boolean;

  constructor(private readonly logger: object) {
    this.hasFieldsFirst = has(logger, 'child') && !has(logger, 'log');
  }

  get level(): LogLevel {
    return showsDetails(this.logger) ? 'debug' : 'info';
  }

  log({ level, message, ...fields }: LogRecord): unknown {
    const method = has(this.logger, level) ? level : 'info';
    const isBare = Object.keys(fields).length === 0;
    if (this.hasFieldsFirst) return call(this.logger, method, fields, message);
    return isBare ? call(this.logger, method, message) : call(this.logger, method, message, fields);
  }
}

/** A logger with the method `log` and names of levels of its own, such as one of winston. It leaves out lines itself. */
class ForeignLevels implements XdsLogger {
  constructor(private readonly logger: XdsLogger) {}

  get level(): LogLevel {
    return showsDetails(this.logger) ? 'debug' : 'info';
  }

  log(record: LogRecord): unknown {
    return this.logger.log(record);
  }
}

/** Whether details are written: their texts are made for a logger that says so. */
function showsDetails(logger: object): boolean {
  for (const name of ['isLevelEnabled', 'isDebugEnabled']) {
    if (has(logger, name)) return call(logger, name, 'debug') === true;
  }
  const level: unknown = Reflect.get(logger, 'level');
  const current = typeof level === 'function' ? call(logger, 'level') : level;
  return DETAILED.has(typeof current === 'number' ? current : String(current));
}

function isXdsLogger(logger: object): logger is XdsLogger {
  return has(logger, 'log');
}

function hasOwnLevels(logger: object): boolean {
  return hasLevels(logger) && isObject(Reflect.get(logger, 'levels'));
}

function hasLevels(value: object): value is LevelLogger {
  return has(value, 'error') && has(value, 'info');
}

/** Whether a logger is `console`, or one made by `new console.Console()`. */
function isConsole(logger: object): boolean {
  return hasLevels(logger) && has(logger, 'dir') && has(logger, 'table');
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

function has(logger: object, method: string): boolean {
  return typeof Reflect.get(logger, method) === 'function';
}

/** Calls a method of another library, without the arguments that are not given. */
function call(logger: object, name: string, ...args: readonly unknown[]): unknown {
  const method: unknown = Reflect.get(logger, name);
  return typeof method === 'function' ? Reflect.apply(method, logger, args) : undefined;
}
