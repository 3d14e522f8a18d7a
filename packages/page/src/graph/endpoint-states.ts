import type {
  ChildState,
  EndpointState,
  PolicyState,
  RollUp,
  StateDetails,
  StateName,
} from 'grpc-xds';
import { rollUps } from 'grpc-xds/internal';
import { madeOnce } from '../../../../src/util/made-once';
import { shareList } from '../../../../src/util/share';
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

/**
 * Returns the states of policies with everything in them that is as before as the same objects. Only what a graph shows counts, which
 * the calls of an endpoint are not.
 */
export function sharePolicies(before: ChildState | undefined, next: ChildState): ChildState {
  const children = shareEach(before?.children, next.children, sharePolicies);
  const endpoints = shareEach(before?.endpoints, next.endpoints, shareEndpoint);
  const isSame =
    before?.children === children &&
    before?.endpoints === endpoints &&
    before !== undefined &&
    isSamePolicy(before, next);
  return isSame
    ? before
    : { ...next, ...(children && { children }), ...(endpoints && { endpoints }) };
}

function isSamePolicy(a: ChildState, b: ChildState): boolean {
  return (
    a.policy === b.policy &&
    a.name === b.name &&
    a.state === b.state &&
    a.error === b.error &&
    a.role?.['inUse'] === b.role?.['inUse'] &&
    a.details?.['cluster'] === b.details?.['cluster'] &&
    limitOf(a.details) === limitOf(b.details)
  );
}

function shareEach<T>(
  before: readonly T[] | undefined,
  next: readonly T[] | undefined,
  share: (before: T | undefined, next: T) => T,
): readonly T[] | undefined {
  const same = next && shareList(before, next);
  if (next === undefined || same === before) return same;
  return shareList(
    before,
    next.map((each, index) => share(before?.[index], each)),
  );
}

function shareEndpoint(before: EndpointState | undefined, next: EndpointState): EndpointState {
  const isSame =
    before?.state === next.state &&
    before.error === next.error &&
    before.failingSince === next.failingSince &&
    before.health === next.health &&
    before.ejected === next.ejected &&
    shareList(before.addresses, next.addresses) === before.addresses;
  return isSame ? before : next;
}

/** A cluster while its policies are looked at. */
class GatheredCluster implements SeenCluster {
  error: string | undefined = undefined;
  rollUp: RollUp = { state: 'idle', text: 'idle' };
  atLimit: string | undefined = undefined;
  isInUse = false;
  readonly endpoints = new Map<string, SeenEndpoint>();
  readonly usedLeaves = new Set<string>();

  /** Adds what one of its policies knows. */
  add({ error, rollUp, atLimit, isInUse }: Omit<SeenCluster, 'endpoints' | 'usedLeaves'>): void {
    this.error ??= error;
    if (isInUse || !this.isInUse) this.rollUp = rollUp;
    this.isInUse ||= isInUse;
    this.atLimit = atLimit ?? this.atLimit;
  }

  /** A cluster that is used in two ways has its endpoints twice, on the same connections. */
  addEndpoint(address: string, endpoint: SeenEndpoint): void {
    if (endpoint.isInUse || this.endpoints.get(address)?.isInUse !== true)
      this.endpoints.set(address, endpoint);
  }
}

/** Where in the tree of policies one is. */
interface Place {
  readonly cluster: GatheredCluster | undefined;
  /** Whether calls reach the cluster, and the priority within it. */
  readonly isInUse: boolean;
}

/** Gathers the states of the policies of a channel by cluster. What follows from the same policies is the same object. */
export const seeClusters = madeOnce((root: PolicyState): SeenClusters => {
  const clusters = new Map<string, SeenCluster>();
  for (const child of root.children ?? []) {
    for (const [name, cluster] of seeChild(child)) {
      const known = clusters.get(name);
      clusters.set(name, known === undefined ? cluster : joined(known)(cluster));
    }
  }
  return clusters;
});

