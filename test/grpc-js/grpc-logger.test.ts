import { setLogger, setLogVerbosity, logVerbosity } from '@grpc/grpc-js';
import { FakeClock } from '../support/fake-clock';
import { createGrpcLogger, parseTracers } from '../../src/grpc-js/grpc-logger';
import type { LogLevel, LogRecord, XdsLogger } from '../../src/util/logger';

describe('the logger', () => {
  it('writes every text without control characters and tokens', () => {
    const write = jest.fn();
    setLogger({ error: write, info: write, debug: write });
    setLogVerbosity(logVerbosity.DEBUG);
    const logger = createGrpcLogger({ isTracerOn: () => false, clock: new FakeClock() });
    const text = () => 'Cluster "a\nb\u001b": Bearer 0123456789abcdef0';
    logger.error(text);
    logger.info(text);
    const lines = write.mock.calls.map(([line]) => String(line));
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/Cluster "a\\nb\\x1b": Bearer \[redacted\]$/);
    setLogger(console);
    setLogVerbosity(logVerbosity.ERROR);
  });
});

describe('the fields of a line', () => {
  it('are cut and sanitized as its text is, and numbers are kept', () => {
    const records: LogRecord[] = [];
    const logger = createGrpcLogger({
      isTracerOn: () => false,
      application: () => ({ log: (record) => records.push(record) }),
      clock: new FakeClock(),
    });
    const hostile = `a\n\u001b[2J\u202e${'\n'.repeat(10_000_000)}`;
    const texts = { name: hostile, error: hostile, locality: hostile, version: hostile };
    logger.error(() => 'line', { event: 'resource-nacked', ...texts, retryInMs: 5 });
    expect(records).toHaveLength(1);
    const [record] = records;
    expect(record?.retryInMs).toBe(5);
    for (const text of [record?.name, record?.error, record?.locality, record?.version]) {
      expect(text?.startsWith('a\\n\\x1b[2J\\u{202e}\\n')).toBe(true);
      expect(text?.length).toBeLessThan(20_000);
    }
  });
});

describe('an exception while a line is written', () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  const writeAll = (application: XdsLogger | undefined, text: () => string) => {
    const logger = createGrpcLogger({
      isTracerOn: () => true,
      application: () => application,
      clock: new FakeClock(),
    });
    logger.error(text);
    logger.info(text);
    logger.trace('xds_client', text);
    return logger.showsInfo;
  };
  afterEach(() => {
    setLogger(console);
    setLogVerbosity(logVerbosity.ERROR);
  });

  it('of the logger of grpc-js is dropped', () => {
    setLogger({ error: fail, info: fail, debug: fail });
    setLogVerbosity(logVerbosity.DEBUG);
    expect(() => writeAll(undefined, () => 'line')).not.toThrow();
  });

  it('of the text is dropped', () => {
    setLogger({ error() {}, info() {}, debug() {} });
    setLogVerbosity(logVerbosity.DEBUG);
    expect(() => writeAll(undefined, fail)).not.toThrow();
    expect(() => writeAll({ level: 'debug', log() {} }, fail)).not.toThrow();
  });

  it('of the logger of the application, or of its level, is dropped', () => {
    expect(() => writeAll({ level: 'debug', log: fail }, () => 'line')).not.toThrow();
    const hostile = {
      get level(): never {
        return fail();
      },
      log() {},
    };
    expect(writeAll(hostile, () => 'line')).toBe(false);
  });
});

describe('whether a logger shows INFO', () => {
  const { GRPC_VERBOSITY: before } = process.env;
  const logger = (application?: XdsLogger) =>
    createGrpcLogger({
      isTracerOn: () => false,
      application: () => application,
      clock: new FakeClock(),
    });
  afterEach(() => {
    if (before === undefined) delete process.env['GRPC_VERBOSITY'];
    else process.env['GRPC_VERBOSITY'] = before;
  });

  it.each([
    ['DEBUG', true],
    ['info', true],
    ['ERROR', false],
    ['', false],
  ])('follows GRPC_VERBOSITY=%s', (verbosity, shows) => {
    process.env['GRPC_VERBOSITY'] = verbosity;
    expect(logger().showsInfo).toBe(shows);
  });

  it.each<[level: LogLevel | undefined, shows: boolean]>([
    ['debug', true],
    ['info', true],
    [undefined, true],
    ['error', false],
  ])('follows the level %s of the logger of an application', (level, shows) => {
    process.env['GRPC_VERBOSITY'] = 'ERROR';
    expect(logger({ ...(level && { level }), log: () => {} }).showsInfo).toBe(shows);
  });
});

