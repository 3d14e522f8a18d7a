/** What of the state of an endpoint decides whether it counts, and as what. */
export interface CountedEndpoint {
  /** Of its connection. */
  readonly state: 'IDLE' | 'CONNECTING' | 'READY' | 'TRANSIENT_FAILURE' | 'SHUTDOWN';
  readonly health: string;
  readonly ejected?: true;
}

/** A policy as its parent sees it. */
interface CountedPolicy {
  readonly role?: Readonly<Record<string, unknown>>;
  readonly endpoints?: readonly CountedEndpoint[];
  readonly children?: readonly CountedPolicy[];
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
export function countEndpoints(policy: CountedPolicy): EndpointCounts {
  const counts = noEndpoints();
  countBelow(policy, true, counts);
  return counts;
}

function noEndpoints(): EndpointCounts {
  return { ready: 0, failing: 0, waiting: 0, idle: 0, total: 0 };
}

function countBelow(policy: CountedPolicy, isInUse: boolean, counts: EndpointCounts): void {
  const isReached = isInUse && policy.role?.['inUse'] !== false;
  for (const endpoint of policy.endpoints ?? []) add(rollUpEndpoint(endpoint, isReached), counts);
  for (const child of policy.children ?? []) countBelow(child, isReached, counts);
}

function add(state: EndpointRollUp | undefined, counts: EndpointCounts): void {
  if (state === undefined) return;
  counts[state]++;
  counts.total++;
}
