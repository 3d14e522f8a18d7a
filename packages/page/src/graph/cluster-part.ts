import { type ClusterConfig, endpointChoice, firstAddress, rollUps } from 'grpc-xds/internal';
import type { RollUpState } from 'grpc-xds';
import { joinHostPort } from '../../../../src/util/text';
import type { SeenCluster, SeenEndpoint } from './endpoint-states';
import { GraphParts } from './graph-parts';
import {
  countStates,
  GRAPH_STATES,
  worseState,
  type CountedCalls,
  type CountedEndpoint,
  type GraphEdge,
  type GraphGroup,
  type GraphNode,
  type GraphState,
} from './mesh-graph';

/** Which endpoints are drawn one by one. */
export interface PartOptions {
  /** The endpoints of a locality that are drawn one by one; of more, one node stands for all. */
  readonly maxEndpoints: number;
  /** The ids of nodes whose endpoints are drawn one by one, however many they are. */
  readonly opened: Pick<ReadonlySet<string>, 'has'>;
}

/** The inputs of a part, which is built again only when one of them is another object or value. */
export interface PartInput {
  /** That of the cluster. */
  readonly name: string;
  readonly config: ClusterConfig;
  /** What a channel knows of it; undefined without a channel, and for a cluster that it does not know. */
  readonly seen: SeenCluster | undefined;
  /** Whether calls reach the cluster. */
  readonly isInUse: boolean;
  /** As `GraphInput.ejected`. */
  readonly ejected: ((cluster: string, address: string) => string | undefined) | undefined;
}

/** The localities and endpoints of a cluster in a graph, and what they come to. */
export interface ClusterPart {
  readonly state: GraphState;
  readonly text: string;
  /** As of the node of the cluster. */
  readonly dropped?: number | undefined;
  readonly policy?: string | undefined;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** An endpoint of a cluster, as far as it is drawn. */
interface DrawnEndpoint extends CountedEndpoint {
  readonly weight: number;
  readonly health: string;
}

/** The endpoints of one locality within one priority. */
interface DrawnLocality {
  readonly locality: { readonly region: string; readonly zone: string; readonly subZone: string };
  readonly weight: number;
  readonly endpoints: readonly DrawnEndpoint[];
}

/** The endpoints of a cluster that is no aggregate. */
type ClusterEndpoints = Extract<ClusterConfig['children'], { readonly kind: 'endpoints' }>;

/** Builds what is below a cluster that is no aggregate. */
export function buildClusterPart(
  input: PartInput,
  children: ClusterEndpoints,
  options: PartOptions,
): ClusterPart {
  return new PartBuilder(input, options).build(children);
}

/** Returns the id of the node of a cluster. */
export function clusterId(name: string): string {
  return `cluster ${name}`;
}

class PartBuilder {
  private readonly parts = new GraphParts();
  private readonly choice;

  constructor(
    private readonly input: PartInput,
    private readonly options: PartOptions,
  ) {
    this.choice = endpointChoice(input.config.resource.lbConfig);
  }

  build(children: ClusterEndpoints): ClusterPart {
    const judged = this.addPriorities(children);
    const { nodes, edges } = this.parts.graph('');
    return { ...judged, nodes, edges };
  }

  private addPriorities({
    endpoints: listed,
    resolutionNote,
  }: ClusterEndpoints): Omit<ClusterPart, 'nodes' | 'edges'> {
    const { config, seen, isInUse } = this.input;
    const { discovery } = config.resource;
    const isResolved = discovery.kind === 'logical-dns';
    const endpoints = listed ?? (isResolved ? resolvedEndpoints(seen) : undefined);
    if (endpoints === undefined) {
      return isResolved
        ? {
            state: 'idle',
            text: `resolved by DNS: ${joinHostPort(discovery.host, discovery.port)}`,
          }
        : { state: 'failing', text: resolutionNote };
    }
    const localities = endpoints.priorities.flatMap((each, priority) =>
      this.addPriority(each.localities, priority, listed !== undefined),
    );
    const counted: GraphState[] = [];
    let isUsed = false;
    for (const each of localities) {
      isUsed ||= each.isUsed;
      if (each.isUsed || each.state === 'failing') counted.push(each.state);
    }
    if (!isUsed) {
      return isInUse ? { state: 'failing', text: resolutionNote } : { state: 'unused', text: '' };
    }
    const drops = endpoints.drops.map(
      ({ category, perMillion }) => `drops ${perMillion / 10_000} % (${category})`,
    );
    const { policy, isWithinLocality } = this.choice;
    const passed = endpoints.drops.reduce((part, each) => part * (1 - each.perMillion / 1e6), 1);
    return {
      state: rollUpParts(counted),
      text: drops.join(', '),
      dropped: passed < 1 ? 1 - passed : undefined,
      policy: isWithinLocality ? undefined : policy,
    };
  }

