import type { EndpointState, PolicyState, RollUp, StateDetails, StateName } from 'grpc-xds';
import { shareMap, shareSet } from '../../../../src/util/share';
import { rollUps } from 'grpc-xds/internal';
import { getOrMake } from './group-by';
import type { GraphState } from './mesh-graph';

/** The state of an endpoint within a cluster. */
export interface SeenEndpoint {
  readonly state: GraphState;
  /** Why; empty if there is nothing to say. */
  readonly text: string;
  /** Since when it fails, as an ISO time; absent where that is not known. */
  readonly since?: string | undefined;
  /** Whether calls reach it: its priority is the one that takes calls, and its locality and itself are those that are picked. */
  readonly isInUse: boolean;
}

/** What the policies of a channel know of one cluster. */
export interface SeenCluster {
  /** By first address. */
  readonly endpoints: ReadonlyMap<string, SeenEndpoint>;
  /** Why calls to the cluster fail; undefined if they do not. */
  readonly error: string | undefined;
  readonly rollUp: RollUp;
  /** Its concurrent calls and their limit (gRFC A32); undefined if it is not at the limit. */
  readonly atLimit: string | undefined;
  /** Whether any way to it is in use: an aggregate cluster may use another of its leaves. */
  readonly isInUse: boolean;
  /** Those of its leaves that take its calls, if it is an aggregate. */
  readonly usedLeaves: ReadonlySet<string>;
}

/** What the policies of a channel know, by cluster. */
export type SeenClusters = ReadonlyMap<string, SeenCluster>;

const NO_ENDPOINTS = new Map<string, SeenEndpoint>();
const NO_LEAVES = new Set<string>();

/** A cluster while its policies are looked at. Most of thousands have no connections and no leaves, and so no map or set. */
class GatheredCluster implements SeenCluster {
  error: string | undefined = undefined;
  rollUp: RollUp = { state: 'idle', text: 'idle' };
  atLimit: string | undefined = undefined;
  isInUse = false;
  endpoints = NO_ENDPOINTS;
  usedLeaves = NO_LEAVES;

  setEndpoint(address: string, endpoint: SeenEndpoint): void {
    if (this.endpoints === NO_ENDPOINTS) this.endpoints = new Map();
    this.endpoints.set(address, endpoint);
  }

  addLeaf(name: string): void {
    if (this.usedLeaves === NO_LEAVES) this.usedLeaves = new Set();
    this.usedLeaves.add(name);
  }
}

/** A policy as its parent sees it. */
type SeenPolicy = PolicyState & { readonly role?: StateDetails };

/** Where in the tree of policies a node is. */
interface Place {
  readonly cluster: GatheredCluster | undefined;
  /** Whether calls reach the cluster, and the priority within it. */
  readonly isInUse: boolean;
}

/**
 * Gathers the states of a tree of policies by cluster. Each policy and each endpoint is looked at once.
 *
 * @param before What was known of the same channel before: it is returned itself if nothing differs, and so is each cluster of it.
 */
export function seeClusters(root: PolicyState, before?: SeenClusters): SeenClusters {
  const clusters = new Map<string, GatheredCluster>();
  see(root, { cluster: undefined, isInUse: true }, clusters);
  const shared = new Map<string, SeenCluster>();
  for (const [name, cluster] of clusters) {
    shared.set(name, shareCluster(before?.get(name), cluster));
  }
  return shareMap(before, shared);
}

/** Policies that choose in ways of their own, by their names in a state. */
const WEIGHTED_TARGET = 'weighted_target_experimental';
/** They connect to endpoints when calls need them (gRFC A42). */
const CONNECTING_ON_DEMAND: ReadonlySet<string> = new Set([
  'ring_hash_experimental',
  'maglev_experimental',
]);

function shareCluster(before: SeenCluster | undefined, next: GatheredCluster): SeenCluster {
  if (before === undefined) return next;
  for (const [address, endpoint] of next.endpoints) {
    const known = before.endpoints.get(address);
    if (known !== undefined && isSameEndpoint(known, endpoint)) next.setEndpoint(address, known);
  }
  const isSame =
    before.error === next.error &&
    before.rollUp.text === next.rollUp.text &&
    before.atLimit === next.atLimit &&
    before.isInUse === next.isInUse &&
    shareMap(before.endpoints, next.endpoints) === before.endpoints &&
    shareSet(before.usedLeaves, next.usedLeaves) === before.usedLeaves;
  return isSame ? before : next;
}

function isSameEndpoint(a: SeenEndpoint, b: SeenEndpoint): boolean {
  return (
    a === b ||
    (a.state === b.state && a.text === b.text && a.since === b.since && a.isInUse === b.isInUse)
  );
}

function see(policy: SeenPolicy, place: Place, clusters: Map<string, GatheredCluster>): void {
  const placeOf = enter(policy, place, clusters);
  for (const child of policy.children ?? []) see(child, placeOf(child), clusters);
}

