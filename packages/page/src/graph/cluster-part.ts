import { type ClusterConfig, endpointChoice, rollUps } from 'grpc-xds/internal';
import type { EndpointState, RollUpState } from 'grpc-xds';
import { joinHostPort } from '../../../../src/util/text';
import type { SeenCluster, SeenEndpoint } from './endpoint-states';
import { GraphParts } from './graph-parts';
import {
  countStates,
  GRAPH_STATES,
  worseState,
  type CountedCalls,
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

/** What is known about the connections of an earlier time. */
export interface PastKnowledge {
  /** Returns why an endpoint was ejected; `undefined` if it was not. */
  readonly ejected: (cluster: string, address: string) => string | undefined;
  /** Returns the state of a cluster after its last event, and why; `undefined` without an event. */
  readonly cluster: (name: string) => Pick<GraphNode, 'state' | 'text'> | undefined;
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
  /** As `GraphInput.past`. */
  readonly past: PastKnowledge | undefined;
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

/** The endpoints of a cluster that is no aggregate. */
type ClusterEndpoints = Extract<ClusterConfig['children'], { readonly kind: 'endpoints' }>;
type Priority = NonNullable<ClusterEndpoints['endpoints']>['priorities'][number];

/** The endpoints of one locality within one priority. */
interface Locality<Endpoint> extends Pick<Priority['localities'][number], 'locality' | 'weight'> {
  readonly endpoints: readonly Endpoint[];
}

/** An endpoint with its addresses as text. */
type ListedEndpoint = Pick<EndpointState, 'addresses' | 'weight' | 'health'>;

type JudgedEndpoint = ListedEndpoint & SeenEndpoint;

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
    endpoints,
    resolutionNote,
  }: ClusterEndpoints): Omit<ClusterPart, 'nodes' | 'edges'> {
    const { config, seen, isInUse } = this.input;
    const { discovery } = config.resource;
    const isResolved = endpoints === undefined && discovery.kind === 'logical-dns';
    const priorities = isResolved
      ? resolvedPriorities(seen)
      : endpoints?.priorities.map(listPriority);
    if (priorities === undefined) {
      return isResolved
        ? {
            state: 'idle',
            text: `resolved by DNS: ${joinHostPort(discovery.host, discovery.port)}`,
          }
        : { state: 'failing', text: resolutionNote };
    }
    const counted = priorities
      .flatMap((each, priority) => this.addPriority(each, priority, !isResolved))
      .filter(({ isUsed, state }) => isUsed || state === 'failing');
    if (!counted.some(({ isUsed }) => isUsed)) {
      return isInUse ? { state: 'failing', text: resolutionNote } : { state: 'unused', text: '' };
    }
    const { drops = [] } = endpoints ?? {};
    const texts = drops.map(
      ({ category, perMillion }) => `drops ${perMillion / 10_000} % (${category})`,
    );
    const { policy, isWithinLocality } = this.choice;
    const passed = drops.reduce((part, { perMillion }) => part * (1 - perMillion / 1e6), 1);
    return {
      state: rollUpParts(counted.map(({ state }) => state)),
      text: texts.join(', '),
      dropped: passed < 1 ? 1 - passed : undefined,
      policy: isWithinLocality ? undefined : policy,
    };
  }

  /**
   * @param isCounted Whether endpoints are counted by themselves: those that DNS has resolved are not.
   * @returns what its localities come to.
   */
  private addPriority(
    listed: ListedPriority,
    priority: number,
    isCounted: boolean,
  ): readonly { readonly isUsed: boolean; readonly state: GraphState }[] {
    const { name: cluster, seen, isInUse } = this.input;
    const isUsed =
      seen === undefined || seen.endpoints.size === 0
        ? priority === 0 && isInUse
        : listed.some(({ endpoints }) => endpoints.some((each) => this.find(each)?.isInUse));
    const localities = listed.map((locality) => ({
      ...locality,
      endpoints: locality.endpoints.map((each) => ({
        ...each,
        ...(this.find(each) ?? judgeUnseen(each, this.input, isUsed)),
      })),
    }));
    const shareOf = this.sharesOf(localities);
    const among = localities.flatMap(({ endpoints }) => addressesOf(endpoints));
    return localities.map((locality) => {
      const own = { endpoints: addressesOf(locality.endpoints), among };
      const calls = { cluster, ...(isCounted && own) };
      return this.addLocality({
        locality,
        priority,
        isPriorityUsed: isUsed,
        share: shareOf(locality),
        calls,
      });
    });
  }

  /** Returns what gives a locality its share of the calls of its priority: weights, or how many of its endpoints are picked from. */
  private sharesOf(
    localities: readonly Locality<JudgedEndpoint>[],
  ): (locality: Locality<JudgedEndpoint>) => LocalityInput['share'] {
    const { isWithinLocality, goesByWeight } = this.choice;
    if (isWithinLocality || goesByWeight) {
      const all = localities.reduce((sum, { weight }) => sum + weight, 0);
      return ({ weight }) => ({ share: weight / all });
    }
    const all = localities.reduce((sum, each) => sum + countPicked(each), 0);
    return (each) => ({ evenShare: all === 0 ? 0 : countPicked(each) / all });
  }

  private addLocality(input: LocalityInput): {
    readonly isUsed: boolean;
    readonly state: GraphState;
  } {
    const { locality, priority, isPriorityUsed, share, calls } = input;
    const { name } = this.input;
    const { region, zone, subZone } = locality.locality;
    const place = [region, zone, subZone].filter((part) => part !== '').join('/');
    const id = `locality ${JSON.stringify([name, priority, region, zone, subZone])}`;
    const summary = summarize(locality.endpoints);
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
    else this.addEndpoints(id, locality.endpoints);
    return { isUsed, state };
  }

  /** Returns the state of an endpoint that the channel knows, or that is ejected; `undefined` for another one. */
  private find({ addresses: [address = ''] }: ListedEndpoint): SeenEndpoint | undefined {
    const { name, seen, past } = this.input;
    const text = past?.ejected(name, address);
    return text === undefined
      ? seen?.endpoints.get(address)
      : { state: 'ejected', text, isInUse: false };
  }

  /** Draws all endpoints of a locality as one node. */
  private addGroup(
    group: GraphGroup,
    { isUsed, worst, counts }: ReturnType<typeof summarize>,
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

  private addEndpoints(localityId: string, endpoints: readonly JudgedEndpoint[]): void {
    const used = endpoints.reduce((sum, { isInUse, weight }) => sum + (isInUse ? weight : 0), 0);
    for (const { addresses, weight, state, text, since, isInUse } of endpoints) {
      const [name = ''] = addresses;
      const id = `endpoint ${name} of ${localityId}`;
      const calls = { cluster: this.input.name, endpoints: addresses };
      this.parts.add({ id, column: 'endpoint', name, state, text, since, calls });
      const share = isInUse ? weight / used : 0;
      const weighed = this.choice.goesByWeight ? { share } : {};
      this.parts.connect(localityId, id, { ...weighed, isUsed: isInUse, calls });
    }
  }
}

