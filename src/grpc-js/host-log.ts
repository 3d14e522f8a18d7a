import type * as Logging from '@grpc/grpc-js/build/src/logging';
import { systemClock } from '../util/clock';
import { lazy } from '../util/lazy';
import { describeSuppressed, LogLimiter } from '../util/log-limiter';
import { mayBeCredential } from '../util/secrets';
import { cutText, MAX_TEXT_LENGTH, REDACTED, sanitizeText } from '../util/text';

/** Its main module exports no function that returns the logger in use. */
const loadLogging = lazy<typeof Logging>(() => require('@grpc/grpc-js/build/src/logging'));

/** Characters of a line: grpc-js quotes whole headers of a peer. */
const MAX_LENGTH = 1024;
/** The words at the beginning of a line that lines of one cause have in common. */
const WORDS_OF_CAUSE = 4;

/** How the logger that grpc-js has by default writes errors; also in a bundle that was minified. */
const DEFAULT_ERROR = /\.error\(["'`]E ["'`]\s*\+/;

type Write = (...args: unknown[]) => void;

let isGuarded = false;
/** Whether the line that is written is one of this package. */
let isOwn = false;

/**
 * Limits, redacts and escapes the lines that grpc-js itself logs, once in a process. Peers determine them: for each header value
 * outside ASCII, grpc-js logs an error with the value. Traces are off by default and are not limited. A logger
 * that the application has set with `grpc.setLogger`, before or later, gets the lines as they are.
 */
export function guardHostLog(
  clock: ConstructorParameters<typeof LogLimiter>[0] = systemClock,
): void {
  if (isGuarded) return;
  isGuarded = true;
  const logging = findLogging();
  if (logging === undefined) return;
  const { error, info, debug } = logging.getLogger();
  if (error === undefined || !DEFAULT_ERROR.test(String(error))) return;
  logging.setLogger({
    error: guard(error, new LogLimiter(clock)),
    ...(info && { info: guard(info, new LogLimiter(clock)) }),
    ...(debug && { debug: guard(debug) }),
  });
}

/** Writes lines of this package, which are guarded already, with a function of grpc-js. */
export function writeOwn(write: () => void): void {
  isOwn = true;
  try {
    write();
  } finally {
    isOwn = false;
  }
}

/** @returns `undefined` for a version of grpc-js without the module: its lines are written as they are. */
function findLogging(): Pick<typeof Logging, 'getLogger' | 'setLogger'> | undefined {
  try {
    return loadLogging();
  } catch {
    return undefined;
  }
}

function guard(write: Write, limiter?: LogLimiter): Write {
  return (...args) => {
    if (isOwn) {
      write(...args);
      return;
    }
    const text = args.map(String).join(' ');
    if (limiter === undefined) {
      write(
        text
          .split('\n')
          .map((each) => sanitizeHostLine(each))
          .join('\n'),
      );
      return;
    }
    const line = sanitizeHostLine(text, MAX_LENGTH);
    const cause = line.split(' ', WORDS_OF_CAUSE).join(' ');
    const suppressed = limiter.admit(cause, line);
    if (suppressed !== undefined) write(`${line}${describeSuppressed(suppressed)}`);
  };
}

/** The name of a header before its value. */
const NAME = /(?<![\w-])([\w-]{1,128})["']?: /g;

/** Sanitizes a line without everything that follows the name of a header whose value may be a credential. */
export function sanitizeHostLine(text: string, maxLength?: number): string {
  // Not more of it than is shown: looking for names takes time for each character.
  const read = cutText(text, MAX_TEXT_LENGTH);
  for (const { index, 0: all, 1: name = '' } of read.matchAll(NAME)) {
    if (mayBeCredential(name))
      return sanitizeText(read.slice(0, index + all.length), maxLength) + REDACTED;
  }
  return sanitizeText(read, maxLength);
}
