import { compareClients, describeComparison } from '../../packages/cli/src/client/compare-clients';

type Facts = Readonly<Record<string, string>>;

function clientsOf(...all: readonly Facts[]) {
  return all.map((facts, index) => ({
    name: `pid ${index + 1}`,
    facts: new Map(Object.entries(facts)),
  }));
}

function verdictOf(...all: readonly Facts[]): string {
  const clients = clientsOf(...all);
  return describeComparison(compareClients(clients), clients);
}

describe('compareClients', () => {
  it('finds the one that differs from the majority', () => {
    const clients = clientsOf({ a: '1', b: '2' }, { a: '1', b: '2' }, { a: '1', b: '3' });
    expect(compareClients(clients)).toEqual({
      compared: 2,
      differences: [{ fact: 'b', usual: '2', usualCount: 2, others: [{ client: 2, text: '3' }] }],
    });
  });

  it.each<[string, readonly Facts[], string]>([
    ['nothing to compare', [{ a: '1' }], 'nothing to compare'],
    ['agreement', [{ a: '1' }, { a: '1' }], '2 clients agree in all of 1'],
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
      '3 clients agree in all of 1',
    ],
  ])('describes %s', (_, facts, verdict) => {
    expect(verdictOf(...facts)).toBe(verdict);
  });

  it('names three clients and five differences, and counts the others', () => {
    const facts = ['a', 'b', 'c', 'd', 'e', 'f'];
    const usual = Object.fromEntries(facts.map((fact) => [fact, '1']));
    const other = Object.fromEntries(facts.map((fact) => [fact, '2']));
    const all = [...Array.from({ length: 6 }, () => usual), other];
    expect(verdictOf(...all)).toBe(
      'pid 7 differs in 6 of 6: a: 2, others 1, b: 2, others 1, c: 2, others 1, d: 2, others 1, e: 2, others 1, and 1 more',
    );
    const odd = Array.from({ length: 4 }, () => ({ ...usual, a: '2' }));
    expect(verdictOf(...Array.from({ length: 6 }, () => usual), ...odd)).toMatch(
      /^pid 7 differs in 1 of 6: a: 2, others 1; .*; and 1 more clients differ$/,
    );
  });

  it('compares 64 clients with 5,000 facts each', () => {
    const facts = new Map(Array.from({ length: 5000 }, (_, i) => [`fact ${i}`, '1']));
    const clients = Array.from({ length: 64 }, (_, i) => ({ name: `${i}`, facts }));
    expect(compareClients(clients)).toEqual({ compared: 5000, differences: [] });
  });
});
