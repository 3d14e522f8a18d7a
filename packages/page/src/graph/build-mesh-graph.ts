import { isDeepStrictEqual } from 'node:util';
import { type ClusterConfig, DescribedRoute, type XdsConfig } from 'grpc-xds/internal';
import type { PolicyState } from 'grpc-xds';
import { shareFields } from '../../../../src/util/share';
import {
  buildClusterPart,
  clusterId,
  rollUpParts,
  type ClusterPart,
  type PastKnowledge,
  type PartInput,
  type PartOptions,
} from './cluster-part';
import { withControlPlane, type GraphProcess } from './control-plane-graph';
import { cutColumns } from './cut-columns';
import { seeClusters, type SeenCluster, type SeenClusters } from './endpoint-states';
import { GraphParts } from './graph-parts';
import { worseState, type GraphState, type MeshGraph } from './mesh-graph';

/** What is drawn one by one, and what one node stands for. */
export interface GraphOptions extends PartOptions {
  /** The nodes of a column, besides one for all others. */
  readonly maxNodes: number;
}

/** What a document has room for. */
export const DEFAULT_GRAPH_OPTIONS: GraphOptions = {
  maxNodes: 60,
  maxEndpoints: 8,
  opened: new Set(),
};

/** What the states of a target without policies are. */
const UNCONNECTED = '; states are those of the configuration, without connections';
const PAST = '; the states of connections are not kept, only the last event of each cluster';

/** The state of a target. */
export interface GraphInput {
  readonly target: string;
  readonly config: XdsConfig;
  /** Those of a channel of the target; undefined if there is none, as for resources of a file. */
  readonly policies: PolicyState | undefined;
  /** What is known of an earlier time. Default: the graph shows the present. */
  readonly past?: PastKnowledge;
  /** The process of the target, whose relay and management servers are drawn as well. Default: they are not. */
  readonly process?: GraphProcess | undefined;
}

/**
 * Builds the graph of a target: its routes, what they send calls to, and what of it takes calls now. A cluster, a priority or an
 * endpoint that is not in use is in it, with the reason.
 */
export function buildMeshGraph(input: GraphInput, options = DEFAULT_GRAPH_OPTIONS): MeshGraph {
  return cutColumns(buildWholeGraph(input, options), () => options.maxNodes);
}

/** Does the same, and leaves no node of a column out. */
export function buildWholeGraph(input: GraphInput, options: PartOptions): MeshGraph {
  return new LiveGraph(options).update(input);
}

/** A part with what it is made of. */
interface KeptPart {
  readonly input: PartInput;
  readonly part: ClusterPart;
}

/** By the names of their clusters. */
type KeptParts = ReadonlyMap<string, KeptPart>;

/** The last graph, and what it is made of. */
interface LatestGraph {
  readonly input: GraphInput;
  readonly parts: KeptParts;
  readonly graph: MeshGraph;
}

/**
 * The whole graph of a target that goes on. What has not changed stays the same objects: the graph itself, or else the nodes and
 * edges below each cluster whose config and states are those of before.
 */
export class LiveGraph {
  private latest: LatestGraph | undefined;

  constructor(private readonly options: PartOptions) {}

  /** Returns the graph of a state. */
  update(input: GraphInput): MeshGraph {
    const { latest } = this;
    if (latest !== undefined && isSameInput(latest.input, input)) return latest.graph;
    const builder = new GraphBuilder(input, this.options, latest?.parts);
    const graph = withControlPlane(builder.build(), input.process);
    this.latest = { input, parts: builder.kept, graph };
    return graph;
  }
}

function isSameInput(a: GraphInput, b: GraphInput): boolean {
  return (
    a.config === b.config &&
    a.policies === b.policies &&
    a.target === b.target &&
    a.past === b.past &&
    isDeepStrictEqual(a.process, b.process)
  );
}

/** What a node of a cluster has besides its name. */
type JudgedCluster = Omit<ClusterPart, 'nodes' | 'edges'>;

class GraphBuilder {
  /** Those of the graph. */
  readonly kept = new Map<string, KeptPart>();
  private readonly parts = new GraphParts();
  /** How many routes have a name or conditions. */
  private readonly labels = new Map<string, number>();
  private readonly expected;
  /** The clusters to which a route sends no calls; another one may. */
  private readonly zeroWeight = new Set<string>();
  private readonly targetId: string;
  private readonly seen: SeenClusters | undefined;

