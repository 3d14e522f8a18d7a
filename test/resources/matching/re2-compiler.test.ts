import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import type { RegexCompiler, RegexCompilers } from '../../../src/resources/extension-points';
import { Violations } from '../../../src/util/violations';

const compilers: RegexCompilers = new Re2Compiler({
  ...DEFAULT_LIMITS,
  maxRegexSize: 10_000_000,
  maxRegexSizePerResource: 10_000_000,
});
const compiler: RegexCompiler = compilers.forResource();

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
    expect(compile(pattern).replaceAll(text, substitution, Infinity)).toBe(expected);
  });

  it.each([
    ['a', 'aaaa', '<\\0>', 5, '<a><a'],
    ['x*', 'a'.repeat(1000), '\\0'.repeat(1000), 3, 'aaa'],
    ['.', 'b'.repeat(1000), '\\0'.repeat(1000), 4, 'bbbb'],
    ['x', 'abc', '-', 2, 'ab'],
    ['a', 'abc', '\\q', 2, 'ab'],
  ])(
    '%j cuts its result after the characters given',
    (pattern, text, substitution, max, expected) => {
      expect(compile(pattern).replaceAll(text, substitution, max)).toBe(expected);
    },
  );

  it('replaces with another text after one', () => {
    const regex = compile('(a)');
    expect([
      regex.replaceAll('a', '<\\1>', Infinity),
      regex.replaceAll('a', 'b', Infinity),
      regex.replaceAll('a', '<\\1>', Infinity),
    ]).toEqual(['<a>', 'b', '<a>']);
  });

  it.each(['(a+)+$', '(a|a)*b', '(a|aa)+$', '(.*)*x', '(?:a?){30}a{30}'])(
    '%j is decided on a text with which a backtracking engine would not end',
    (pattern) => {
      const regex = compile(pattern);
      const text = `${'a'.repeat(20_000)}!`;
      expect(regex.matches(text)).toBe(false);
      expect(regex.replaceAll(text, '', Infinity)).not.toBe('');
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

  it('has a message of limited length', () => {
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

  it('compiles patterns with the names of object members', () => {
    expect(compile('constructor').matches('constructor')).toBe(true);
    expect(compile('__proto__').matches('__proto__')).toBe(true);
  });

  it('loads its engine with the first pattern', () => {
    const loaded: string[] = [];
    jest.isolateModules(() => {
      jest.doMock('re2js', () => {
        loaded.push('re2js');
        return jest.requireActual('re2js');
      });
      const { Re2Compiler: Fresh } = jest.requireActual(
        '../../../src/resources/matching/re2-compiler',
      );
      const fresh: RegexCompilers = new Fresh(DEFAULT_LIMITS);
      expect(loaded).toEqual([]);
      expect(fresh.forResource().compile('a', Violations.root())?.matches('a')).toBe(true);
    });
    expect(loaded).toEqual(['re2js']);
  });
});

describe('the limits of a resource', () => {
  const limits = { ...DEFAULT_LIMITS, maxRegexSize: 40, maxRegexSizePerResource: 50 };
  let violations: Violations;
  beforeEach(() => {
    violations = Violations.root();
  });

  it('reject a pattern that is too large, before it is compiled', () => {
    const regexes = new Re2Compiler(limits).forResource();
    // Syntax errors would be found first if it were compiled.
    expect(regexes.compile('(x{24}', violations.at('regex'))).toBeUndefined();
    expect(violations.all).toEqual([
      'regex: expression of size 66 exceeds the limit maxRegexSize of 40',
    ]);
  });

  it('reject a pattern that is too long without parsing it', () => {
    const regexes = new Re2Compiler(limits).forResource();
    expect(regexes.compile('('.repeat(1_000_000), violations)).toBeUndefined();
    expect(violations.all).toEqual([
      'expression of size 1000000 exceeds the limit maxRegexSize of 40',
    ]);
  });

  it('reject patterns that are too large together, and count each pattern once', () => {
    const regexes = new Re2Compiler(limits).forResource();
    expect(regexes.compile('aaaa', violations)?.size).toBe(20);
    expect(regexes.compile('aaaa', violations)?.size).toBe(20);
    expect(regexes.compile('bbbb', violations)?.size).toBe(20);
    expect(violations.all).toEqual([]);
    expect(regexes.compile('cccc', violations)).toBeUndefined();
    expect(violations.all).toEqual([
      'the expressions of the resource exceed the limit maxRegexSizePerResource of 50',
    ]);
  });

  it('count the patterns that a resource keeps, and each resource separately', () => {
    const shared = new Re2Compiler(limits);
    const [a, b, c] = ['aaaa', 'bbbb', 'cccc'].map((pattern) =>
      shared.forResource().compile(pattern, violations),
    );
    if (!a || !b || !c) throw new Error(violations.all.join());
    const update = shared.forResource();
    expect([update.keep(a), update.keep(b), update.keep(a), update.keep(c)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
