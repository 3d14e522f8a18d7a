import type { XdsConfig, ClusterConfig, ClusterResult } from '../../dependency-manager/xds-config';
import { firstAddress } from '../../lb/endpoints/endpoint-key';
import type { PolicyState } from '../../lb/tree/policy-state';
import {
  noMetadata,
  type EndpointsResource,
  type LocalityEndpoints,
  type SocketAddress,
  type XdsEndpoint,
} from '../../resources/endpoints/endpoints';
import type { Route } from '../../resources/route-config/route-config';
import { describeAction, describeMatch, sharesOf } from '../../routing/describe-route';
import { joinHostPort } from '../../util/text';
import { cutColumns } from './cut-columns';
import { withControlPlane, type GraphProcess } from './control-plane-graph';
import { seeClusters, type SeenCluster, type SeenEndpoint } from './endpoint-states';
import {
  GRAPH_STATES,
  type GraphEdge,
  type GraphGroup,
  type GraphNode,
  type GraphState,
  type MeshGraph,
} from './mesh-graph';

/** What is drawn one by one, and what one node stands for. */
export interface GraphOptions {
  /** The nodes of a column, besides one for all others. */
  readonly maxNodes: number;
  /** The endpoints of a locality that are drawn one by one; of more, one node stands for all. */
  readonly maxEndpoints: number;
  /** The ids of nodes whose endpoints are drawn one by one, however many they are. */
  readonly opened: Pick<ReadonlySet<string>, 'has'>;
}

/** What a document has room for. */
export const DEFAULT_GRAPH_OPTIONS: GraphOptions = {
  ...{ maxNodes: 60, maxEndpoints: 8 },
  opened: new Set(),
};

/** What the states of a target without policies are. */
const UNCONNECTED = '; states are those of the configuration, without connections';

/** The state of a target. */
export interface GraphInput {
  readonly target: string;
  readonly config: XdsConfig;
  /** Those of a channel of the target; undefined if there is none, as for resources of a file. */
  readonly policies: PolicyState | undefined;
  /** Returns why an endpoint is ejected that has no policies to show it; `undefined` if it is not. Default: none is. */
  readonly ejected?: (cluster: string, address: string) => string | undefined;
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
export function buildWholeGraph(
  input: GraphInput,
  options: Omit<GraphOptions, 'maxNodes'>,
): MeshGraph {
  return withControlPlane(new GraphBuilder(input, options).build(), input.process);
}

/** Returns the id of the node of a cluster. */
export function clusterId(name: string): string {
  return `cluster ${name}`;
}

class GraphBuilder {
  private readonly nodes = new Map<string, GraphNode>();
  private readonly edges: GraphEdge[] = [];
  /** How many routes have a name or conditions. */
  private readonly labels = new Map<string, number>();
  private readonly seen;
  private readonly expected;
  private readonly targetId: string;

  constructor(
    private readonly input: GraphInput,
    private readonly options: Omit<GraphOptions, 'maxNodes'>,
  ) {
    this.seen = input.policies === undefined ? undefined : seeClusters(input.policies);
    this.expected = findExpected(input.config);
    this.targetId = `target ${input.target}`;
  }

  build(): MeshGraph {
    const { target, config } = this.input;
    const { routes, name } = config.virtualHost;
    this.add({
      ...{ id: this.targetId, column: 'target', name: target, state: 'ok' },
      text: `virtual host ${name} of ${config.routeConfig.name}${this.seen ? '' : UNCONNECTED}`,
    });
    routes.forEach((route, index) => this.addRoute(route, index));
    const nodes = [...this.nodes.values()];
    return { target, nodes, edges: this.edges };
  }