  /**
   * @param isListed Whether endpoints are counted by themselves: those that DNS has resolved are not.
   * @returns what its localities come to.
   */
  private addPriority(
    localities: readonly DrawnLocality[],
    priority: number,
    isListed: boolean,
  ): readonly { readonly isUsed: boolean; readonly state: GraphState }[] {
    const { seen, isInUse } = this.input;
    const known = localities.map(({ endpoints }) => endpoints.map((each) => this.find(each)));
    const isPriorityUsed =
      seen === undefined || seen.endpoints.size === 0
        ? priority === 0 && isInUse
        : known.some((each) => each.some((state) => state?.isInUse === true));
    const states = localities.map(({ endpoints }, index) =>
      endpoints.map((each, i) => known[index]?.[i] ?? judgeUnseen(each, seen, isPriorityUsed)),
    );
    const shareOf = this.sharesOf(localities, states);
    return localities.map((locality, index) => {
      const own = states[index] ?? [];
      const share = shareOf(locality, own);
      const calls = {
        cluster: this.input.name,
        ...(isListed && { endpoints: locality.endpoints, among: localities }),
      };
      return this.addLocality({ locality, priority, isPriorityUsed, share, states: own, calls });
    });
  }

  /** Returns what gives a locality its share of the calls of its priority: weights, or how many of its endpoints are picked from. */
  private sharesOf(
    localities: readonly DrawnLocality[],
    states: readonly (readonly SeenEndpoint[])[],
  ): (locality: DrawnLocality, own: readonly SeenEndpoint[]) => LocalityInput['share'] {
    const { isWithinLocality, goesByWeight } = this.choice;
    if (isWithinLocality || goesByWeight) {
      const all = localities.reduce((sum, { weight }) => sum + weight, 0);
      return ({ weight }) => ({ share: weight / all });
    }
    const all = states.reduce((sum, own) => sum + countPicked(own), 0);
    return (_locality, own) => ({ evenShare: all === 0 ? 0 : countPicked(own) / all });
  }

  private addLocality(input: LocalityInput): {
    readonly isUsed: boolean;
    readonly state: GraphState;
  } {
    const { locality, priority, isPriorityUsed, share, states, calls } = input;
    const { name } = this.input;
    const { region, zone, subZone } = locality.locality;
    const place = [region, zone, subZone].filter((part) => part !== '').join('/');
    const id = `locality ${JSON.stringify([name, priority, region, zone, subZone])}`;
    const summary = summarize(states);
    const { isUsed, state: rolled, counts } = summary;
    // In a priority that is in use, what is not used has a fault of its own.
    const isShown = isUsed || isPriorityUsed || rolled === 'failing';
    const state = isShown ? rolled : 'unused';
    const text = `priority ${priority}; ${counts === '' ? 'no endpoint' : counts}`;
    const { maxEndpoints, opened } = this.options;
    const isGroup = locality.endpoints.length > maxEndpoints;
    const group = isGroup ? { id, isOpen: opened.has(id) } : undefined;
    this.parts.add({
      id,
      column: 'locality',
      name: place || '(no locality)',
      state,
      text,
      policy: this.choice.policy,
      calls,
      group,
    });
    const reason = isPriorityUsed
      ? 'no calls while another locality takes them'
      : `priority ${priority}: not in use`;
    this.parts.connect(clusterId(name), id, {
      ...share,
      isUsed,
      text: isUsed ? '' : reason,
      calls,
    });
    if (group?.isOpen === false) this.addGroup(group, summary, input);
    else this.addEndpoints(id, input);
    return { isUsed, state };
  }

  /** Returns the state of an endpoint that the channel knows, or that is ejected; `undefined` for another one. */
  private find(endpoint: DrawnEndpoint): SeenEndpoint | undefined {
    const { name, seen, ejected } = this.input;
    if (seen === undefined && ejected === undefined) return undefined;
    const address = firstAddress(endpoint);
    const text = ejected?.(name, address);
    return text === undefined
      ? seen?.endpoints.get(address)
      : { state: 'ejected', text, isInUse: false };
  }

  /** Draws all endpoints of a locality as one node. */
  private addGroup(
    group: GraphGroup,
    { isUsed, worst, counts }: StateSummary,
    { locality, calls }: LocalityInput,
  ): void {
    const id = `endpoints of ${group.id}`;
    const count = locality.endpoints.length;
    const node = {
      id,
      column: 'endpoint',
      name: `${count} endpoints`,
      count,
      group,
      calls,
    } as const;
    this.parts.add({ ...node, state: worst, text: counts });
    this.parts.connect(group.id, id, { isUsed, calls });
  }

