import { createGrpcLogger } from '../../src/grpc-js/grpc-logger';
import { log } from '../../src/grpc-js';
import { createFailurePicker } from '../../src/lb/connectivity';
import { describeHandshakeError } from '../../src/security/client/handshake-result';
import { describeDetails } from '../../src/transport/grpc-stream';
import { SentSecrets } from '../../src/transport/connection-credentials';
import { cutText, quoteText, sanitizeText } from '../../src/util/text';
import { Violations } from '../../src/util/violations';
import {
  badNameError,
  describeResource,
  describeStreamEnd,
  rejectedError,
  serverError,
} from '../../src/xds-client/xds-errors';
import { FakeClock } from '../support/fake-clock';

jest.mock('../../src/grpc-js', () => ({
  ...jest.requireActual<object>('../../src/grpc-js'),
  log: jest.fn(),
}));

const LENGTH = 10_000_000;
/** Characters that may reach what cleans or quotes a text: some passes over what is shown of it. */
const MAX_CLEANED = 500_000;

const status = (details: string) => ({ code: 14, details });
const id = (name: string) => ({ typeName: 'Listener', name });

/** Every function that formats a text from outside. */
const places: readonly (readonly [string, (text: string) => string])[] = [
  ['a text in a status or a log line', (text) => sanitizeText(text)],
  ['a quoted text', (text) => quoteText(text)],
  ['the name of a resource', (text) => describeResource(id(text))],
  ['the end of a stream', (text) => describeStreamEnd(status(text))],
  ['the status of a stream', (text) => describeDetails(text)],
  ['a status in which secrets are redacted', (text) => redactor().redact(text)],
  ['an unusable name', (text) => badNameError(id(text), text, 'n').message],
  ['the error of a server', (text) => serverError(id(text), 's', status(text)).message],
  ['the violations of a resource', (text) => rejectedError(id('a'), 's', [text, text]).message],
  ['the path of a violation', (text) => violation((at) => at.key(text).add('wrong'))],
  ['the reason of a violation', (text) => violation((at) => at.at('name').add(text))],
  ['the status of a pick', (text) => JSON.stringify(createFailurePicker(text))],
  ['an error of a handshake', (text) => sanitizeText(describeHandshakeError(new Error(text)))],
  ['a line of the log', logLine],
];

function redactor(): SentSecrets {
  return new SentSecrets();
}

function violation(add: (at: Violations) => void): string {
  const root = Violations.root();
  add(root);
  return root.all.join();
}

function logLine(text: string): string {
  const logged = jest.mocked(log);
  logged.mockClear();
  createGrpcLogger({ isTracerOn: () => false, clock: new FakeClock() }).error(() => text);
  return String(logged.mock.calls[0]?.[1]);
}

const texts: readonly (readonly [string, string])[] = [
  ['control characters', '\u0007'],
  ['lone surrogates', '\ud800'],
  ['emoji', '🙂'],
  ['characters that reverse text', '\u202e'],
  ['commands to a terminal', '\u001b[2J'],
  ['line breaks', '\r\n'],
  ['spaces', ' '],
  ['tokens', 'Bearer abcdefghijklmnopqrst '],
];

describe.each(texts)('10 MB of %s', (_, unit) => {
  const text = unit.repeat(LENGTH / unit.length);

  it.each(places)('are cut before they are cleaned: %s', (_place, format) => {
    const cleaned = jest.spyOn(String.prototype, 'replace');
    const quoted = jest.spyOn(JSON, 'stringify');
    const shown = format(text);
    const characters =
      cleaned.mock.contexts.reduce<number>((sum, each) => sum + String(each).length, 0) +
      quoted.mock.calls.reduce((sum, [value]) => sum + String(value).length, 0);
    cleaned.mockRestore();
    quoted.mockRestore();
    expect(characters).toBeLessThan(MAX_CLEANED);
    expect(shown.length).toBeLessThan(100_000);
  });
});

describe('a text that is cut', () => {
  it('keeps whole characters, and says that there was more', () => {
    expect(cutText('ab🙂c', 3)).toBe('ab…');
    expect(cutText('ab🙂c', 4)).toBe('ab🙂…');
    expect(cutText('abc', 3)).toBe('abc');
  });

  it('shows no beginning of a secret at its end', () => {
    const secret = 'abcdefghijklmnopqrstuvwxyz0123456789';
    for (let shown = 1; shown < secret.length; shown++) {
      const text = `${' '.repeat(1000 - 'Bearer '.length - shown)}Bearer ${secret}`;
      expect(sanitizeText(text, 1000)).not.toContain('abc');
    }
  });

  it('is the same when it is sanitized again', () => {
    for (const [, unit] of texts) {
      const once = sanitizeText(unit.repeat(50_000));
      expect(sanitizeText(once)).toBe(once);
    }
  });
});
