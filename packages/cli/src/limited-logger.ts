import type { Clock } from '../../../src/util/clock';
import { causeOf, describeSuppressed, LogLimiter } from '../../../src/util/log-limiter';
import type { LogFields, Logger } from '../../../src/util/logger';
import { withoutSince } from '../../../src/util/since';

/** Returns a logger whose lines of one cause are limited, as clients determine many of them. */
export function limitLogger(logger: Logger, clock: Pick<Clock, 'monotonicMs'>): Logger {
  const limited = (level: 'error' | 'info') => {
    const limiter = new LogLimiter(clock);
    return (text: () => string, fields?: LogFields): void => {
      const line = text();
      const subject = withoutSince(line);
      const suppressed = limiter.admit(causeOf(subject, fields), subject);
      if (suppressed === undefined) return;
      logger[level](() => `${line}${describeSuppressed(suppressed)}`, fields);
    };
  };
  return { ...logger, info: limited('info'), error: limited('error') };
}