  private addRoute({ name, match, action }: Route, index: number): void {
    const label = name || describeMatch(match);
    const id = this.routeId(label);
    const fraction = match.fractionPerMillion;
    const node = {
      id,
      column: 'route',
      name: `${index}: ${label}`,
    } as const;
    if (action.kind !== 'forward') {
      this.add({ ...node, state: 'failing', text: describeAction(action) });
      this.connect(this.targetId, id, { isUsed: false, text: 'calls of it fail' });
      return;
    }
    const shares = sharesOf(action.clusters);
    const states = shares.map(({ cluster }) => this.addCluster(cluster));
    this.add({
      ...{ ...node, state: bestState(states) },
      text: name === '' ? '' : describeMatch(match),
    });
    this.connect(this.targetId, id, {
      isUsed: fraction !== 0,
      text: fraction === undefined ? '' : `${fraction / 10_000} % of the calls that match`,
    });
    for (const { cluster, share } of shares) {
      this.connect(id, clusterId(cluster), { share, isUsed: share > 0 });
    }
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
    const known = this.nodes.get(id);
    if (known !== undefined) return known.state;
    const result = this.input.config.clusters.get(name);
    const seen = this.seen?.get(name);
    const node = { id, column: 'cluster', name } as const;
    // Its own edges come before it is complete: an aggregate cluster may not contain itself, but resources may say so.
    this.nodes.set(id, { ...node, state: 'ok', text: '' });
    const { state, text } = this.judgeCluster(name, result, seen);
    this.nodes.set(id, { ...node, state, text });
    return state;
  }

  private judgeCluster(
    name: string,
    result: ClusterResult | undefined,
    seen: SeenCluster | undefined,
  ): Pick<GraphNode, 'state' | 'text'> {
    if (result === undefined) return { state: 'idle', text: 'waits for its resources' };
    if (!result.ok) return { state: 'failing', text: result.error };
    const below = this.addChildren(name, result.value, seen);
    if (seen?.error !== undefined) return { state: 'failing', text: seen.error };
    if (seen?.atLimit !== undefined) return { state: 'over-limit', text: seen.atLimit };
    if (!this.isInUse(name)) return { state: 'unused', text: below.text };
    return below;
  }

  private addChildren(
    name: string,
    { resource, children }: ClusterConfig,
    seen: SeenCluster | undefined,
  ): Pick<GraphNode, 'state' | 'text'> {
    if (children.kind === 'aggregate') return this.addLeaves(name, children.leafClusters);
    const { resolutionNote } = children;
    const { discovery } = resource;
    const isResolved = discovery.kind === 'logical-dns';
    const endpoints =
      children.endpoints ?? (isResolved ? resolvedEndpoints(name, seen) : undefined);
    if (endpoints === undefined) {
      return isResolved
        ? {
            state: 'idle',
            text: `resolved by DNS: ${joinHostPort(discovery.host, discovery.port)}`,
          }
        : { state: 'failing', text: resolutionNote };
    }
    const priorities = endpoints.priorities.map(({ localities }, priority) => {
      const total = localities.reduce((sum, { weight }) => sum + weight, 0);
      return localities.map((locality) =>
        this.addLocality({ name, locality, priority, share: locality.weight / total, seen }),
      );
    });
    const inUse = priorities.flat().filter(({ isUsed }) => isUsed);
    if (inUse.length === 0) {
      const isWanted = this.isInUse(name);
      return isWanted ? { state: 'failing', text: resolutionNote } : { state: 'unused', text: '' };
    }
    const drops = endpoints.drops.map(
      ({ category, perMillion }) => `drops ${perMillion / 10_000} % (${category})`,
    );
    return { state: bestState(inUse.map(({ state }) => state)), text: drops.join(', ') };
  }

  /** The leaves of an aggregate cluster: the first one that can be reached takes the calls (gRFC A37). */
  private addLeaves(name: string, leaves: readonly string[]): Pick<GraphNode, 'state' | 'text'> {
    const states = leaves.map((leaf) => this.addCluster(leaf));
    const seen = this.seen?.get(name);
    const isLeafUsed = (leaf: string) =>
      seen === undefined ? this.expected.has(leaf) : seen.usedLeaves.has(leaf);
    const inUse = this.isInUse(name) ? leaves.findIndex(isLeafUsed) : -1;
    leaves.forEach((leaf, index) => {
      const isUsed = index === inUse;
      const text = isUsed ? `priority ${index}, in use` : describeUnusedPriority(index, inUse);
      this.connect(clusterId(name), clusterId(leaf), { isUsed, text });
    });
    return { state: states[inUse] ?? 'failing', text: `aggregate of ${leaves.length}` };
  }

