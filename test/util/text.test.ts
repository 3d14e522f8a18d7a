import { joinFirst, listFirst, sanitizeText } from '../../src/util/text';

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

describe('the credentials of a header', () => {
  const schemes = [
    'Bearer',
    'Basic',
    'Digest',
    'Negotiate',
    'NTLM',
    'Hawk',
    'HOBA',
    'DPoP',
    'OAuth',
    'ApiKey',
    'AWS4-HMAC-SHA256',
    'SCRAM-SHA-256',
    'vapid',
    'Token',
    'GNAP',
    'bearer',
    'x',
    '',
  ];
  const credentials = [
    'hunter2',
    'SeCrEtLeTtErS',
    'verysecretletterswithoutanyend',
    'abc.def-ghi_jkl~mno+pqr/stu==',
    'Credential=AKIA/20260101/us/s3/aws4_request, SignedHeaders=host, Signature=fe5f80',
    'username="Mufasa", realm="a b", response="6629fae49393a05397450978507c4ef1"',
    'id="dh37fgj492je", mac="6R4rV5iE+NPoym+WwjeHzjAGXUtLNIxmo1vpMofpLAE="',
    'sid=38afes7a8; theme=light; Path=/',
    'café\u009b31m',
  ];
  const names = ['authorization', 'Proxy-Authorization', 'cookie'];
  const lines: readonly ((header: string) => string)[] = [
    (header) => header,
    (header) => `Failed to send ${header}`,
    (header) => `\t\t${header}\n\t\thost: a`,
    (header) => `headers (${header}`,
  ];
  const cases = names.flatMap((name) =>
    schemes.flatMap((scheme) => credentials.map((each) => ({ name, scheme, each }))),
  );

  it('are hidden with any scheme, to the end of the line', () => {
    for (const { name, scheme, each } of cases) {
      const header = `${name}: ${scheme} ${each}`.replace(/ +/g, ' ');
      for (const line of lines) {
        const shown = sanitizeText(line(header));
        for (const word of each.split(/[^A-Za-z0-9]+/).filter((part) => part.length > 5)) {
          expect(shown).not.toContain(word);
        }
        expect(shown).toContain(name);
        expect(sanitizeText(shown)).toBe(shown);
      }
    }
  });
});

describe('a list that is cut', () => {
  const quote = (text: string) => `"${text}"`;
  const five = ['a', 'b', 'c', 'd', 'e'];

  it.each<[string, readonly string[], readonly string[], string]>([
    ['empty', [], [], ''],
    ['as long as may be', five, five.map(quote), '"a"; "b"; "c"; "d"; "e"'],
    [
      'longer',
      [...five, 'f', 'g'],
      [...five.map(quote), 'and 2 more'],
      '"a"; "b"; "c"; "d"; "e" and 2 more',
    ],
  ])('has the first items and the number of the others: %s', (_, items, listed, joined) => {
    expect(listFirst(items, quote)).toEqual(listed);
    expect(joinFirst(items, quote, '; ')).toBe(joined);
  });
});