  private addEndpoints(localityId: string, { locality, states }: LocalityInput): void {
    const { endpoints } = locality;
    const weightOf = ({ weight }: DrawnEndpoint, index: number) =>
      states[index]?.isInUse === true ? weight : 0;
    const total = endpoints.reduce((sum, each, i) => sum + weightOf(each, i), 0);
    endpoints.forEach((endpoint, index) => {
      const { state = 'idle', text = '', since, isInUse = false } = states[index] ?? {};
      const name = firstAddress(endpoint);
      const id = `endpoint ${name} of ${localityId}`;
      const calls = { cluster: this.input.name, endpoints: [endpoint] };
      this.parts.add({ id, column: 'endpoint', name, state, text, since, calls });
      const share = isInUse ? weightOf(endpoint, index) / total : 0;
      const weighed = this.choice.goesByWeight ? { share } : {};
      this.parts.connect(localityId, id, { ...weighed, isUsed: isInUse, calls });
    });
  }
}

/** A locality of the cluster, within a priority. */
interface LocalityInput {
  readonly locality: DrawnLocality;
  readonly priority: number;
  /** Whether calls reach the priority. */
  readonly isPriorityUsed: boolean;
  readonly share: Pick<GraphEdge, 'share' | 'evenShare'>;
  /** Of its endpoints, in their order. */
  readonly states: readonly SeenEndpoint[];
  readonly calls: CountedCalls;
}

/** The endpoints that DNS has resolved a cluster to, as its channel knows; undefined if there is none. */
function resolvedEndpoints(seen: SeenCluster | undefined) {
  const found = [...(seen?.endpoints.keys() ?? [])];
  if (found.length === 0) return undefined;
  const endpoints: readonly DrawnEndpoint[] = found.map((address) => {
    return { addresses: [parseAddress(address)], weight: 1, health: 'UNKNOWN' };
  });
  const locality = { region: '', zone: '', subZone: '' };
  return { priorities: [{ localities: [{ locality, weight: 1, endpoints }] }], drops: [] };
}

function parseAddress(text: string): DrawnEndpoint['addresses'][number] {
  const colon = text.lastIndexOf(':');
  return {
    host: text.slice(0, colon).replace(/^\[|\]$/g, ''),
    port: Number(text.slice(colon + 1)),
  };
}

/**
 * Judges an endpoint that the channel does not know: without a channel, endpoints are as the control plane says.
 *
 * @param isPriorityUsed Whether calls reach its priority.
 */
function judgeUnseen(
  endpoint: DrawnEndpoint,
  seen: SeenCluster | undefined,
  isPriorityUsed: boolean,
): SeenEndpoint {
  if (endpoint.health === 'DRAINING') {
    return { state: 'draining', text: 'takes no new calls', isInUse: false };
  }
  if (seen === undefined) return { state: 'ready', text: '', isInUse: isPriorityUsed };
  // The channel has no policies for its endpoints yet.
  if (seen.endpoints.size === 0) {
    return { state: 'idle', text: 'not connected', isInUse: isPriorityUsed };
  }
  const reason = isPriorityUsed ? 'the policy does not use it' : 'its priority is not needed';
  return { state: 'unused', text: `not connected: ${reason}`, isInUse: false };
}

/** What the states of the endpoints of a locality come to. */
interface StateSummary {
  /** Whether calls reach one of them. */
  readonly isUsed: boolean;
  readonly state: GraphState;
  readonly worst: GraphState;
  /** Such as `118 ready, 2 failing`. */
  readonly counts: string;
}

function summarize(states: readonly SeenEndpoint[]): StateSummary {
  const all = states.map(({ state }) => state);
  return {
    isUsed: states.some(({ isInUse }) => isInUse),
    state: rollUpParts(all, (counted) =>
      rollUps.endpoints(counted.filter((each) => each !== 'degraded')),
    ),
    worst: all.length === 0 ? 'failing' : all.reduce(worseState),
    counts: countStates(all),
  };
}

function countPicked(states: readonly SeenEndpoint[]): number {
  return states.reduce((count, { isInUse }) => count + Number(isInUse), 0);
}

/**
 * Rolls up the states of parts by the rule of `inspect()`: what was ejected or is at its limit fails, and what no call reaches does not
 * count, unless that is all of them.
 *
 * @param rollUp The rule. Default: that for what calls are spread over.
 */
export function rollUpParts(
  states: readonly GraphState[],
  rollUp: (counted: readonly RollUpState[]) => RollUpState = rollUps.states,
): GraphState {
  const counted = states.flatMap((state) => COUNTED[state] ?? []);
  if (states.length > 1 && counted.length > 0) return rollUp(counted);
  return GRAPH_STATES.find((state) => states.includes(state)) ?? 'failing';
}

const COUNTED: Readonly<Record<GraphState, RollUpState | undefined>> = {
  ready: 'ready',
  idle: 'idle',
  waiting: 'waiting',
  degraded: 'degraded',
  failing: 'failing',
  ejected: 'failing',
  'over-limit': 'failing',
  unused: undefined,
  draining: undefined,
};