/** A child of the root, with the leaves of an aggregate cluster. */
const seeChild = madeOnce((child: ChildState): SeenClusters => {
  const clusters = new Map<string, GatheredCluster>();
  see(child, { cluster: undefined, isInUse: true }, clusters);
  return clusters;
});

/** A cluster that several children have, such as a leaf that has calls of its own. */
const joined = madeOnce((first: SeenCluster) =>
  madeOnce((second: SeenCluster): SeenCluster => {
    const both = new GatheredCluster();
    for (const each of [first, second]) {
      both.add(each);
      for (const [address, endpoint] of each.endpoints) both.addEndpoint(address, endpoint);
      for (const leaf of each.usedLeaves) both.usedLeaves.add(leaf);
    }
    return both;
  }),
);

/** Policies that choose in ways of their own, by their names in a state. */
const WEIGHTED_TARGET = 'weighted_target_experimental';
/** They connect to endpoints when calls need them (gRFC A42). */
const CONNECTING_ON_DEMAND: ReadonlySet<string> = new Set([
  'ring_hash_experimental',
  'maglev_experimental',
]);

function see(policy: ChildState, above: Place, clusters: Map<string, GatheredCluster>): void {
  const isInUse = above.isInUse && policy.role?.['inUse'] !== false;
  const cluster = findCluster(policy, { ...above, isInUse }, clusters);
  const { policy: name, endpoints = [], children = [] } = policy;
  const isPicked = pickedOf(name, endpoints.map(rankOf));
  for (const endpoint of endpoints) {
    const [address] = endpoint.addresses;
    if (address === undefined) continue;
    cluster?.addEndpoint(address, judge(endpoint, isInUse && isPicked(rankOf(endpoint))));
  }
  // Another policy has one child, or says which is in use: it does not choose by state.
  const ranks = name === WEIGHTED_TARGET ? children.map(({ state }) => RANKS[state]) : [];
  const isChosen = pickedOf(name, ranks);
  for (const child of children) {
    see(child, { cluster, isInUse: isInUse && isChosen(RANKS[child.state]) }, clusters);
  }
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

/** Returns the cluster that a policy is of, with what it knows. */
function findCluster(
  policy: ChildState,
  { cluster: above, isInUse }: Place,
  clusters: Map<string, GatheredCluster>,
): Place['cluster'] {
  const { details, state, error = 'no endpoint can be reached' } = policy;
  const name = details?.['cluster'];
  if (typeof name !== 'string') return above;
  const cluster = getOrMake(clusters, name, () => new GatheredCluster());
  cluster.add({
    error: state === 'TRANSIENT_FAILURE' ? error : undefined,
    rollUp: rollUps.policy(policy),
    atLimit: limitOf(details),
    isInUse,
  });
  if (isInUse && above !== cluster) above?.usedLeaves.add(name);
  return cluster;
}

/** Returns the concurrent calls and their limit; `undefined` below it. */
function limitOf({ callsInFlight, maxRequests }: StateDetails = {}): string | undefined {
  const isAtLimit =
    isNumber(callsInFlight) && isNumber(maxRequests) && callsInFlight >= maxRequests;
  return isAtLimit ? `${callsInFlight} calls in flight of at most ${maxRequests}` : undefined;
}

function isNumber(value: StateDetails[string] | undefined): value is number {
  return typeof value === 'number';
}

const TEXTS = { ready: '', waiting: 'connecting', idle: 'not connected' };

function judge(endpoint: EndpointState, isInUse: boolean): SeenEndpoint {
  const state = rollUps.endpoint(endpoint);
  if (state === undefined) return { state: 'draining', text: 'takes no new calls', isInUse };
  if (state !== 'failing') return { state, text: TEXTS[state], isInUse };
  const { error = 'cannot be reached', failingSince, ejected } = endpoint;
  if (ejected === true) return { state: 'ejected', text: 'ejected by outlier detection', isInUse };
  return { state, text: error, since: failingSince, isInUse };
}