  constructor(
    private readonly input: GraphInput,
    private readonly options: PartOptions,
    private readonly partsBefore: KeptParts | undefined,
  ) {
    this.seen = input.policies && seeClusters(input.policies);
    this.expected = findExpected(input.config);
    this.targetId = `target ${input.target}`;
  }

  build(): MeshGraph {
    const { target, config } = this.input;
    const { virtualHost } = config;
    const { routes, name } = virtualHost;
    const node = { id: this.targetId, column: 'target', name: target, calls: {} } as const;
    const text = `virtual host ${name} of ${config.routeConfig.name}${this.describeStates()}`;
    this.parts.add({ ...node, state: 'ready', text });
    const states = routes.flatMap(
      (route) => this.addRoute(new DescribedRoute(route, virtualHost)) ?? [],
    );
    const state = states.length === 0 ? 'failing' : rollUpParts(states);
    // Without a route as well, each call fails.
    const reason = routes.length === 0 ? '; no route, every call fails' : '; each route fails';
    this.parts.add({ ...node, state, text: state === 'failing' ? text + reason : text });
    return this.parts.graph(target);
  }

  private describeStates(): string {
    if (this.input.past !== undefined) return PAST;
    return this.seen === undefined ? UNCONNECTED : '';
  }

  /** @returns its state; `undefined` if it forwards no calls. */
  private addRoute(route: DescribedRoute): GraphState | undefined {
    const { index, name, match, shares, fractionPerMillion: fraction } = route;
    const label = route.label();
    const id = this.routeId(label);
    const calls = { route };
    const node = { id, column: 'route', name: `${index}: ${label}`, calls } as const;
    if (shares === undefined) {
      this.parts.add({ ...node, state: 'failing', text: route.action });
      this.parts.connect(this.targetId, id, { isUsed: false, text: 'calls of it fail', calls });
      return undefined;
    }
    for (const { cluster, share } of shares) if (share === 0) this.zeroWeight.add(cluster);
    const states = shares.map(({ cluster }) => this.addCluster(cluster));
    const state = rollUpParts(states.filter((_, i) => shares[i]?.share !== 0));
    this.parts.add({ ...node, state, text: name === '' ? '' : match });
    this.parts.connect(this.targetId, id, {
      isUsed: fraction !== 0,
      text: fraction === undefined ? '' : `${fraction / 10_000} % of the calls that match`,
      calls,
    });
    for (const { cluster, share } of shares) {
      const isUsed = share > 0;
      const text = isUsed ? '' : 'weight 0';
      this.parts.connect(id, clusterId(cluster), {
        share,
        isUsed,
        text,
        calls: { route, cluster },
      });
    }
    return state;
  }

  /** Routes are known by their names or conditions: another one before them changes their index. */
  private routeId(label: string): string {
    const number = this.labels.get(label) ?? 0;
    this.labels.set(label, number + 1);
    return `route ${JSON.stringify([label, number])}`;
  }

  /** @returns its state. */
  private addCluster(name: string): GraphState {
    const id = clusterId(name);
    const known = this.parts.nodes.get(id);
    if (known !== undefined) return known.state;
    const node = { id, column: 'cluster', name, calls: { cluster: name } } as const;
    // Its own edges come before it is complete: an aggregate cluster may not contain itself, but resources may say so.
    this.parts.add({ ...node, state: 'ready', text: '' });
    const judged = this.judgeCluster(name);
    // Only leaf clusters count attempts; an aggregate shows the sum of the lines that lead to it.
    const own = this.isAggregate(name) ? { id, column: node.column, name } : node;
    this.parts.add({ ...own, ...judged });
    return judged.state;
  }

  /** In a graph of an earlier time, adds the last event of the cluster. The resources of that time may show a worse state. */
  private withPast(name: string, below: JudgedCluster): JudgedCluster {
    const then = this.input.past?.cluster(name);
    if (then === undefined) return below;
    const state = below.state === 'unknown' ? then.state : worseState(below.state, then.state);
    const text = [below.text, then.text].filter((each) => each !== '').join('; ');
    return { ...below, state, text };
  }

