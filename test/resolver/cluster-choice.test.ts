import { ClusterChoice } from '../../src/resolver/cluster-choice';
import { ClusterRefs, type ClusterRef } from '../../src/resolver/cluster-refs';
import { createHandle } from '../../src/util/handle';
import { seededRandom } from '../support/seeded-random';
import { weighted, type Weighted } from '../support/xds-builders';

function createRefOf(): (cluster: string) => ClusterRef {
  const refs = new ClusterRefs(
    () => createHandle(() => {}),
    (cluster) => ({ policyName: cluster }),
    () => {},
  );
  return (cluster) => refs.acquire(cluster);
}

function choose(clusters: readonly Weighted[], drawn: number): string {
  return new ClusterChoice(weighted(...clusters), createRefOf(), []).draw(() => drawn).ref
    .childName;
}

const ALMOST_ONE = 1 - 2 ** -53;

describe('ClusterChoice', () => {
  it('has no choice with one cluster, and draws nothing', () => {
    const choice = new ClusterChoice({ kind: 'cluster', name: 'a' }, createRefOf(), []);
    const random = () => {
      throw new Error('A random number was drawn');
    };
    expect(choice.draw(random).ref.childName).toBe('cluster:a');
  });

  it.each<[number, string]>([
    [0, 'cluster:a'],
    [0.2499999, 'cluster:a'],
    [0.25, 'cluster:b'],
    [0.7499999, 'cluster:b'],
    [0.75, 'cluster:c'],
    [ALMOST_ONE, 'cluster:c'],
  ])('gives each cluster exactly its share: %d draws %s', (drawn, expected) => {
    const clusters = [
      ['a', 25],
      ['b', 50],
      ['c', 25],
    ] as const;
    expect(choose(clusters, drawn)).toBe(expected);
  });

  it.each<[string, readonly Weighted[], number, string]>([
    [
      'first of two near 2^32',
      [
        ['a', 4294967294],
        ['b', 1],
      ],
      0.9999,
      'cluster:a',
    ],
    [
      'last of two near 2^32',
      [
        ['a', 4294967294],
        ['b', 1],
      ],
      ALMOST_ONE,
      'cluster:b',
    ],
    [
      'first half beyond 2^31',
      [
        ['a', 2147483648],
        ['b', 2147483647],
      ],
      0.49,
      'cluster:a',
    ],
    [
      'second half beyond 2^31',
      [
        ['a', 2147483648],
        ['b', 2147483647],
      ],
      0.51,
      'cluster:b',
    ],
    [
      'exact boundary beyond 2^31',
      [
        ['a', 2147483648],
        ['b', 2147483648],
      ],
      0.5,
      'cluster:b',
    ],
  ])('does not truncate weights: %s', (_what, clusters, drawn, expected) => {
    expect(choose(clusters, drawn)).toBe(expected);
  });

  it('never chooses a cluster whose weight is zero', () => {
    const clusters = [
      ['a', 0],
      ['b', 1],
      ['c', 0],
      ['d', 1],
      ['e', 0],
    ] as const;
    const draws = [0, 0.25, 0.4999999, 0.5, 0.75, ALMOST_ONE].map((drawn) =>
      choose(clusters, drawn),
    );
    expect(draws).toEqual([
      'cluster:b',
      'cluster:b',
      'cluster:b',
      'cluster:d',
      'cluster:d',
      'cluster:d',
    ]);
  });

  it('distributes many calls by weight', () => {
    const clusters = Array.from({ length: 100 }, (_, i) => [`c${i}`, i + 1] as const);
    const choice = new ClusterChoice(weighted(...clusters), createRefOf(), []);
    const random = seededRandom(11);
    const counts = new Map<string, number>();
    const calls = 200_000;
    for (let i = 0; i < calls; i++) {
      const { childName } = choice.draw(random).ref;
      counts.set(childName, (counts.get(childName) ?? 0) + 1);
    }
    for (const [name, weight] of clusters) {
      const expected = (calls * weight) / 5050;
      const deviation = Math.abs((counts.get(`cluster:${name}`) ?? 0) - expected);
      expect(deviation).toBeLessThan(5 * Math.sqrt(expected));
    }
  });

  it('finds the cluster of a session by one look-up, whatever number of clusters the route has', () => {
    const names = Array.from({ length: 12_000 }, (_, i): Weighted => [`c${i}`, 1]);
    const choice = new ClusterChoice(weighted(...names), createRefOf(), []);
    expect(choice.find('cluster:c7')?.ref.cluster).toBe('c7');
    const searched = jest.spyOn(Array.prototype, 'find');
    const found = choice.find('cluster:c11999');
    const absent = choice.find('cluster:x');
    const searches = searched.mock.calls.length;
    searched.mockRestore();
    expect([found?.ref.cluster, absent, searches]).toEqual(['c11999', undefined, 0]);
  });

  it('finds the first of several with one name', () => {
    const choice = new ClusterChoice(weighted(['a', 1], ['b', 2], ['a', 3]), createRefOf(), []);
    expect(choice.find('cluster:a')?.weight).toBe(1);
  });
});
