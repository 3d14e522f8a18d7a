import { joinGraphs } from '../../../packages/page/src/graph/join-graphs';
import { buildMeshGraph } from '../../../packages/page/src/graph/build-mesh-graph';
import type { MeshGraph } from '../../../packages/page/src/graph/mesh-graph';
import { edgesOf, graphConfig, nodesOf } from '../../support/graphs';
import { leafOf } from '../../support/lb-xds-config';
import { edsCluster, endpoints, virtualHostTo } from '../../support/xds-builders';

const clusters = {
  a: leafOf(edsCluster('a'), endpoints('a', '10.0.0.1')),
  b: leafOf(edsCluster('b'), endpoints('b', '10.0.0.2')),
};

/** The graph of a target that divides its calls between two clusters. */
function split(target: string, a: number, b: number): MeshGraph {
  const virtualHost = virtualHostTo([
    ['a', a],
    ['b', b],
  ]);
  return buildMeshGraph({
    target,
    config: graphConfig(virtualHost, clusters),
    policies: undefined,
  });
}

describe('the graph of several targets', () => {
  it('has the routes of each, and once what they have in common, in the better state', () => {
    const [one, two] = [split('xds:///one', 1, 0), split('xds:///two', 0, 1)];
    const joined = joinGraphs('both', [one, two]);
    expect(nodesOf(one).filter((text) => text.startsWith('cluster'))).toEqual([
      'cluster a: ready',
      'cluster b: unused',
    ]);
    expect(nodesOf(joined).filter((text) => !/^(locality|endpoint)/.test(text))).toEqual([
      'target xds:///one: ready',
      'route 0: every path: ready',
      'cluster a: ready',
      'cluster b: ready',
      'target xds:///two: ready',
      'route 0: every path: ready',
    ]);
    expect(edgesOf(joined).filter((text) => text.includes('cluster'))).toEqual(
      edgesOf(joinGraphs('both', [two, one]))
        .filter((text) => text.includes('cluster'))
        .sort(),
    );
    const ids = joined.nodes.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { from, to } of joined.edges)
      expect(ids).toEqual(expect.arrayContaining([from, to]));
  });

  it('is empty without targets, and that of the only one', () => {
    expect(joinGraphs('none', [])).toEqual({ target: 'none', nodes: [], edges: [] });
    const only = split('xds:///one', 1, 3);
    const joined = joinGraphs('xds:///one', [only]);
    expect(nodesOf(joined)).toEqual(nodesOf(only));
    expect(edgesOf(joined)).toHaveLength(edgesOf(only).length);
  });
});
