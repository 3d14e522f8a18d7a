import type { RouteDecision, RoutedCall } from 'grpc-xds';
import { clusterId } from '../graph/cluster-part';
import { groupBy } from '../graph/group-by';
import type { GraphEdge, GraphNode, MeshGraph } from '../graph/mesh-graph';
import { percent } from '../graph/words';
import { cellText } from '../live-page/view';
import { edgeRowId, nodeRowId } from './graph-rows';

/** What is listed of what was decided at forks. */
const MAX_FORKS = 40;

/** A part of the picture that a call reaches, or does not at a fork. Ids are those of rows. */
interface Lit {
  readonly id: string;
  /** The share of such calls that take it, 0 to 1: of a part that stands for several, of all of them. */
  readonly share: number;
}

/** The way of a call through a graph as a reader sees it. */
export interface CallWay {
  readonly nodes: readonly (Lit & Pick<GraphNode, 'column'>)[];
  readonly edges: readonly (Lit & {
    readonly from: string;
    readonly to: string;
    /** What it leads to. */
    readonly name: string;
  })[];
  /** What was decided where there was a choice, in the order of the way: at most 40, those that the call takes before others. */
  readonly forks: readonly {
    readonly share: number;
    /** Of the node that the way leads to, drawn or not. */
    readonly name: string;
    /** Why the call takes it, or does not. */
    readonly text: string;
  }[];
  /** How many there are besides. */
  readonly moreForks: number;
}

/** Returns the node that a reader sees for one of a graph; `undefined` if there is none. */
export type FindDrawn = (id: string) => GraphNode | undefined;

/**
 * Finds the way of an explained call through the graph of its target: each fork that it comes to, with the share of such calls that
 * take each way of it, and why.
 *
 * @param graph With all nodes.
 */
export function findWay(graph: MeshGraph, explained: RoutedCall, findDrawn: FindDrawn): CallWay {
  return new WayFinder(graph, findDrawn).find(explained);
}

class WayFinder {
  private readonly nodes: ReadonlyMap<string, GraphNode>;
  private readonly outgoing: ReadonlyMap<string, readonly GraphEdge[]>;
  private readonly shares = new Map<string, number>();
  private readonly steps: { edge: GraphEdge; share: number; text: string }[] = [];

  constructor(
    private readonly graph: MeshGraph,
    private readonly findDrawn: FindDrawn,
  ) {
    this.nodes = new Map(graph.nodes.map((node) => [node.id, node]));
    this.outgoing = groupBy(graph.edges, ({ from }) => from);
  }

  find(explained: RoutedCall): CallWay {
    this.takeRoutes(explained);
    const clusters = this.graph.nodes.filter(({ column }) => column === 'cluster');
    // The leaves of aggregate clusters come after these.
    const isAggregate = ({ id }: GraphNode) =>
      this.forks(id).some(({ to }) => this.nodes.get(to)?.column === 'cluster');
    for (const node of clusters) if (isAggregate(node)) this.takeUsed(node);
    for (const node of clusters) if (!isAggregate(node)) this.takeUsed(node);
    for (const node of this.graph.nodes) if (node.column === 'locality') this.takeUsed(node);
    return this.result();
  }

  /** What the routing of the call decides: its route, and the clusters of that. */
  private takeRoutes({ routes, decisions }: RoutedCall): void {
    const ids = this.graph.nodes.filter(({ column }) => column === 'route').map(({ id }) => id);
    const [target] = this.graph.nodes.filter(({ column }) => column === 'target');
    if (target === undefined) return;
    this.shares.set(target.id, 1);
    const fork = this.edgesByEnd(target.id);
    const decided = new Map(decisions.map((decision) => [decision.index, decision]));
    // Routes are tried in the order of the graph.
    for (const [place, { index, mismatch }] of routes.entries()) {
      const edge = fork.get(ids[place] ?? '');
      const decision = decided.get(index);
      if (edge === undefined) continue;
      if (decision === undefined) {
        this.take(edge, 0, mismatch ?? 'takes no calls');
        continue;
      }
      this.takeRoute(edge, decision);
    }
  }

  private takeRoute(edge: GraphEdge, { share, outcome }: RouteDecision): void {
    const taken = share === 1 ? 'matches' : `takes ${percent(share)}`;
    this.take(edge, share, outcome.kind === 'fail' ? `${taken}: ${outcome.reason}` : taken);
    if (outcome.kind === 'fail') return;
    const { clusters } = outcome;
    const ways = this.edgesByEnd(edge.to);
    for (const { name, share: part, weight } of clusters) {
      const way = ways.get(clusterId(name));
      const text = clusters.length === 1 ? '' : `${percent(part)}, weight ${weight}`;
      if (way !== undefined) this.take(way, share * part, text);
    }
  }

