import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { createLogger, format, transports } from 'winston';
import { adaptLogger, isLogger } from '../../src/util/application-logger';
import type { LogRecord } from '../../src/util/logger';
import { registerAnew } from '../support/mesh';
import { XdsError } from '../../src/util/xds-error';

/** A stream, and what was written to it. */
function sink() {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(...chunk.toString().trimEnd().split('\n'));
      done();
    },
  });
  return { stream, lines };
}

const failed: LogRecord = { level: 'error', message: 'cluster failed', cluster: 'echo' };
const noted: LogRecord = { level: 'info', message: 'a note' };
const traced: LogRecord = { level: 'debug', message: 'a detail', tracer: 'xds_client' };

describe('the logger of an application', () => {
  it('is console, which writes by the method of the level', () => {
    const out = sink();
    const err = sink();
    const logger = adaptLogger(new Console(out.stream, err.stream));
    for (const record of [failed, noted]) logger.log(record);
    expect(err.lines).toEqual(["cluster failed { cluster: 'echo' }"]);
    expect(out.lines).toEqual(['a note']);
    expect(logger.level).toBe('info');
    expect(adaptLogger(console).level).toBe('info');
  });

  it('is pino, which gets the fields before the text', () => {
    const { stream, lines } = sink();
    const application = pino({ base: null, timestamp: false, level: 'debug' }, stream);
    const logger = adaptLogger(application);
    for (const record of [failed, noted, traced]) logger.log(record);
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
      { level: 50, cluster: 'echo', msg: 'cluster failed' },
      { level: 30, msg: 'a note' },
      { level: 20, tracer: 'xds_client', msg: 'a detail' },
    ]);
    expect(logger.level).toBe('debug');
    application.level = 'warn';
    expect(logger.level).toBe('info');
    logger.log(noted);
    expect(lines).toHaveLength(3);
    expect(adaptLogger(application.child({ component: 'xds' })).level).toBe('info');
  });

  it('is winston, whose levels are its own', () => {
    const { stream, lines } = sink();
    const application = createLogger({
      level: 'verbose',
      format: format.json(),
      transports: [new transports.Stream({ stream })],
    });
    const logger = adaptLogger(application);
    expect(logger.level).toBe('info');
    // It adds members to the record.
    for (const record of [failed, traced]) logger.log({ ...record });
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
      { level: 'error', message: 'cluster failed', cluster: 'echo' },
    ]);
    application.level = 'silly';
    expect(logger.level).toBe('debug');
  });

  it('has a method for each level that takes the text first, without a child as pino has', () => {
    const calls: unknown[] = [];
    const write = (...args: readonly unknown[]) => void calls.push(args);
    const logger = adaptLogger({ error: write, info: write });
    for (const record of [failed, noted, traced]) logger.log(record);
    expect(calls).toEqual([
      ['cluster failed', { cluster: 'echo' }],
      ['a note'],
      ['a detail', { tracer: 'xds_client' }],
    ]);
  });

  it('has a level as a function or a number, as bunyan has', () => {
    const { error, info } = console;
    const base = { error, info, child: () => undefined };
    expect(adaptLogger(Object.assign({ ...base }, { level: () => 20 })).level).toBe('debug');
    expect(adaptLogger(Object.assign({ ...base }, { level: () => 30 })).level).toBe('info');
  });

  it.each([
    [
      'log4js',
      { level: { level: 20_000, levelStr: 'INFO' }, isDebugEnabled: (): boolean => false },
      'info',
    ],
    [
      'log4js, with details',
      { level: { levelStr: 'DEBUG' }, isDebugEnabled: (): boolean => true },
      'debug',
    ],
    ['consola', { level: 3 }, 'info'],
    ['a wrapper that writes nothing', { level: 'silent' }, 'info'],
  ])('has the method log for other arguments, as %s has it', (_, rest, level) => {
    const calls: unknown[] = [];
    const write = (...args: readonly unknown[]) => void calls.push(args);
    const options: object = { log: () => calls.push('log'), error: write, info: write, ...rest };
    if (!isLogger(options)) throw new Error('It is no logger.');
    const logger = adaptLogger(options);
    expect(logger.level).toBe(level);
    logger.log(failed);
    expect(calls).toEqual([['cluster failed', { cluster: 'echo' }]]);
  });

  it.each(['error', 'warn', 'info', 'debug', undefined] as const)(
    'may have the level %p',
    (level) => {
      const logger = { log: () => {}, ...(level && { level }) };
      expect(adaptLogger(logger)).toBe(logger);
    },
  );

  it.each(['verbose', 'WARN', '', 5, null, 'toString'])('is refused with the level %p', (level) => {
    const options: object = { logger: { log: () => {}, level } };
    expect(() => registerAnew(options)).toThrow(
      new XdsError(
        'XDS_OPTION_INVALID',
        `logger.level of register() must be error, warn, info, debug, not ${JSON.stringify(level)}`,
      ),
    );
  });

  it.each([5, 'console', {}, { error: () => {} }, { log: 'x' }, [], null])('is not %p', (value) => {
    expect(isLogger(value)).toBe(false);
  });
});
