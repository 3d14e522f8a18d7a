import { setLogger, setLogVerbosity, logVerbosity } from '@grpc/grpc-js';
import { createGrpcLogger, parseTracers } from '../../src/grpc-js/grpc-logger';

describe('the logger', () => {
  it('writes every text without control characters and tokens', () => {
    const write = jest.fn();
    setLogger({ error: write, info: write, debug: write });
    setLogVerbosity(logVerbosity.DEBUG);
    const logger = createGrpcLogger(() => false);
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