  private addLocality({ name, locality, priority, share, seen }: LocalityInput): {
    readonly isUsed: boolean;
    readonly state: GraphState;
  } {
    const { region, zone, subZone } = locality.locality;
    const place = [region, zone, subZone].filter((part) => part !== '').join('/');
    const id = `locality ${JSON.stringify([name, priority, region, zone, subZone])}`;
    const isExpected = priority === 0 && this.isInUse(name);
    const states = locality.endpoints.map((each) =>
      this.judge(name, judgeEndpoint(each, seen, isExpected), firstAddress(each)),
    );
    const { isUsed, best, counts } = summarize(states);
    const state = isUsed || best === 'failing' ? best : 'unused';
    const text = `priority ${priority}; ${counts === '' ? 'no endpoint' : counts}`;
    const group = this.groupOf(id, locality);
    this.add({
      ...{ id, column: 'locality', name: place || '(no locality)', state, text },
      ...(group !== undefined && { group }),
    });
    this.connect(clusterId(name), id, {
      ...{ share, isUsed },
      text: isUsed ? '' : `priority ${priority}: not in use`,
    });
    this.addEndpoints({ id, group, locality, states });
    return { isUsed, state };
  }

  /** Returns the state of an endpoint that may be ejected. */
  private judge(cluster: string, state: SeenEndpoint, address: string): SeenEndpoint {
    const text = this.input.ejected?.(cluster, address);
    return text === undefined ? state : { state: 'ejected', text, isInUse: false };
  }

  private addEndpoints({ id: localityId, group, locality, states }: LocalityParts): void {
    const { endpoints } = locality;
    if (group?.isOpen === false) {
      const id = `endpoints of ${localityId}`;
      const { isUsed, worst, counts } = summarize(states);
      const name = `${endpoints.length} endpoints`;
      const own = { id, column: 'endpoint', name, state: worst, text: counts } as const;
      this.add({ ...own, count: endpoints.length, group });
      this.connect(localityId, id, { isUsed });
      return;
    }
    const isChosen = (index: number) => {
      const state = states[index]?.state;
      return state === 'ok' || state === 'idle' || state === 'unused';
    };
    const total = endpoints.reduce((sum, each, i) => sum + (isChosen(i) ? each.weight : 0), 0);
    endpoints.forEach((endpoint, index) => {
      const { state = 'idle', text = '', isInUse = false } = states[index] ?? {};
      const address = firstAddress(endpoint);
      const id = `endpoint ${address} of ${localityId}`;
      this.add({ id, column: 'endpoint', name: address, state, text });
      this.connect(localityId, id, {
        share: isChosen(index) ? endpoint.weight / total : 0,
        isUsed: isInUse && isChosen(index),
      });
    });
  }

  /** The endpoints of a locality as a group; undefined if they are always drawn one by one. */
  private groupOf(id: string, { endpoints }: LocalityEndpoints): GraphGroup | undefined {
    const { maxEndpoints, opened } = this.options;
    return endpoints.length > maxEndpoints ? { id, isOpen: opened.has(id) } : undefined;
  }

  /** Whether calls reach a cluster: as the channel knows, or else as its resources say. */
  private isInUse(cluster: string): boolean {
    return this.seen?.get(cluster)?.isInUse ?? this.expected.has(cluster);
  }

  private add(node: GraphNode): void {
    this.nodes.set(node.id, node);
  }

