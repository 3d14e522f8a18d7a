import { compareSubjects, describeComparison, type Fact } from '../../src/util/compare-subjects';

/** Texts, or a text and a key. */
type Facts = Readonly<Record<string, string | readonly [string, string]>>;

function subjectsOf(...all: readonly Facts[]) {
  return all.map((facts, index) => ({
    name: `pid ${index + 1}`,
    facts: new Map<string, Fact>(
      Object.entries(facts).map(([name, value]) => [
        name,
        typeof value === 'string' ? { text: value } : { text: value[0], key: value[1] },
      ]),
    ),
  }));
}

function verdictOf(...all: readonly Facts[]): string {
  const subjects = subjectsOf(...all);
  return describeComparison(compareSubjects(subjects), subjects, 'processes');
}

describe('compareSubjects', () => {
  it('finds the one that differs from the majority', () => {
    const subjects = subjectsOf({ a: '1', b: '2' }, { a: '1', b: '2' }, { a: '1', b: '3' });
    expect(compareSubjects(subjects)).toEqual({
      compared: 2,
      differences: [{ fact: 'b', usual: '2', usualCount: 2, others: [{ subject: 2, text: '3' }] }],
    });
  });

  it.each<[string, readonly Facts[], string]>([
    ['nothing to compare', [{ a: '1' }], 'nothing to compare'],
    ['agreement', [{ a: '1' }, { a: '1' }], '2 processes agree in all of 1'],
    [
      'one that differs',
      [
        { a: '1', b: '1' },
        { a: '1', b: '1' },
        { a: '1', b: '7' },
      ],
      'pid 3 differs in 1 of 2: b: 7, others 1',
    ],
    [
      'two values without a majority',
      [{ a: '1' }, { a: '2' }],
      'no majority in 1 of 1: a: 1 (pid 1), 2 (pid 2)',
    ],
    [
      'a fact that only some have, which is not compared for the others',
      [{ a: '1' }, { a: '1' }, { b: '1' }],
      '3 processes agree in all of 1',
    ],
    [
      'keys, which decide in place of the texts',
      [{ a: ['version 1', 'k'] }, { a: ['version 2', 'k'] }],
      '2 processes agree in all of 1',
    ],
    [
      'other contents of the same version',
      [{ a: ['version 1', 'k'] }, { a: ['version 1', 'k'] }, { a: ['version 1', 'l'] }],
      'pid 3 differs in 1 of 1: a: version 1 with other contents, others version 1',
    ],
    [
      'texts, if not all have a key',
      [{ a: ['version 1', 'k'] }, { a: ['version 1', 'l'] }, { a: 'version 1' }],
      '3 processes agree in all of 1',
    ],
  ])('describes %s', (_, facts, verdict) => {
    expect(verdictOf(...facts)).toBe(verdict);
  });

  it('names three subjects and three differences, and counts the others', () => {
    const usual = { a: '1', b: '1', c: '1', d: '1' };
    const all = [...Array.from({ length: 6 }, () => usual), { a: '2', b: '2', c: '2', d: '2' }];
    expect(verdictOf(...all)).toBe(
      'pid 7 differs in 4 of 4: a: 2, others 1, b: 2, others 1, c: 2, others 1, and 1 more',
    );
    const odd = Array.from({ length: 4 }, () => ({ ...usual, a: '2' }));
    expect(verdictOf(...Array.from({ length: 6 }, () => usual), ...odd)).toMatch(
      /^pid 7 differs in 1 of 4: a: 2, others 1; .*; and 1 more processes differ$/,
    );
  });

  it('compares 64 subjects with 5,000 facts each', () => {
    const facts = new Map(Array.from({ length: 5000 }, (_, i) => [`fact ${i}`, { text: '1' }]));
    const subjects = Array.from({ length: 64 }, (_, i) => ({ name: `${i}`, facts }));
    expect(compareSubjects(subjects)).toEqual({ compared: 5000, differences: [] });
  });
});
