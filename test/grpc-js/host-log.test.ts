import type * as GrpcJs from '@grpc/grpc-js';
import type * as HostLogModule from '../../src/grpc-js/host-log';
import { FakeClock } from '../support/fake-clock';

// Each test has grpc-js, and the module under test, as a process has them that has just started.

type Host = typeof GrpcJs;
type HostLog = typeof HostLogModule;

const SECRET = 's3cr3t-token-of-a-user';

/** Headers whose values may be credentials. */
const HEADERS = [
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-auth-token',
  'x-amz-security-token',
  'x-session-id',
  'x-csrf-token',
  'x-forwarded-client-cert',
];

describe('the lines of grpc-js', () => {
  let lines: string[];
  let clock: FakeClock;
  let host: Host;
  let guard: () => void;
  let writeOwn: HostLog['writeOwn'];

  beforeEach(() => {
    lines = [];
    clock = new FakeClock();
    jest.spyOn(console, 'error').mockImplementation((line) => void lines.push(String(line)));
    jest.resetModules();
    host = jest.requireActual<Host>('@grpc/grpc-js');
    host.setLogVerbosity(host.logVerbosity.ERROR);
    const module = jest.requireActual<HostLog>('../../src/grpc-js/host-log');
    guard = () => module.guardHostLog(clock);
    writeOwn = module.writeOwn;
  });
  afterEach(() => jest.restoreAllMocks());

  /** Headers of a peer with a value that grpc-js refuses, which it logs. */
  const receive = (name: string, value: string) =>
    host.Metadata.fromHttp2Headers({ [name]: `${value}\xe9` });

  it('are those of a peer that sends values outside ASCII, without a guard', () => {
    receive('authorization', `Bearer ${SECRET}`);
    expect(lines.join('\n')).toContain(SECRET);
  });

  it('have no credentials, whatever the header and the scheme', () => {
    guard();
    for (const name of HEADERS) {
      for (const scheme of ['Bearer ', 'Basic ', 'Hawk id=', 'AWS4-HMAC-SHA256 Credential=', '']) {
        clock.advance(60_000);
        const before = lines.length;
        receive(name, scheme + SECRET);
        expect(lines.length).toBe(before + 1);
      }
    }
    expect(lines.join('\n')).not.toContain(SECRET);
    expect(lines[0]).toBe('E Failed to add metadata entry authorization: [redacted]');
  });

  it('have no control characters, and are short', () => {
    guard();
    receive('x-c1', '\x9b31mred\x9b2J\x85E fake | server: serving');
    receive('x-long', '\xff'.repeat(100_000));
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      // eslint-disable-next-line no-control-regex -- what a terminal obeys
      expect(line).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
      expect(line.length).toBeLessThan(1100);
    }
  });

  it('are limited, however the names and the values differ', () => {
    guard();
    for (let i = 0; i < 1000; i++) receive(`x-${i.toString(36)}`, `v${i.toString(36)}`);
    expect(lines).toHaveLength(5);
    clock.advance(10_000);
    receive('x-other', 'v');
    expect(lines).toHaveLength(6);
    expect(lines[5]).toMatch(/\(995 such lines were left out before\)$/);
  });

  it('go to a logger that the application has set, before or later, as they are', () => {
    const own: string[] = [];
    const logger = { error: (line: unknown) => void own.push(String(line)) };
    host.setLogger(logger);
    guard();
    for (let i = 0; i < 100; i++) receive('authorization', SECRET);
    expect(own).toHaveLength(100);
    expect(own[0]).toContain(SECRET);
    expect(lines).toEqual([]);
  });

  it('of this package itself are written as they are', () => {
    guard();
    for (let i = 0; i < 100; i++) writeOwn(() => receive('x-a', 'v'));
    expect(lines).toHaveLength(100);
  });
});

describe('a trace of grpc-js', () => {
  it('keeps its lines, without control characters and credentials', () => {
    const { sanitizeHostLine } = jest.requireActual<HostLog>('../../src/grpc-js/host-log');
    const trace = ['Received server headers:', `\t\tauthorization: Foo ${SECRET}`, '\t\tx: \x9b'];
    expect(trace.map((line) => sanitizeHostLine(line))).toEqual([
      'Received server headers:',
      '\\t\\tauthorization: [redacted]',
      '\\t\\tx: \\x9b',
    ]);
  });
});