  private isAggregate(name: string): boolean {
    const result = this.input.config.clusters.get(name);
    return result?.ok === true && result.value.children.kind === 'aggregate';
  }

  private judgeCluster(name: string): JudgedCluster {
    const result = this.input.config.clusters.get(name);
    const seen = this.seen?.get(name);
    if (result === undefined) {
      // No resource of a cluster is requested to which no route sends calls.
      return this.zeroWeight.has(name) && !this.expected.has(name)
        ? { state: 'unused', text: 'weight 0: its resources are not requested' }
        : { state: 'waiting', text: 'waits for its resources' };
    }
    if (!result.ok) return { state: 'failing', text: result.error.message };
    const below = this.addChildren(name, result.value, seen);
    if (seen?.error !== undefined) return { ...below, state: 'failing', text: seen.error };
    if (seen?.atLimit !== undefined) return { ...below, state: 'over-limit', text: seen.atLimit };
    if (!this.isInUse(name)) return { ...below, state: 'unused' };
    if (seen !== undefined && seen.endpoints.size > 0) return rolledUp(below, seen);
    return this.withPast(name, below);
  }

  private addChildren(
    name: string,
    config: ClusterConfig,
    seen: SeenCluster | undefined,
  ): JudgedCluster {
    const { children } = config;
    if (children.kind === 'aggregate') return this.addLeaves(name, children.leafClusters);
    const { past } = this.input;
    const input = { name, config, seen, isInUse: this.isInUse(name), past };
    const before = this.partsBefore?.get(name);
    const isSame = before !== undefined && shareFields(before.input, input) === before.input;
    const kept = isSame ? before : { input, part: buildClusterPart(input, children, this.options) };
    this.kept.set(name, kept);
    const { nodes, edges, ...judged } = kept.part;
    for (const node of nodes) this.parts.add(node);
    for (const edge of edges) this.parts.edges.push(edge);
    return judged;
  }

  /** The leaves of an aggregate cluster: the first one that can be reached takes the calls (gRFC A37). */
  private addLeaves(name: string, leaves: readonly string[]): JudgedCluster {
    const states = leaves.map((leaf) => this.addCluster(leaf));
    const seen = this.seen?.get(name);
    const isLeafUsed = (leaf: string) =>
      seen === undefined ? this.expected.has(leaf) : seen.usedLeaves.has(leaf);
    const inUse = this.isInUse(name) ? leaves.findIndex(isLeafUsed) : -1;
    leaves.forEach((leaf, index) => {
      const isUsed = index === inUse;
      const text = isUsed ? `priority ${index}, in use` : describeUnusedPriority(index, inUse);
      this.parts.connect(clusterId(name), clusterId(leaf), {
        isUsed,
        text,
        calls: { cluster: leaf },
      });
    });
    return { state: states[inUse] ?? 'failing', text: `aggregate of ${leaves.length}` };
  }

  /** Whether calls reach a cluster: as the channel knows, or else as its resources say. */
  private isInUse(cluster: string): boolean {
    return this.seen?.get(cluster)?.isInUse ?? this.expected.has(cluster);
  }
}

/** A cluster whose endpoints a channel knows is as `inspect()` says. */
function rolledUp(below: JudgedCluster, { rollUp }: SeenCluster): JudgedCluster {
  const texts = [rollUp.reason ?? '', below.text].filter((part) => part !== '');
  return { ...below, state: rollUp.state, text: texts.join('; ') };
}

/** The clusters that calls reach if every endpoint can be reached. */
function findExpected({ virtualHost, clusters }: XdsConfig): ReadonlySet<string> {
  const expected = new Set<string>();
  for (const route of virtualHost.routes) {
    const { shares = [] } = new DescribedRoute(route, virtualHost);
    for (const { cluster, share } of shares) if (share > 0) expected.add(cluster);
  }
  for (const name of [...expected]) {
    const result = clusters.get(name);
    const children = result?.ok === true ? result.value.children : undefined;
    const first = children?.kind === 'aggregate' ? children.leafClusters[0] : undefined;
    if (first !== undefined) expected.add(first);
  }
  return expected;
}

function describeUnusedPriority(index: number, inUse: number): string {
  return index < inUse
    ? `priority ${index}: cannot be reached`
    : `priority ${index}: not needed while an earlier one can be reached`;
}
