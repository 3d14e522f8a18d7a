import { leafClusters } from '../../src/dependency-manager/aggregates';
import { MAX_AGGREGATE_DEPTH } from '../../src/dependency-manager/cluster-topology';
import { ok } from '../../src/util/result';

/** Aggregates by name with their children; every other name is no aggregate. */
function leaves(root: string, aggregates: Readonly<Record<string, readonly string[]>>) {
  const byName = new Map(Object.entries(aggregates));
  return leafClusters(root, (name) => byName.get(name));
}

/** `c0` contains `c1`, which contains `c2`, and so on; the last of `length` clusters is a leaf. */
function chain(length: number): Record<string, readonly string[]> {
  return Object.fromEntries(Array.from({ length: length - 1 }, (_, i) => [`c${i}`, [`c${i + 1}`]]));
}

describe('leafClusters', () => {
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
    expect(leaves('a', graph)).toEqual(ok(expected));
  });

  it.each([[{ a: ['a'] }], [{ a: ['b'], b: ['a'] }], [{ a: ['b', 'c'], b: ['c', 'a'], c: ['b'] }]])(
    'is an error when there are only cycles: %j',
    (graph) => {
      expect(leaves('a', graph)).toEqual({
        ok: false,
        error: 'aggregate cluster "a" leads to no leaf cluster',
        isLimit: false,
      });
    },
  );

  it('follows a path of the maximum length', () => {
    expect(leaves('c0', chain(MAX_AGGREGATE_DEPTH))).toEqual(ok(['c15']));
  });

  it('is an error when a path is longer, even though another is not', () => {
    const graph = { ...chain(MAX_AGGREGATE_DEPTH + 1), c0: ['leaf', 'c1'] };
    expect(leaves('c0', graph)).toEqual({
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
    let lookups = 0;
    const byName = new Map(Object.entries(layers));
    const result = leafClusters('n0_0', (name) => {
      lookups++;
      return byName.get(name);
    });
    expect(result.ok && result.value.length).toBe(30);
    expect(lookups).toBe(1 + 14 * 30);
  });
});
