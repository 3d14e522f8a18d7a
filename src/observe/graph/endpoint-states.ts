import type { EndpointState, PolicyState, StateDetails } from '../../lb/tree/policy-state';
import { shareMap, shareSet } from '../../util/share';
import type { GraphState } from './mesh-graph';

/** The state of an endpoint within a cluster. */
export interface SeenEndpoint {
  readonly state: GraphState;
  /** Why; empty if there is nothing to say. */
  readonly text: string;
  /** Whether the priority that it is in is the one that takes calls. */
  readonly isInUse: boolean;
}

/** What the policies of a channel know of one cluster. */
export interface SeenCluster {
  /** By first address. */
  readonly endpoints: ReadonlyMap<string, SeenEndpoint>;
  /** Why calls to the cluster fail; undefined if they do not. */
  readonly error: string | undefined;
  /** Its concurrent calls and their limit (gRFC A32); undefined if it is not at the limit. */
  readonly atLimit: string | undefined;
  /** Whether any way to it is in use: an aggregate cluster may use another of its leaves. */
  readonly isInUse: boolean;
  /** Those of its leaves that take its calls, if it is an aggregate. */
  readonly usedLeaves: ReadonlySet<string>;
}

/** What the policies of a channel know, by cluster. */
export type SeenClusters = ReadonlyMap<string, SeenCluster>;

interface MutableCluster extends SeenCluster {
  readonly usedLeaves: Set<string>;
  readonly endpoints: Map<string, SeenEndpoint>;
  error: string | undefined;
  atLimit: string | undefined;
  isInUse: boolean;
}

/** Where in the tree of policies a node is. */
interface Place {
  readonly cluster: MutableCluster | undefined;
  /** Whether calls reach the cluster, and the priority within it. */
  readonly isInUse: boolean;
}

/**
 * Gathers the states of a tree of policies by cluster. Each policy and each endpoint is looked at once.
 *
 * @param before What was known of the same channel before: it is returned itself if nothing differs, and so is each cluster of it.
 */
export function seeClusters(root: PolicyState, before?: SeenClusters): SeenClusters {
  const clusters = new Map<string, MutableCluster>();
  see(root, { cluster: undefined, isInUse: true }, clusters);
  const shared = new Map<string, SeenCluster>();
  for (const [name, cluster] of clusters) {
    shared.set(name, shareCluster(before?.get(name), cluster));
  }
  return shareMap(before, shared);
}

function shareCluster(before: SeenCluster | undefined, next: MutableCluster): SeenCluster {
  if (before === undefined) return next;
  for (const [address, endpoint] of next.endpoints) {
    const known = before.endpoints.get(address);
    if (known !== undefined && isSameEndpoint(known, endpoint)) next.endpoints.set(address, known);
  }
  const isSame =
    before.error === next.error &&
    before.atLimit === next.atLimit &&
    before.isInUse === next.isInUse &&
    shareMap(before.endpoints, next.endpoints) === before.endpoints &&
    shareSet(before.usedLeaves, next.usedLeaves) === before.usedLeaves;
  return isSame ? before : next;
}

function isSameEndpoint(a: SeenEndpoint, b: SeenEndpoint): boolean {
  return a === b || (a.state === b.state && a.text === b.text && a.isInUse === b.isInUse);
}

function see(
  policy: PolicyState & { readonly role?: StateDetails },
  place: Place,
  clusters: Map<string, MutableCluster>,
): void {
  const isInUse = place.isInUse && policy.role?.['inUse'] !== false;
  const inside = enter(policy, { ...place, isInUse }, clusters);
  for (const endpoint of policy.endpoints ?? []) addEndpoint(endpoint, inside);
  for (const child of policy.children ?? []) see(child, inside, clusters);
}

function enter(
  { details = {}, state, error }: PolicyState,
  place: Place,
  clusters: Map<string, MutableCluster>,
): Place {
  const { cluster: name, callsInFlight, maxRequests } = details;
  if (typeof name !== 'string') return place;
  const cluster = clusters.get(name) ?? createCluster();
  clusters.set(name, cluster);
  if (state === 'TRANSIENT_FAILURE') cluster.error ??= error ?? 'no endpoint can be reached';
  cluster.isInUse ||= place.isInUse;
  if (place.isInUse && place.cluster !== cluster) place.cluster?.usedLeaves.add(name);
  if (isNumber(callsInFlight) && isNumber(maxRequests) && callsInFlight >= maxRequests) {
    cluster.atLimit = `${callsInFlight} calls in flight of at most ${maxRequests}`;
  }
  return { ...place, cluster };
}

function createCluster(): MutableCluster {
  return {
    ...{ endpoints: new Map(), usedLeaves: new Set() },
    ...{ error: undefined, atLimit: undefined, isInUse: false },
  };
}

function isNumber(value: StateDetails[string] | undefined): value is number {
  return typeof value === 'number';
}

function addEndpoint(endpoint: EndpointState, { cluster, isInUse }: Place): void {
  const [address] = endpoint.addresses;
  if (cluster === undefined || address === undefined) return;
  const known = cluster.endpoints.get(address);
  // A cluster that is used in two ways has its endpoints twice, on the same connections.
  if (known?.isInUse === true && !isInUse) return;
  cluster.endpoints.set(address, judge(endpoint, isInUse));
}

/** Most endpoints are ready: an object for each of 10,000 would be most of the cost of a graph. */
const READY: SeenEndpoint = { state: 'ok', text: '', isInUse: true };

function judge(
  { state, error, health, failingSince, ejected }: EndpointState,
  isInUse: boolean,
): SeenEndpoint {
  if (ejected === true) {
    return { state: 'ejected', text: 'ejected by outlier detection', isInUse };
  }
  if (state === 'TRANSIENT_FAILURE') {
    const since = failingSince === undefined ? '' : ` (since ${failingSince})`;
    return { state: 'failing', text: `${error ?? 'cannot be reached'}${since}`, isInUse };
  }
  if (health === 'DRAINING') return { state: 'draining', text: 'takes no new calls', isInUse };
  if (state === 'READY') return isInUse ? READY : { ...READY, isInUse };
  return { state: 'idle', text: state === 'CONNECTING' ? 'connecting' : 'not connected', isInUse };
}