describe('the logger of an application', () => {
  const records: LogRecord[] = [];
  const application = { level: undefined as LogLevel | undefined, log: records.push.bind(records) };
  const clock = new FakeClock();
  const logger = createGrpcLogger({
    isTracerOn: () => false,
    application: () => ({
      ...(application.level !== undefined && { level: application.level }),
      log: (record) => void application.log(record),
    }),
    clock,
  });

  beforeEach(() => {
    records.length = 0;
    application.level = undefined;
    clock.advance(3_600_000);
  });

  it('receives every line with its fields, and without control characters', () => {
    const fields = { event: 'cluster-failed', cluster: 'echo', error: 'refused' };
    logger.error(() => 'Cluster "echo": refused\n', fields);
    logger.info(() => 'nothing special');
    expect(records).toEqual([
      { level: 'error', message: 'Cluster "echo": refused\\n', ...fields },
      { level: 'info', message: 'nothing special' },
    ]);
  });

  it('has a level that can change at any time', () => {
    const write = (text: string) => {
      logger.error(() => `${text} e`);
      logger.info(() => `${text} i`);
      logger.trace('xds_client', () => `${text} t`);
    };
    write('default');
    application.level = 'error';
    write('error');
    application.level = 'debug';
    write('debug');
    expect(records.map(({ message }) => message)).toEqual([
      'default e',
      'default i',
      'error e',
      'debug e',
      'debug i',
      'debug t',
    ]);
    expect(records.at(-1)).toMatchObject({ level: 'debug', tracer: 'xds_client' });
  });

  it('builds no text that it does not write', () => {
    const text = jest.fn(() => 'text');
    application.level = 'error';
    logger.info(text);
    logger.trace('xds_client', text);
    expect(text).not.toHaveBeenCalled();
  });

  it('may throw', () => {
    const throwing = createGrpcLogger({
      isTracerOn: () => true,
      application: () => ({
        log() {
          throw new Error('disk full');
        },
      }),
      clock,
    });
    throwing.error(() => 'text');
    throwing.trace('xds_client', () => 'text');
    expect(records).toEqual([]);
  });

  it('has the number of lines left out, of the same cause', () => {
    const fail = (cluster: string, port: number) =>
      logger.error(() => `Cluster "${cluster}": port ${port}`, {
        event: 'cluster-failed',
        cluster,
      });
    for (let port = 0; port < 12; port++) fail('a', port);
    fail('b', 0);
    expect(records).toHaveLength(6);
    records.length = 0;
    clock.advance(10_000);
    fail('a', 12);
    fail('a', 13);
    expect(records).toMatchObject([{ message: 'Cluster "a": port 12', suppressed: 7 }]);
  });
});

describe('lines about clients of a server', () => {
  it('are limited by what is wrong, so that none hides another', () => {
    const texts: string[] = [];
    const logger = createGrpcLogger({
      isTracerOn: () => false,
      application: () => ({ log: ({ message }) => texts.push(message) }),
      clock: new FakeClock(),
    });
    for (let i = 0; i < 8; i++) {
      const error = `denied by policy ${i}`;
      logger.error(() => `call ${i} refused: ${error}`, { event: 'call-refused', error });
    }
    const error = 'the client presented no certificate';
    for (let i = 0; i < 8; i++) {
      logger.error(() => `handshake ${i} failed: ${error}`, { event: 'handshake-failed', error });
    }
    expect(texts).toHaveLength(8 + 5);
  });
});

describe('a line about a recovery', () => {
  const levelsOf = (recoveryLevel: 'info' | 'error' | undefined) => {
    const records: LogRecord[] = [];
    const logger = createGrpcLogger({
      isTracerOn: () => false,
      application: () => ({ log: (record) => records.push(record) }),
      recoveryLevel: () => recoveryLevel,
      clock: new FakeClock(),
    });
    const about = { cluster: 'echo' };
    for (let i = 0; i < 2; i++) {
      logger.error(() => 'refused', { event: 'cluster-failed', ...about });
      logger.info(() => 'connected', { event: 'cluster-recovered', ...about });
    }
    return records.map(({ level, event }) => `${level} ${event}`);
  };

  it.each([undefined, 'info'] as const)('has the level info with %s', (level) => {
    const once = ['error cluster-failed', 'info cluster-recovered'];
    // Neither is a repetition.
    expect(levelsOf(level)).toEqual([...once, ...once]);
  });

  it('has the level of failures if that is chosen', () => {
    const once = ['error cluster-failed', 'error cluster-recovered'];
    expect(levelsOf('error')).toEqual([...once, ...once]);
  });
});

describe('lines of grpc-js', () => {
  it('have a time of their own, which its logger does not give them', () => {
    const write = jest.fn();
    setLogger({ error: write });
    const clock = new FakeClock();
    createGrpcLogger({ isTracerOn: () => false, clock }).error(() => 'Cluster "a": refused');
    expect(write.mock.calls).toEqual([['2023-11-14T22:13:20.000Z | Cluster "a": refused']]);
    setLogger(console);
  });

  it('have the number of lines left out, of the same text but for numbers', () => {
    const write = jest.fn();
    setLogger({ error: write });
    const clock = new FakeClock();
    const logger = createGrpcLogger({ isTracerOn: () => false, clock });
    for (let i = 0; i < 8; i++) logger.error(() => `attempt ${i}`);
    clock.advance(10_000);
    for (let i = 8; i < 10; i++) logger.error(() => `attempt ${i}`);
    clock.advance(10_000);
    logger.error(() => 'attempt 14');
    const lines = write.mock.calls.map(([line]) => String(line));
    expect(lines[5]).toMatch(/attempt 8 \(3 such lines were left out before\)$/);
    expect(lines.at(-1)).toMatch(/attempt 14 \(1 such line was left out before\)$/);
    setLogger(console);
  });
});

describe('parseTracers', () => {
  it.each([
    ['', 'xds_client', false],
    ['xds_client', 'xds_client', true],
    ['xds_client', 'xds_resolver', false],
    ['dns_resolver,xds_client', 'xds_client', true],
    ['all', 'xds_client', true],
    ['all,-xds_client', 'xds_client', false],
    ['-xds_client,all', 'xds_client', false],
    ['all,-xds_client', 'xds_resolver', true],
    ['xds_client,-xds_client', 'xds_client', false],
    ['-xds_client', 'xds_resolver', false],
    ['all', 'constructor', true],
    ['', 'constructor', false],
  ])('GRPC_TRACE=%j: is %s on? %s', (list, tracer, on) => {
    expect(parseTracers(list)(tracer)).toBe(on);
  });
});