  private connect(from: string, to: string, edge: Partial<GraphEdge> & { isUsed: boolean }): void {
    this.edges.push({ from, to, text: '', ...edge });
  }
}

/** A locality of a cluster, within a priority. */
interface LocalityInput {
  /** The cluster. */
  readonly name: string;
  readonly locality: LocalityEndpoints;
  readonly priority: number;
  readonly share: number;
  readonly seen: SeenCluster | undefined;
}

/** What the endpoints of a locality are drawn by. */
interface LocalityParts {
  readonly id: string;
  readonly group: GraphGroup | undefined;
  readonly locality: LocalityEndpoints;
  /** Of its endpoints, in their order. */
  readonly states: readonly SeenEndpoint[];
}

/** The clusters that calls reach if every endpoint can be reached. */
function findExpected({ virtualHost, clusters }: XdsConfig): ReadonlySet<string> {
  const expected = new Set<string>();
  for (const { action } of virtualHost.routes) {
    if (action.kind !== 'forward') continue;
    for (const { cluster, share } of sharesOf(action.clusters))
      if (share > 0) expected.add(cluster);
  }
  for (const name of [...expected]) {
    const result = clusters.get(name);
    const children = result?.ok === true ? result.value.children : undefined;
    const first = children?.kind === 'aggregate' ? children.leafClusters[0] : undefined;
    if (first !== undefined) expected.add(first);
  }
  return expected;
}

/** The endpoints that DNS has resolved a cluster to, as its channel knows; undefined if there is none. */
function resolvedEndpoints(
  clusterName: string,
  seen: SeenCluster | undefined,
): EndpointsResource | undefined {
  const found = [...(seen?.endpoints.keys() ?? [])];
  if (found.length === 0) return undefined;
  const endpoints = found.map((address) => ({
    ...({
      addresses: [parseAddress(address)],
      weight: 1,
      health: 'UNKNOWN',
      hostname: '',
    } as const),
    ...{ hashKey: undefined, metadata: noMetadata },
  }));
  const locality = { region: '', zone: '', subZone: '' };
  const priorities = [{ localities: [{ locality, weight: 1, endpoints }] }];
  return { clusterName, priorities, drops: [] };
}

function parseAddress(text: string): SocketAddress {
  const colon = text.lastIndexOf(':');
  return {
    host: text.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(text.slice(colon + 1)),
  };
}

/** Without a channel, endpoints are as the control plane says. */
function judgeEndpoint(
  endpoint: XdsEndpoint,
  seen: SeenCluster | undefined,
  isExpected: boolean,
): SeenEndpoint {
  const known = seen?.endpoints.get(firstAddress(endpoint));
  if (known !== undefined) return known;
  if (endpoint.health === 'DRAINING') {
    return { state: 'draining', text: 'takes no new calls', isInUse: false };
  }
  if (seen === undefined) return { state: 'ok', text: '', isInUse: isExpected };
  // The channel has no policies for its endpoints yet.
  if (seen.endpoints.size === 0) {
    return { state: 'idle', text: 'not connected', isInUse: isExpected };
  }
  return { state: 'unused', text: 'not connected: its priority is not needed', isInUse: false };
}

function describeUnusedPriority(index: number, inUse: number): string {
  return index < inUse
    ? `priority ${index}: cannot be reached`
    : `priority ${index}: not needed while an earlier one can be reached`;
}

/** What the states of the endpoints of a locality come to. */
interface StateSummary {
  /** Whether calls reach one of them. */
  readonly isUsed: boolean;
  readonly best: GraphState;
  readonly worst: GraphState;
  /** Such as `118 ok, 2 failing`. */
  readonly counts: string;
}

function summarize(states: readonly SeenEndpoint[]): StateSummary {
  const counts = new Map<GraphState, number>();
  let isUsed = false;
  for (const { state, isInUse } of states) {
    isUsed ||= isInUse;
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const known = GRAPH_STATES.filter((state) => counts.has(state));
  return {
    isUsed,
    ...{ best: known[0] ?? 'failing', worst: known.at(-1) ?? 'failing' },
    counts: known.map((state) => `${counts.get(state)} ${state}`).join(', '),
  };
}

/** What takes calls counts: one failing endpoint of many does not make a locality fail. */
function bestState(states: readonly GraphState[]): GraphState {
  return GRAPH_STATES.find((state) => states.includes(state)) ?? 'failing';
}
