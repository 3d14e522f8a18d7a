import { planPriorities, type PlannedPriority } from '../../../src/lb/cds/plan';
import type { PriorityEndpoints } from '../../../src/resources/endpoints/endpoints';
import { workRatio } from '../../support/count-work';
import { makeLocality } from '../../support/lb-harness';

/** Priorities of localities, written `ab c` for two: the first with the localities a and b. */
function priorities(text: string): readonly PriorityEndpoints[] {
  return text
    .split(' ')
    .filter((regions) => regions !== '')
    .map((regions) => ({ localities: Array.from(regions, (region) => makeLocality(region, [])) }));
}

function planned(name: string, priority: PriorityEndpoints): PlannedPriority {
  return { name, priority, endpoints: { localities: priority.localities, children: undefined } };
}

const namesOf = (next: readonly PriorityEndpoints[], previous: readonly PlannedPriority[]) =>
  planPriorities(next, previous).map(({ name }) => name);

/** Named priorities, written `child0=ab child1=c`. */
function named(text: string): readonly PlannedPriority[] {
  return text
    .split(' ')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [name = '', regions = ''] = part.split('=');
      return priorities(regions).map((priority) => planned(name, priority));
    });
}

describe('planPriorities', () => {
  it.each([
    ['begins with names of its own', '', 'ab c', 'child0 child1'],
    ['keeps names', 'child0=ab child1=c', 'ab c', 'child0 child1'],
    ['keeps the name of a priority that grows', 'child0=a', 'ab', 'child0'],
    ['keeps the name of a priority that shrinks', 'child0=ab', 'b', 'child0'],
    ['lets names follow localities that swap', 'child0=a child1=b', 'b a', 'child1 child0'],
    ['lets a name move up', 'child0=a child1=b', 'b', 'child1'],
    ['puts a new priority before an old one', 'child0=a', 'b a', 'child1 child0'],
    ['gives no name of before to other localities', 'child0=a', 'b', 'child1'],
    ['takes names again that were out of use', 'child1=b', 'c b', 'child0 child1'],
    ['splits a priority', 'child0=ab', 'a b', 'child0 child1'],
    ['joins priorities', 'child0=a child1=b', 'ab', 'child0'],
    ['lets the higher priority choose first', 'child0=abc child1=d', 'a bcd', 'child0 child1'],
    ['prefers more localities over fewer', 'child0=a child1=bc', 'abc', 'child1'],
    ['copes with one locality in two priorities', 'child0=a child1=a', 'a a', 'child0 child1'],
    ['copes with none', 'child0=a', '', ''],
  ])('%s: %j, then %j', (_, previous, next, names) => {
    expect(namesOf(priorities(next), named(previous)).join(' ')).toBe(names);
  });

  it('leaves the name to a priority that did not change, whatever others share with it', () => {
    const previous = named('child0=a child1=ab');
    const kept = previous[1]?.priority ?? { localities: [] };
    const next = [...priorities('ab'), kept];
    expect(namesOf(next, previous)).toEqual(['child0', 'child1']);
  });
});

describe('the work of planPriorities', () => {
  type Case = readonly [string, (i: number) => string, (i: number, size: number) => string];
  it.each<Case>([
    ['stay', (i) => `${i}`, (i) => `${i}`],
    ['are others', (i) => `${i}`, (i) => `other${i}`],
    ['move', (i) => `${i}`, (i, size) => `${size - 1 - i}`],
    ['are the same in each', () => 'a', () => 'a'],
  ])('grows with the number of priorities whose localities %s', (_, before, after) => {
    const ratio = workRatio(300, (size) => {
      const list = (zoneOf: (i: number, of: number) => string) =>
        Array.from({ length: size }, (__, i) => ({
          localities: [makeLocality(zoneOf(i, size), [])],
        }));
      const previous = list(before).map((priority, i) => planned(`child${i}`, priority));
      const next = list(after);
      return () => void planPriorities(next, previous);
    });
    expect(ratio).toBeLessThan(2.5);
  });

  it('grows with the number of priorities that are unchanged', () => {
    const ratio = workRatio(300, (size) => {
      const all = Array.from({ length: size }, (_, i) => ({
        localities: [makeLocality(`${i}`, [])],
      }));
      const previous = all.map((priority, i) => planned(`child${i}`, priority));
      return () => void planPriorities(all, previous);
    });
    expect(ratio).toBeLessThan(2.5);
  });
});