/** Looks at a policy itself, and returns where its children are. */
function enter(
  policy: SeenPolicy,
  place: Place,
  clusters: Map<string, GatheredCluster>,
): (child: PolicyState) => Place {
  const isInUse = place.isInUse && policy.role?.['inUse'] !== false;
  const cluster = enterCluster(policy, { ...place, isInUse }, clusters);
  const { policy: name, endpoints = [], children = [] } = policy;
  const isPicked = pickedOf(name, endpoints.map(rankOf));
  for (const endpoint of endpoints) {
    addEndpoint(endpoint, cluster, isInUse && isPicked(rankOf(endpoint)));
  }
  if (name !== WEIGHTED_TARGET) {
    // A policy with one child, or one that says which is in use, does not choose by state.
    const inside = { cluster, isInUse };
    return () => inside;
  }
  const ranks = children.map(({ state }) => RANKS[state]);
  const isChosen = pickedOf(name, ranks);
  return ({ state }) => ({ cluster, isInUse: isInUse && isChosen(RANKS[state]) });
}

/** How good a state is: policies pick among the best. */
const RANKS: Readonly<Record<StateName, number>> = {
  READY: 3,
  CONNECTING: 2,
  IDLE: 2,
  TRANSIENT_FAILURE: 1,
  SHUTDOWN: 1,
};

function rankOf({ state, ejected, health }: EndpointState): number {
  if (ejected === true) return RANKS.TRANSIENT_FAILURE;
  // It is here for sessions that stay on it (gRFC A75), and gets no other calls.
  return health === 'DRAINING' ? 0 : RANKS[state];
}

/**
 * Returns what a policy picks from: what is connected, or else what is being connected, for which calls wait, or else what fails, with
 * whose error calls fail. Only the endpoints of a ring are connected when calls need them (gRFC A42).
 */
function pickedOf(policy: string, ranks: readonly number[]): (rank: number) => boolean {
  const best = ranks.reduce((most, rank) => Math.max(most, rank), 0);
  const least = CONNECTING_ON_DEMAND.has(policy) ? Math.min(best, RANKS.IDLE) : best;
  return (rank) => rank >= least;
}

function enterCluster(
  policy: SeenPolicy,
  place: Place,
  clusters: Map<string, GatheredCluster>,
): Place['cluster'] {
  const { details = {}, state, error } = policy;
  const { cluster: name } = details;
  if (typeof name !== 'string') return place.cluster;
  const cluster = getOrMake(clusters, name, () => new GatheredCluster());
  if (state === 'TRANSIENT_FAILURE') cluster.error ??= error ?? 'no endpoint can be reached';
  if (place.isInUse || !cluster.isInUse) cluster.rollUp = rollUps.policy(policy);
  cluster.isInUse ||= place.isInUse;
  if (place.isInUse && place.cluster !== cluster) place.cluster?.addLeaf(name);
  cluster.atLimit = limitOf(details) ?? cluster.atLimit;
  return cluster;
}

/** Returns the concurrent calls and their limit; `undefined` below it. */
function limitOf({ callsInFlight, maxRequests }: StateDetails): string | undefined {
  const isAtLimit =
    isNumber(callsInFlight) && isNumber(maxRequests) && callsInFlight >= maxRequests;
  return isAtLimit ? `${callsInFlight} calls in flight of at most ${maxRequests}` : undefined;
}

function isNumber(value: StateDetails[string] | undefined): value is number {
  return typeof value === 'number';
}

function addEndpoint(
  endpoint: EndpointState,
  cluster: GatheredCluster | undefined,
  isInUse: boolean,
): void {
  const [address] = endpoint.addresses;
  if (cluster === undefined || address === undefined) return;
  const known = cluster.endpoints.get(address);
  // A cluster that is used in two ways has its endpoints twice, on the same connections.
  if (known?.isInUse === true && !isInUse) return;
  cluster.setEndpoint(address, judge(endpoint, isInUse));
}

/** Most endpoints are in one of these: an object for each of 10,000 would be most of the cost of a graph. */
const PLAIN = {
  ready: inBothUses({ state: 'ready', text: '' }),
  waiting: inBothUses({ state: 'waiting', text: 'connecting' }),
  idle: inBothUses({ state: 'idle', text: 'not connected' }),
};

function inBothUses(of: Omit<SeenEndpoint, 'isInUse'>): Record<'used' | 'unused', SeenEndpoint> {
  return { used: { ...of, isInUse: true }, unused: { ...of, isInUse: false } };
}

function judge(endpoint: EndpointState, isInUse: boolean): SeenEndpoint {
  const state = rollUps.endpoint(endpoint);
  if (state === undefined) return { state: 'draining', text: 'takes no new calls', isInUse };
  if (state !== 'failing') return PLAIN[state][isInUse ? 'used' : 'unused'];
  const { error = 'cannot be reached', failingSince, ejected } = endpoint;
  if (ejected === true) return { state: 'ejected', text: 'ejected by outlier detection', isInUse };
  return { state, text: error, since: failingSince, isInUse };
}
