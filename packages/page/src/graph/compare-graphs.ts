import type { GraphEdge, GraphNode, MeshGraph } from './mesh-graph';
import { percent, type Change } from './words';

/** Returns what of a node differs that its state does not show, such as fields of its resource; empty if nothing does. */
export type DescribeChange = (node: GraphNode) => string;

/** Joins two graphs of a target to one, which has what was added, removed and changed. */
export function compareGraphs(
  before: MeshGraph,
  after: MeshGraph,
  describe: DescribeChange,
): MeshGraph {
  const nodes = join(before.nodes, after.nodes, ({ id }) => id, compareNodes(describe));
  const all = join(before.edges, after.edges, keyOf, compareEdges);
  const { aggregates, leaves } = findAggregates(after);
  const earlier = findAggregates(before);
  const leadsBack = ({ from, to, change }: GraphEdge) =>
    change === 'removed' &&
    ((earlier.aggregates.has(from) && leaves.has(from)) ||
      (earlier.leaves.has(to) && aggregates.has(to)));
  return { target: after.target, nodes, edges: all.filter((edge) => !leadsBack(edge)) };
}

function keyOf({ from, to }: GraphEdge): string {
  return JSON.stringify([from, to]);
}

/** Those of the later list in their order, then the others. */
function join<T extends { readonly change?: Change }>(
  before: readonly T[],
  after: readonly T[],
  key: (each: T) => string,
  compare: (earlier: T, later: T) => T,
): readonly T[] {
  const earlier = new Map(before.map((each) => [key(each), each]));
  const later = new Set(after.map(key));
  return [
    ...after.map((each) => {
      const known = earlier.get(key(each));
      return known === undefined ? { ...each, change: 'added' as const } : compare(known, each);
    }),
    ...before
      .filter((each) => !later.has(key(each)))
      .map((each) => ({ ...each, change: 'removed' as const })),
  ];
}

function compareNodes(describe: DescribeChange) {
  return (earlier: GraphNode, later: GraphNode): GraphNode => {
    const isSame = earlier.state === later.state && earlier.text === later.text;
    const described = describe(later);
    if (isSame && described === '') return later;
    const was = [earlier.state === later.state ? '' : earlier.state];
    if (earlier.text !== later.text) was.push(earlier.text);
    const known = was.filter((part) => part !== '');
    const changes = [described, known.length === 0 ? '' : `was ${known.join(': ')}`];
    const text = [later.text, ...changes].filter((part) => part !== '').join('; ');
    return { ...later, text, change: 'changed' };
  };
}

function compareEdges(earlier: GraphEdge, later: GraphEdge): GraphEdge {
  // A way that gets all is the same whether a weight says so or not.
  const isSame = (earlier.share ?? 1) === (later.share ?? 1) && earlier.isUsed === later.isUsed;
  if (isSame) return later;
  const share = earlier.share === undefined ? 'in use' : percent(earlier.share);
  const was = earlier.isUsed ? `was ${share}` : 'was not in use';
  const text = [later.text, was].filter((part) => part !== '').join(', ');
  return { ...later, text, change: 'changed' };
}

/**
 * Returns the clusters that have become leaves of an aggregate cluster, or aggregates. The ones are drawn to the right of the others:
 * an earlier way from a leaf to an aggregate would lead back.
 */
function findAggregates({ nodes, edges }: MeshGraph): AggregateParts {
  const clusters = new Set(nodes.filter(({ column }) => column === 'cluster').map(({ id }) => id));
  const ways = edges.filter(({ from, to }) => clusters.has(from) && clusters.has(to));
  return {
    aggregates: new Set(ways.map(({ from }) => from)),
    leaves: new Set(ways.map(({ to }) => to)),
  };
}

/** The ids of the clusters that ways between clusters begin and end at. */
interface AggregateParts {
  readonly aggregates: ReadonlySet<string>;
  readonly leaves: ReadonlySet<string>;
}