  /** What the policies decide, which is the same for all calls of a cluster. */
  private takeUsed(node: GraphNode): void {
    const { dropped = 0 } = node;
    const share = (this.shares.get(node.id) ?? 0) * (1 - dropped);
    if (share === 0) return;
    const fork = this.forks(node.id);
    const used = new Set(fork.filter((edge) => edge.isUsed && edge.share !== 0));
    const total = [...used].reduce((sum, edge) => sum + partOf(edge), 0);
    for (const edge of fork) {
      if (!used.has(edge)) {
        const { state = 'idle', text = '' } = this.nodes.get(edge.to) ?? {};
        this.take(edge, 0, edge.text || `${state}${text === '' ? '' : `: ${text}`}`);
        continue;
      }
      const part = partOf(edge) / total;
      const chosen = used.size > 1 ? describeChoice(node, edge, part) : edge.text;
      const left = dropped === 0 ? '' : `of ${percent(1 - dropped)} that are not dropped`;
      this.take(edge, share * part, [chosen, left].filter((each) => each !== '').join(' '));
    }
  }

  private take(edge: GraphEdge, share: number, text: string): void {
    this.steps.push({ edge, share, text });
    this.shares.set(edge.to, (this.shares.get(edge.to) ?? 0) + share);
  }

  private forks(id: string): readonly GraphEdge[] {
    return this.outgoing.get(id) ?? [];
  }

  private edgesByEnd(from: string): ReadonlyMap<string, GraphEdge> {
    return new Map(this.forks(from).map((edge) => [edge.to, edge]));
  }

  private result(): CallWay {
    const nodes = new Map<string, Lit & Pick<GraphNode, 'column'>>();
    for (const [of, share] of this.shares) {
      const drawn = this.findDrawn(of);
      if (drawn === undefined) continue;
      const id = nodeRowId(drawn.id);
      const all = share + (nodes.get(id)?.share ?? 0);
      // An aggregate cluster and its leaf have the same calls.
      nodes.set(id, { id, column: drawn.column, share: Math.min(all, 1) });
    }
    const forks = this.steps.filter(({ text }) => text !== '');
    const listed = takenFirst(forks, MAX_FORKS);
    return {
      nodes: [...nodes.values()],
      edges: this.drawnEdges(),
      forks: listed.map(({ edge, share, text }) => ({
        share,
        name: cellText(this.nodes.get(edge.to)?.name ?? ''),
        text: cellText(text),
      })),
      moreForks: forks.length - listed.length,
    };
  }

  private drawnEdges(): CallWay['edges'] {
    const edges = new Map<string, CallWay['edges'][number]>();
    for (const { edge, share } of this.steps) {
      const [from, to] = [this.findDrawn(edge.from), this.findDrawn(edge.to)];
      // Between two that the same node stands for.
      if (from === undefined || to === undefined || from === to) continue;
      const id = edgeRowId({ from: from.id, to: to.id });
      const all = share + (edges.get(id)?.share ?? 0);
      const ends = { from: nodeRowId(from.id), to: nodeRowId(to.id) };
      edges.set(id, { id, share: all, name: cellText(to.name), ...ends });
    }
    return [...edges.values()];
  }
}

/** Where no weight decides, ways are assumed to get as many calls each. */
function partOf({ share, evenShare }: GraphEdge): number {
  return share ?? evenShare ?? 1;
}

/** Says how much of the calls a way gets, and what chooses it: weights, or a policy. */
function describeChoice({ policy }: GraphNode, { share }: GraphEdge, part: number): string {
  const weighed = share === undefined ? percent(part) : `${percent(part)} by weight`;
  return policy === undefined ? weighed : `${weighed}, chosen by ${policy}`;
}

/** Leaves what fits, in its order: what gets the most calls first. */
function takenFirst<T extends { readonly share: number }>(
  all: readonly T[],
  most: number,
): readonly T[] {
  if (all.length <= most) return all;
  const taken = all.filter(({ share }) => share > 0).sort((a, b) => b.share - a.share);
  const kept = new Set(taken.slice(0, most));
  // Of the routes that do not match, those right before the one that does are the most interesting.
  const missed = all.filter(({ share }) => share === 0);
  for (const each of missed.slice(Math.max(0, missed.length - (most - kept.size)))) kept.add(each);
  return all.filter((each) => kept.has(each));
}
