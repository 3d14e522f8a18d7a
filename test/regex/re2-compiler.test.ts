import { Re2Compiler } from '../../src/regex/re2-compiler';
import type { RegexCompiler } from '../../src/resources/extension-points';
import { Violations } from '../../src/util/violations';

const compiler: RegexCompiler = new Re2Compiler();

function compile(pattern: string) {
  const violations = Violations.root();
  const regex = compiler.compile(pattern, violations);
  if (regex === undefined) throw new Error(violations.all.join());
  return regex;
}

describe('a compiled pattern', () => {
  it.each([
    ['a', 'a', true],
    ['a', 'ab', false],
    ['a', 'ba', false],
    // Without a group around it, the first would match the start and the second the end.
    ['foo|bar', 'foo', true],
    ['foo|bar', 'bar', true],
    ['foo|bar', 'foobaz', false],
    ['foo|bar', 'bazbar', false],
    ['^a$', 'a', true],
    ['^a$', 'a\n', false],
    ['.*', 'a\nb', false],
    ['(?s).*', 'a\nb', true],
    ['(?i)AbC', 'aBc', true],
    ['a*?', 'aaa', true],
    ['', '', true],
    ['', 'a', false],
    ['/[\\w.]+/Say\\pL+', '/pkg.Greeter/Sayäß', true],
    ['.', '💡', true],
  ])('%j matches %j as a whole: %s', (pattern, text, expected) => {
    expect(compile(pattern).matches(text)).toBe(expected);
  });

  it('keeps its pattern', () => {
    expect(compile('a|b').pattern).toBe('a|b');
  });

  it.each([
    ['o', 'foo boo', 'e', 'fee bee'],
    ['(\\w+)@(\\w+)', 'me@here', '\\2 at \\1', 'here at me'],
    ['(\\w)\\w*', 'one two', '<\\0:\\1>', '<one:o> <two:t>'],
    ['a', 'banana', '$1$&', 'b$1$&n$1$&n$1$&'],
    ['a', 'a', '\\\\1', '\\1'],
    ['(a)|(b)', 'ab', '[\\1\\2]', '[a][b]'],
    ['(a)', 'a', '\\9', ''],
    // An empty match counts, except right after another match.
    ['b*', 'abc', '-', '-a-c-'],
    ['x*', 'ab', '-', '-a-b-'],
    ['x', 'ab', '-', 'ab'],
    ['a', 'a', '\\q', 'a'],
    ['\\d+$', 'user-17', '', 'user-'],
  ])('%j in %j replaced by %j gives %j', (pattern, text, substitution, expected) => {
    expect(compile(pattern).replaceAll(text, substitution)).toBe(expected);
  });

  it('replaces with another text after one', () => {
    const regex = compile('(a)');
    expect([
      regex.replaceAll('a', '<\\1>'),
      regex.replaceAll('a', 'b'),
      regex.replaceAll('a', '<\\1>'),
    ]).toEqual(['<a>', 'b', '<a>']);
  });

  it.each(['(a+)+$', '(a|a)*b', '(a|aa)+$', '(.*)*x', '(?:a?){30}a{30}'])(
    '%j takes linear time on a text made to hurt it',
    (pattern) => {
      const regex = compile(pattern);
      const text = `${'a'.repeat(20_000)}!`;
      const startedAt = performance.now();
      expect(regex.matches(text)).toBe(false);
      regex.replaceAll(text, '');
      // A backtracking engine would outlive the machine.
      expect(performance.now() - startedAt).toBeLessThan(1000);
    },
  );
});

describe('a pattern that cannot be compiled', () => {
  it.each([
    ['(a', 'must be an RE2 expression: missing closing ): `(a`'],
    ['[b-a]', 'must be an RE2 expression: invalid character class range: `b-a`'],
    ['(?=a)', 'must be an RE2 expression: invalid or unsupported Perl syntax: `(?=`'],
    ['(a)\\1', 'must be an RE2 expression: invalid escape sequence: `\\1`'],
    ['a{1001}', 'must be an RE2 expression: invalid repeat count: `{1001}`'],
    ['((a{99}){99}){99}', 'must be an RE2 expression: invalid repeat count: `{99}`'],
    ['(((', 'must be an RE2 expression: missing closing ): `(((`'],
  ])('%j is a violation with the reason', (pattern, reason) => {
    const violations = Violations.root();
    expect(compiler.compile(pattern, violations.at('regex'))).toBeUndefined();
    expect(violations.all).toEqual([`regex: ${reason}`]);
  });

  it('is not repeated at length', () => {
    const violations = Violations.root();
    compiler.compile('('.repeat(900), violations);
    compiler.compile('('.repeat(5000) + ')'.repeat(5000), violations);
    expect(violations.all).toEqual([
      `must be an RE2 expression: missing closing ): \`${'('.repeat(140)}…`,
      'must be an RE2 expression: expression nests too deeply',
    ]);
  });
});

describe('the compiler', () => {
  it('does not compile a pattern again that is in use', () => {
    expect(compile('in-use.*')).toBe(compile('in-use.*'));
    expect(compile('in-use.*')).not.toBe(compile('in-use.+'));
  });

  it('knows patterns that are called like members of an object', () => {
    expect(compile('constructor').matches('constructor')).toBe(true);
    expect(compile('__proto__').matches('__proto__')).toBe(true);
  });

  it('loads its engine with the first pattern, not before', () => {
    const loaded: string[] = [];
    jest.isolateModules(() => {
      jest.doMock('re2js', () => {
        loaded.push('re2js');
        return jest.requireActual('re2js');
      });
      const { Re2Compiler: Fresh } = jest.requireActual('../../src/regex/re2-compiler');
      const fresh: RegexCompiler = new Fresh();
      expect(loaded).toEqual([]);
      expect(fresh.compile('a', Violations.root())?.matches('a')).toBe(true);
    });
    expect(loaded).toEqual(['re2js']);
  });
});
