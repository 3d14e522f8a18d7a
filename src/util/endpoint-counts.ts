/** What of the state of an endpoint decides whether it counts, and as what. */
export interface CountedEndpoint {
  /** Of its connection. */
  readonly state: 'IDLE' | 'CONNECTING' | 'READY' | 'TRANSIENT_FAILURE' | 'SHUTDOWN';
  readonly health: string;
  readonly ejected?: true;
}

/** A policy as its parent sees it. */
interface CountedPolicy<Endpoint> {
  readonly name?: string;
  readonly policy?: string;
  readonly state?: string;
  readonly error?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly role?: Readonly<Record<string, unknown>>;
  readonly endpoints?: readonly Endpoint[];
  readonly children?: readonly CountedPolicy<Endpoint>[];
}

/** The endpoints of one policy, and where they are. */
export interface EndpointPlace<Endpoint> {
  /** Empty above the policies of clusters. */
  readonly cluster: string;
  readonly priority: number;
  /** As `localityName` returns it; `undefined` without localities. */
  readonly locality: string | undefined;
  /** Whether calls reach the policy: a priority that is not needed is idle, which says nothing. */
  readonly isInUse: boolean;
  /** Why the locality fails; `undefined` if it does not. */
  readonly error: string | undefined;
  /** `undefined` if they are below the policy. */
  readonly endpoints: readonly Endpoint[] | undefined;
}

/** What an endpoint comes to. */
export type EndpointRollUp = 'ready' | 'failing' | 'waiting' | 'idle';

/** How many endpoints count, by state and in all. */
export type EndpointCounts = Record<EndpointRollUp | 'total', number>;

/**
 * Rolls up an endpoint; `undefined` if it does not count: it takes no new calls (gRFC A75), or is idle because no call needs it.
 *
 * @param isInUse Whether calls reach its policy: a priority that is not needed is idle, which says nothing. Default: yes.
 */
export function rollUpEndpoint(
  { state, ejected, health }: CountedEndpoint,
  isInUse = true,
): EndpointRollUp | undefined {
  if (health === 'DRAINING') return undefined;
  if (ejected === true) return 'failing';
  switch (state) {
    case 'READY':
      return 'ready';
    case 'CONNECTING':
      return 'waiting';
    case 'IDLE':
      return isInUse ? 'idle' : undefined;
    case 'TRANSIENT_FAILURE':
    case 'SHUTDOWN':
      return 'failing';
  }
}

/** Counts endpoints by what they come to. */
export function countStates(states: Iterable<EndpointRollUp | undefined>): EndpointCounts {
  const counts = noEndpoints();
  for (const state of states) add(state, counts);
  return counts;
}

/** Counts the endpoints below a policy: those of a locality, a priority or a cluster. */
export function countEndpoints(policy: CountedPolicy<CountedEndpoint>): EndpointCounts {
  const counts = noEndpoints();
  for (const { endpoints = [], isInUse } of placesOf(policy))
    for (const endpoint of endpoints) add(rollUpEndpoint(endpoint, isInUse), counts);
  return counts;
}

/** Returns the policies of a tree that are of a locality or have endpoints, with where these are. */
export function placesOf<Endpoint>(
  policy: CountedPolicy<Endpoint>,
): readonly EndpointPlace<Endpoint>[] {
  const places: EndpointPlace<Endpoint>[] = [];
  addPlaces(policy, { cluster: '', priority: 0, locality: undefined, isInUse: true }, places);
  return places;
}

/** Where a policy is. */
type Above = Pick<EndpointPlace<unknown>, 'cluster' | 'priority' | 'locality' | 'isInUse'>;

function addPlaces<Endpoint>(
  policy: CountedPolicy<Endpoint>,
  above: Above,
  places: EndpointPlace<Endpoint>[],
): void {
  const { name = '', state, error = '', endpoints, children = [] } = policy;
  const own = localityName(name);
  const inside = placeIn(policy, { ...above, locality: own ?? above.locality });
  if (own !== undefined || endpoints !== undefined) {
    const hasFailed = own !== undefined && state === 'TRANSIENT_FAILURE';
    places.push({ ...inside, error: hasFailed ? error : undefined, endpoints });
  }
  const isPriority = policy.policy === 'priority_experimental';
  for (const [index, child] of children.entries())
    addPlaces(child, isPriority ? { ...inside, priority: index } : inside, places);
}

function placeIn({ details, role }: CountedPolicy<unknown>, above: Above): Above {
  const cluster = details?.['cluster'];
  return {
    ...above,
    cluster: typeof cluster === 'string' ? cluster : above.cluster,
    isInUse: above.isInUse && role?.['inUse'] !== false,
  };
}

/** Shortens the name that a policy gives to a locality, such as `eu/a`; empty if it has none, `undefined` for another child. */
export function localityName(name: string): string | undefined {
  const locality = /^\{region="(.*)", zone="(.*)", sub_zone="(.*)"\}$/.exec(name)?.slice(1);
  return locality?.filter((part) => part !== '').join('/');
}

function noEndpoints(): EndpointCounts {
  return { ready: 0, failing: 0, waiting: 0, idle: 0, total: 0 };
}

function add(state: EndpointRollUp | undefined, counts: EndpointCounts): void {
  if (state === undefined) return;
  counts[state]++;
  counts.total++;
}
