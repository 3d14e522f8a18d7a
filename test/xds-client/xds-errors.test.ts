import {
  absentError,
  badNameError,
  describeServer,
  describeStreamEnd,
  expiredError,
  rejectedError,
  serverError,
} from '../../src/xds-client/xds-errors';
import { joinBounded } from '../../src/util/violations';
import { StatusCode } from '../../src/util/status-code';

describe('joinBounded', () => {
  it('joins what is short', () => {
    expect(joinBounded([])).toBe('');
    expect(joinBounded(['one'])).toBe('one');
    expect(joinBounded(['one', 'two'])).toBe('one; two');
  });

  it('says how many it leaves out', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `violation number ${index}`);
    const joined = joinBounded(many);
    expect(joined.length).toBeLessThan(8300);
    const shown = joined.split('; ').slice(0, -1);
    expect(shown).toEqual(many.slice(0, shown.length));
    expect(joined.endsWith(`; and ${1000 - shown.length} more`)).toBe(true);
  });

  it('cuts a text that is too long by itself', () => {
    const long = 'x'.repeat(10_000);
    // Less than a secret at the end, which would not be recognised.
    expect(joinBounded([long])).toBe(`${'x'.repeat(8192 - 15)}…`);
    expect(joinBounded([long, 'y', 'z'])).toBe(`${'x'.repeat(8192 - 15)}…; and 2 more`);
  });
});

describe('describeStreamEnd', () => {
  it.each([
    [14, 'no route', 'cannot be reached: no route'],
    [0, '', 'closed the stream without answering: see its log'],
    [
      16,
      'who are you',
      'ended the stream with UNAUTHENTICATED: who are you: check node and channel_creds of the bootstrap',
    ],
    [77, 'odd', 'ended the stream with code 77: odd: see its log'],
  ])('names code %i', (code, details, text) => {
    expect(describeStreamEnd({ code, details })).toBe(text);
  });
});

describe('an error with text from the network', () => {
  const HOSTILE = 'a\u001b[2J\nb';
  const SHOWN = 'a\\x1b[2J\\nb';
  const id = { typeName: 'Cluster', name: HOSTILE };
  const token = 'eyJhbGciOiJub25lIn0.eyJhIjoxfQ.';

  it.each([
    ['in a name', absentError(id, 's').message, `Cluster "${SHOWN}": no such resource`],
    ['in a reason', badNameError(id, HOSTILE, 'n').message, `resource name: ${SHOWN} (node`],
    ['in a violation', rejectedError(id, 's', [HOSTILE]).message, `(NACK): ${SHOWN}`],
    [
      'in an error of the server',
      serverError(id, 's', { code: 7, details: `${HOSTILE} ${token}` }).message,
      `reports PERMISSION_DENIED: ${SHOWN} [redacted]`,
    ],
    [
      'in the end of a stream',
      describeStreamEnd({ code: 16, details: `${HOSTILE} ${token}` }),
      `UNAUTHENTICATED: ${SHOWN} [redacted]`,
    ],
  ])('has neither control characters nor tokens: %s', (_, message, expected) => {
    expect(message).toContain(expected);
    expect(message).not.toMatch(/\p{Cc}/u);
  });
});

it('the time to live of a resource is described without an exponent', () => {
  const id = { typeName: 'Listener', name: 'echo' };
  expect(expiredError(id, 'xds.test:443', 1e-6).message).toContain(
    'within its time to live of less than 0.001 s: see its log',
  );
  expect(expiredError(id, 'xds.test:443', 1500).message).toContain('time to live of 1.5 s:');
});

it('a server is described in one line, whatever the id of its node is', () => {
  const server = { serverUri: 'xds.test:443' } as Parameters<typeof describeServer>[0];
  expect(describeServer(server, 'a\nb')).toBe('management server xds.test:443 (node "a\\nb")');
});

describe('a server that ends a stream with UNAVAILABLE', () => {
  const status = { code: StatusCode.UNAVAILABLE, details: 'overloaded' };

  it('cannot be reached, unless it has answered', () => {
    expect(describeStreamEnd(status)).toBe('cannot be reached: overloaded');
    expect(describeStreamEnd({ ...status, hasAnswered: true })).toBe(
      'ended the stream with UNAVAILABLE: overloaded: see its log',
    );
  });
});
