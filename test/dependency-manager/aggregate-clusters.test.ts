import { LeafLists } from '../../src/dependency-manager/aggregates';
import type { ClusterSource } from '../../src/dependency-manager/build-cluster';
import { MAX_AGGREGATE_DEPTH } from '../../src/dependency-manager/cluster-topology';
import { ok } from '../../src/util/result';

/** Aggregates by name with their children; every other name is a leaf. */
function leaves(root: string, aggregates: Readonly<Record<string, readonly string[]>>) {
  const sources = new Map<string, ClusterSource>();
  for (const name of Object.values(aggregates).flat()) sources.set(name, { kind: 'none' });
  for (const [name, clusters] of Object.entries(aggregates)) {
    sources.set(name, { kind: 'aggregate', clusters });
  }
  const lookups = jest.spyOn(sources, 'get');
  const names = Object.keys(aggregates);
  const topology = {
    aggregates: names,
    sources,
    refused: new Set<string>(),
    roots: new Set([root]),
    maxClusters: 100,
  };
  const result = new LeafLists(topology, []).of(root);
  return { result, lookups: lookups.mock.calls.length };
}

/** `c0` contains `c1`, which contains `c2`, and so on; the last of `length` clusters is a leaf. */
function chain(length: number): Record<string, readonly string[]> {
  return Object.fromEntries(Array.from({ length: length - 1 }, (_, i) => [`c${i}`, [`c${i + 1}`]]));
}

describe('the leaf clusters of an aggregate', () => {
  it.each([
    ['two leaves', { a: ['x', 'y'] }, ['x', 'y']],
    ['an aggregate first', { a: ['b', 'z'], b: ['x', 'y'] }, ['x', 'y', 'z']],
    ['an aggregate in the middle', { a: ['x', 'b', 'z'], b: ['y'] }, ['x', 'y', 'z']],
    ['a leaf named twice', { a: ['x', 'y', 'x'] }, ['x', 'y']],
    ['a leaf named by an aggregate and again', { a: ['b', 'x', 'y'], b: ['y'] }, ['y', 'x']],
    ['a diamond', { a: ['b', 'c'], b: ['d'], c: ['d', 'y'], d: ['x'] }, ['x', 'y']],
    ['a cycle with a way out', { a: ['b', 'x'], b: ['a', 'y'] }, ['y', 'x']],
    ['an aggregate that contains itself', { a: ['a', 'x'] }, ['x']],
    ['names of object members', { a: ['constructor', '__proto__'] }, ['constructor', '__proto__']],
  ])('flattens depth first, each leaf once at its earliest place: %s', (_what, graph, expected) => {
    expect(leaves('a', graph).result).toEqual(ok(expected));
  });

  it.each([[{ a: ['a'] }], [{ a: ['b'], b: ['a'] }], [{ a: ['b', 'c'], b: ['c', 'a'], c: ['b'] }]])(
    'is an error when there are only cycles: %j',
    (graph) => {
      expect(leaves('a', graph).result).toEqual({
        ok: false,
        error: 'aggregate cluster "a" leads to no leaf cluster',
        isLimit: false,
      });
    },
  );

  it('follows a path of the maximum length', () => {
    expect(leaves('c0', chain(MAX_AGGREGATE_DEPTH)).result).toEqual(ok(['c15']));
  });

  it('is an error when a path is longer, even though another is not', () => {
    const graph = { ...chain(MAX_AGGREGATE_DEPTH + 1), c0: ['leaf', 'c1'] };
    expect(leaves('c0', graph).result).toEqual({
      ok: false,
      error: 'aggregate cluster "c0" is nested more than 16 clusters deep',
      isLimit: true,
    });
  });

  it('takes time proportional to the graph, not to the number of paths', () => {
    const layers: Record<string, readonly string[]> = {};
    for (let layer = 0; layer < 14; layer++) {
      const below = Array.from({ length: 30 }, (_, i) => `n${layer + 1}_${i}`);
      for (let i = 0; i < 30; i++) layers[`n${layer}_${i}`] = below;
    }
    const { result, lookups } = leaves('n0_0', layers);
    expect(result.ok && result.value.length).toBe(30);
    // One for the root, then one for each edge.
    expect(lookups).toBe(1 + 30 + 13 * 30 * 30);
  });
});
