import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import { MatchMeter } from '../../../src/resources/matching/match-meter';
import { silentLogger } from '../../../src/util/logger';
import { Violations } from '../../../src/util/violations';

describe('the steps of a call', () => {
  const logged: string[] = [];
  const logger = { ...silentLogger, error: (text: () => string) => void logged.push(text()) };
  let meter: MatchMeter;
  beforeEach(() => {
    logged.length = 0;
    meter = new MatchMeter({ ...DEFAULT_LIMITS, maxRegexStepsPerCall: 10_000 }, logger);
  });

  function compile(pattern: string) {
    const violations = Violations.root();
    const regex = new Re2Compiler(DEFAULT_LIMITS, meter).forResource().compile(pattern, violations);
    if (regex === undefined) throw new Error(violations.all.join());
    return regex;
  }

  it('are unlimited outside of calls', () => {
    expect(compile('a*').matches('a'.repeat(100_000))).toBe(true);
    expect(meter.exceeded).toBeUndefined();
  });

  it('are unlimited again after a call that exceeded them, such as for the names of a certificate', () => {
    const regex = compile('a*');
    meter.begin();
    expect(regex.matches('a'.repeat(100_000))).toBe(false);
    expect(meter.end()).toMatchObject({ limit: 'maxRegexStepsPerCall', textLength: 100_000 });
    expect(regex.matches('a')).toBe(true);
  });

  it('are spent by the length of the text; beyond them nothing matches until the next call', () => {
    const regex = compile('(?:a|b)*');
    const [short, long] = ['a'.repeat(10), 'a'.repeat(1000)];
    meter.begin();
    expect([regex.matches(short), regex.matches(long), regex.matches(short)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(meter.exceeded).toEqual({
      limit: 'maxRegexStepsPerCall',
      subject: '"(?:a|b)*"',
      textLength: 1000,
    });
    meter.begin();
    expect(meter.exceeded).toBeUndefined();
    expect(regex.matches(short)).toBe(true);
  });

  it('add up over all patterns of a call', () => {
    const regexes = Array.from({ length: 20 }, (_, i) => compile(`.*[${i}x]`));
    meter.begin();
    const matched = regexes.map((regex) => regex.matches(`${'a'.repeat(40)}x`));
    expect(matched.indexOf(false)).toBe(11);
  });

  it('are not spent on a text without the prefix', () => {
    const regex = compile('/pkg[.]Service/.*');
    meter.begin();
    for (let i = 0; i < 1000; i++) expect(regex.matches('/other.Service/Method')).toBe(false);
    expect(meter.exceeded).toBeUndefined();
    expect(regex.matches('/pkg.Service/Method')).toBe(true);
  });

  it('are spent on a long prefix, which may differ from the text at its end only', () => {
    const regex = compile(`${'a'.repeat(900)}b.*`);
    meter.begin();
    let tried = 0;
    while (meter.exceeded === undefined && tried < 100_000) {
      tried++;
      regex.matches('a'.repeat(1000));
    }
    expect(meter.exceeded).toMatchObject({ limit: 'maxRegexStepsPerCall', textLength: 1000 });
  });

  it('bound a replacement, which scans the text once for each match', () => {
    const regex = compile('b|(?:a[^c]*c)');
    meter.begin();
    expect(regex.replaceAll('b'.repeat(5), '-', Infinity)).toBe('-----');
    expect(regex.replaceAll('b'.repeat(500), '-', Infinity)).toBeUndefined();
    expect(meter.exceeded?.textLength).toBe(500);
  });

  it('are not spent on a replacement whose result is long enough', () => {
    const regex = compile('b');
    meter.begin();
    expect(regex.replaceAll('b'.repeat(400), '--', 2)).toBe('--');
    meter.begin();
    const onlyOneSearchFits = 'b'.repeat(400);
    expect(regex.replaceAll(onlyOneSearchFits, '--', 3)).toBeUndefined();
  });

  it('are logged once for each pattern that exceeds them', () => {
    for (const pattern of ['a*', 'a*', 'b'.repeat(200)]) {
      meter.begin();
      meter.spendRegex(10_001, pattern, 5);
      const exceeded = meter.end();
      if (exceeded !== undefined) meter.log(exceeded, pattern.charAt(0));
    }
    expect(logged).toEqual([
      'a: matching the regular expressions takes more than 10000 steps (limit ' +
        'maxRegexStepsPerCall), at "a*" and a text of 5 characters',
      'b: matching the regular expressions takes more than 10000 steps (limit ' +
        `maxRegexStepsPerCall), at "${'b'.repeat(100)}…" and a text of 5 characters`,
    ]);
  });
});
