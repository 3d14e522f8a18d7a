import { madeOnce } from '../../util/made-once';
import { listFirst } from '../../util/text';
import {
  countEndpoints,
  countStates,
  rollUpEndpoint,
  type EndpointCounts,
  type EndpointRollUp,
} from '../../util/endpoint-counts';
import type { ChildState, PolicyState } from '../../lb/tree/policy-state';

/**
 * The combined state of endpoints: `ready`, calls work; `degraded`, calls work and something fails; `failing`, calls fail;
 * `waiting`, calls wait for something that is pending; `idle`, nothing has been asked for yet.
 */
export type RollUpState = 'ready' | 'degraded' | 'failing' | 'waiting' | 'idle';

/** The state of a locality, a cluster or a target, as plain JSON. */
export interface RollUp {
  readonly state: RollUpState;
  /** What `text` says besides the state, such as `1 of 3 endpoints fails`; absent if there is nothing to say. */
  readonly reason?: string;
  /** Such as `degraded (1 of 3 endpoints fails)`, for people. */
  readonly text: string;
}

/** Rolls up the endpoints below a policy: those of a locality, a priority or a cluster. */
export const rollUpPolicy = madeOnce((policy: PolicyState): RollUp => {
  const counts = countEndpoints(policy);
  const state = judge(policy.state, counts);
  if (counts.failing === 0) return { state, text: state };
  const reason = describeFailing(counts);
  return { state, reason, text: `${state} (${reason})` };
});

/** Says how many endpoints fail, in the words of all reports. */
function describeFailing({ failing, total }: Pick<EndpointCounts, 'failing' | 'total'>): string {
  const verb = failing === 1 ? 'fails' : 'fail';
  return `${failing} of ${total} ${total === 1 ? 'endpoint' : 'endpoints'} ${verb}`;
}

/** Rolls up endpoints that calls are picked among, such as those of a locality. */
function rollUpEndpoints(states: Iterable<EndpointRollUp>): RollUpState {
  return judge('IDLE', countStates(states));
}

/** The parts of a target, as in `TargetReport`. */
interface RolledTarget {
  readonly state: 'ready' | 'waiting' | 'failed';
  readonly failure?: string | undefined;
  readonly waitingFor: readonly string[];
  readonly config?:
    | { readonly clusters: readonly { readonly name: string; readonly error?: string }[] }
    | undefined;
  readonly policies?: PolicyState | undefined;
}

/** Rolls up the clusters of a target. One that was removed from its config, and is kept until its calls have ended, does not count. */
export function rollUpTarget(target: RolledTarget): RollUp {
  const { state, failure, waitingFor, config, policies } = target;
  if (state === 'failed') return withReason('failing', failure);
  if (state === 'waiting') return withReason(state, waitingFor[0]);
  const clusters = rollUpClusters(config?.clusters ?? [], policies?.children ?? []);
  if (clusters.size === 0 && policies !== undefined) return rollUpPolicy(policies);
  const own = rollUpStates([...clusters.values()].map((each) => each.state));
  const [only] = clusters.values();
  if (only !== undefined && clusters.size === 1) return only;
  const bad = [...clusters].filter(([, each]) => each.state !== 'ready' && each.state !== 'idle');
  const named = listFirst(bad, ([name, { text }]) => `${name} ${text}`);
  return withReason(own, named.join(', '));
}

function rollUpClusters(
  configured: NonNullable<RolledTarget['config']>['clusters'],
  policies: readonly ChildState[],
): ReadonlyMap<string, RollUp> {
  const clusters = new Map<string, RollUp>();
  const byCluster = new Map(policies.map((policy) => [policy.details?.['cluster'], policy]));
  for (const { name, error } of configured) {
    if (error !== undefined) {
      clusters.set(name, withReason('failing', error));
      continue;
    }
    const policy = byCluster.get(name);
    // The clusters of an aggregate are below its policy.
    if (policy !== undefined) clusters.set(name, rollUpPolicy(policy));
  }
  return clusters;
}

/** Rolls up parts that calls are spread over, such as the clusters of a target: together they fail only if each does. */
function rollUpStates(states: readonly RollUpState[]): RollUpState {
  const has = (state: RollUpState) => states.includes(state);
  if (states.length > 0 && states.every((state) => state === 'failing')) return 'failing';
  if (has('failing') || has('degraded')) return 'degraded';
  if (has('waiting')) return 'waiting';
  return has('ready') ? 'ready' : 'idle';
}

function judge(
  policy: PolicyState['state'],
  { ready, waiting, idle, failing }: EndpointCounts,
): RollUpState {
  if (policy === 'TRANSIENT_FAILURE' || policy === 'SHUTDOWN') return 'failing';
  if (failing > 0) {
    if (ready > 0) return 'degraded';
    // What is pending does not fail yet.
    if (waiting > 0) return 'waiting';
    return idle > 0 ? 'degraded' : 'failing';
  }
  if (ready > 0) return 'ready';
  if (waiting > 0) return 'waiting';
  if (idle > 0) return 'idle';
  return policy === 'READY' ? 'ready' : policy === 'CONNECTING' ? 'waiting' : 'idle';
}

function withReason(state: RollUpState, reason = ''): RollUp {
  return reason === '' ? { state, text: state } : { state, reason, text: `${state}: ${reason}` };
}

/** The rules by what is rolled up, for the companions. */
export const rollUps = {
  endpoint: rollUpEndpoint,
  endpoints: rollUpEndpoints,
  policy: rollUpPolicy,
  states: rollUpStates,
  describeFailing,
};
