import { sanitizeText } from '../../src/util/text';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF-_0';

describe('sanitizing text from the network', () => {
  it.each([
    ['plain text', 'connection refused: 10.0.0.1:80', 'connection refused: 10.0.0.1:80'],
    ['letters of any script', 'größe 値 🙂', 'größe 値 🙂'],
    ['a forged line', 'no\r\nERROR x\tall is well', 'no\\r\\nERROR x\\tall is well'],
    ['a command to a terminal', '\u001b]0;x\u0007\u009b2J\u007f', '\\x1b]0;x\\x07\\x9b2J\\x7f'],
    ['reversed text', 'a\u202Eb\u2066\u200B', 'a\\u{202e}b\\u{2066}\\u{200b}'],
    ['line separators and half characters', 'a\u2028\uD800', 'a\\u{2028}\\u{d800}'],
    ['a token', `bad token ${JWT}, sorry`, 'bad token [redacted], sorry'],
    ['a token that is cut short', `bad ${JWT.slice(0, 30)}…`, 'bad [redacted]…'],
    ['a header', 'Bearer ya29.abcdefghijklm rejected', 'Bearer [redacted] rejected'],
    ['words about tokens', 'missing Bearer token; Basic auth', 'missing Bearer token; Basic auth'],
  ])('returns what can be shown of %s', (_, text, shown) => {
    expect(sanitizeText(text)).toBe(shown);
    expect(sanitizeText(shown)).toBe(shown);
  });
});