/** A locality of the cluster, within a priority. */
interface LocalityInput {
  readonly locality: Locality<JudgedEndpoint>;
  readonly priority: number;
  /** Whether calls reach the priority. */
  readonly isPriorityUsed: boolean;
  readonly share: Pick<GraphEdge, 'share' | 'evenShare'>;
  readonly calls: CountedCalls;
}

type ListedPriority = readonly Locality<ListedEndpoint>[];

function listPriority({ localities }: Priority): ListedPriority {
  return localities.map(({ locality, weight, endpoints }) => ({
    locality,
    weight,
    endpoints: endpoints.map(({ addresses, weight: own, health }) => ({
      addresses: addresses.map(({ host, port }) => joinHostPort(host, port)),
      weight: own,
      health,
    })),
  }));
}

/** The endpoints that DNS has resolved a cluster to, as its channel knows; undefined if there is none. */
function resolvedPriorities(seen: SeenCluster | undefined): readonly ListedPriority[] | undefined {
  if (seen === undefined || seen.endpoints.size === 0) return undefined;
  const endpoints = Array.from(seen.endpoints.keys(), (address) => {
    return { addresses: [address], weight: 1, health: 'UNKNOWN' } as const;
  });
  return [[{ locality: { region: '', zone: '', subZone: '' }, weight: 1, endpoints }]];
}

function addressesOf(endpoints: readonly ListedEndpoint[]): readonly string[] {
  return endpoints.flatMap(({ addresses }) => addresses);
}

/**
 * Judges an endpoint that the channel does not know: without a channel, endpoints are as the control plane says.
 *
 * @param isPriorityUsed Whether calls reach its priority.
 */
function judgeUnseen(
  { health }: ListedEndpoint,
  { seen, past }: Pick<PartInput, 'seen' | 'past'>,
  isPriorityUsed: boolean,
): SeenEndpoint {
  if (health === 'DRAINING') {
    return { state: 'draining', text: 'takes no new calls', isInUse: false };
  }
  if (seen === undefined) {
    const state = past === undefined ? 'ready' : 'unknown';
    return { state, text: '', isInUse: isPriorityUsed };
  }
  // The channel has no policies for its endpoints yet.
  if (seen.endpoints.size === 0) {
    return { state: 'idle', text: 'not connected', isInUse: isPriorityUsed };
  }
  const reason = isPriorityUsed ? 'the policy does not use it' : 'its priority is not needed';
  return { state: 'unused', text: `not connected: ${reason}`, isInUse: false };
}

/** Returns what the states of the endpoints of a locality come to. */
function summarize(endpoints: readonly SeenEndpoint[]) {
  const all = endpoints.map(({ state }) => state);
  return {
    isUsed: endpoints.some(({ isInUse }) => isInUse),
    state: rollUpParts(all, (counted) =>
      rollUps.endpoints(counted.filter((each) => each !== 'degraded')),
    ),
    worst: all.length === 0 ? 'failing' : all.reduce(worseState),
    counts: countStates(all),
  };
}

function countPicked({ endpoints }: Locality<SeenEndpoint>): number {
  return endpoints.reduce((count, { isInUse }) => count + Number(isInUse), 0);
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
  if (states.length > 1 && counted.length > 0) {
    const rolled = rollUp(counted);
    return rolled === 'idle' && states.includes('unknown') ? 'unknown' : rolled;
  }
  return GRAPH_STATES.find((state) => states.includes(state)) ?? 'failing';
}

const COUNTED: Readonly<Record<GraphState, RollUpState | undefined>> = {
  ready: 'ready',
  idle: 'idle',
  // It takes part of the calls, as far as is known.
  unknown: 'idle',
  waiting: 'waiting',
  degraded: 'degraded',
  failing: 'failing',
  ejected: 'failing',
  'over-limit': 'failing',
  unused: undefined,
  draining: undefined,
};
