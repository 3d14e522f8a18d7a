import { findJsonError } from '../../src/bootstrap/json-syntax';

describe('findJsonError', () => {
  it.each([
    ['', 'line 1, column 1: expected a value'],
    ['nope', 'line 1, column 1: expected a value'],
    ['/etc/bootstrap.json', 'line 1, column 1: expected a value'],
    ['{', 'line 1, column 2: expected a member name or "}"'],
    ['{"a": 1,}', 'line 1, column 9: expected a member name'],
    ["{'a': 1}", 'line 1, column 2: expected a member name or "}"'],
    ['{"a" 1}', 'line 1, column 6: expected ":"'],
    ['{"a": }', 'line 1, column 7: expected a value'],
    ['{"a": 1 "b": 2}', 'line 1, column 9: expected "," or "}"'],
    ['{"a": 1]', 'line 1, column 8: expected "," or "}"'],
    ['{\n  "a": [\n    1,\n    // no\n  ]\n}', 'line 4, column 5: expected a value'],
    ['[1, 2', 'line 1, column 6: expected "," or "]"'],
    ['[,]', 'line 1, column 2: expected a value or "]"'],
    ['{} {}', 'line 1, column 4: expected nothing more'],
    ['"abc', 'line 1, column 5: expected the end of a string'],
    ['"a\nb"', 'line 1, column 3: expected no control character'],
    ['"a\\xb"', 'line 1, column 4: expected an escape sequence'],
    ['[01]', 'line 1, column 2: expected a value or "]"'],
    ['[1.]', 'line 1, column 2: expected a value or "]"'],
    ['[True]', 'line 1, column 2: expected a value or "]"'],
  ])('points at the mistake in %j', (text, expected) => {
    expect(findJsonError(text)).toBe(expected);
  });

  it('counts lines by line feeds alone', () => {
    expect(findJsonError('\nx')).toMatch('line 2, column 1:');
    expect(findJsonError('\r\n\n 1 \n x\n\n')).toMatch('line 4, column 2:');
    expect(findJsonError('[\n')).toMatch('line 2, column 1:');
  });

  it('finds an error at any depth', () => {
    const text = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    expect(findJsonError(text)).toBeUndefined();
    expect(findJsonError(`${text}x`)).toBe('line 1, column 300002: expected nothing more');
    expect(findJsonError(text.slice(0, -1))).toBe('line 1, column 300001: expected "," or "}"');
  });

  it('accepts the texts that JSON.parse accepts', () => {
    const sample = JSON.stringify({
      a: [1, -0.5e-7, true, null, '\u2028 "\\\n'],
      '': { b: {}, c: [[]] },
    });
    const alphabet = ['', ',', ':', '"', '{', '}', '[', ']', '\\', '0', '-', 'e', '.', ' ', '\n'];
    let accepted = 0;
    for (let position = 0; position <= sample.length; position++) {
      for (const insertion of alphabet) {
        for (const removed of [0, 1, 2]) {
          const text = sample.slice(0, position) + insertion + sample.slice(position + removed);
          const isJson = parses(text);
          if (isJson) accepted++;
          expect({ text, isJson: findJsonError(text) === undefined }).toEqual({ text, isJson });
        }
      }
    }
    expect(accepted).toBeGreaterThan(50);
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
