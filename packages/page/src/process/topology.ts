import type {
  ChildState,
  EndpointState,
  PolicyState,
  StateDetails,
  StateName,
  RollUp,
} from 'grpc-xds';

import { rollUps } from 'grpc-xds/internal';

/** What a group is, by the policy that it is a child of. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['xds_cluster_manager_experimental', 'cluster'],
  ['priority_experimental', 'priority'],
  ['weighted_target_experimental', 'locality'],
]);

/** A group of endpoints: a cluster, a priority or a locality. */
export interface TopologyNode {
  readonly kind: string;
  readonly name: string;
  /** The names from the top to this group. */
  readonly path: readonly string[];
  /** The cluster that it is, or is in; `undefined` if it contains several, as an aggregate does. */
  readonly cluster: string | undefined;
  readonly rollUp: RollUp;
  readonly error: string | undefined;
  /** The policies of the group, from the outermost one on. */
  readonly policies: readonly string[];
  /** What these policies, and the parent, know of the group. */
  readonly details: StateDetails;
  readonly children: readonly TopologyNode[];
  readonly endpoints: readonly EndpointState[];
  /** How many endpoints the group has in each state, with those of the groups in it. */
  readonly endpointStates: ReadonlyMap<StateName, number>;
}

/** Reads the groups of a tree of policies. A policy with a single child without a name is part of the group of that child. */
export function createTopology(root: PolicyState): readonly TopologyNode[] {
  const { children, endpoints } = mergePolicies(root, [], undefined);
  // A tree without a policy for clusters, as while it fails.
  if (children.length === 0)
    return [createNode({ name: root.policy, ...root }, 'policy', [], undefined)];
  return endpoints.length === 0 ? children : [];
}

type Parts = Omit<TopologyNode, 'kind' | 'name' | 'path' | 'rollUp' | 'error' | 'endpointStates'>;

function createNode(
  child: ChildState,
  kind: string,
  parents: readonly string[],
  parentCluster: string | undefined,
): TopologyNode {
  const name = displayName(child.name ?? child.policy);
  const path = [...parents, name];
  const parts = mergePolicies(child, path, parentCluster);
  const endpointStates = countStates(parts);
  const details = { ...child.role, ...parts.details };
  return {
    kind,
    name,
    path,
    rollUp: rollUps.policy(child),
    error: child.error,
    ...parts,
    details,
    endpointStates,
  };
}

function mergePolicies(
  policy: PolicyState,
  path: readonly string[],
  parentCluster: string | undefined,
): Parts {
  const { details = {}, children = [], endpoints = [] } = policy;
  const cluster = typeof details['cluster'] === 'string' ? details['cluster'] : parentCluster;
  const [only] = children;
  if (only !== undefined && children.length === 1 && only.name === undefined) {
    const below = mergePolicies(only, path, cluster);
    const policies = [policy.policy, ...below.policies];
    return { ...below, policies, details: { ...details, ...below.details } };
  }
  const kind = KINDS.get(policy.policy) ?? 'group';
  const groups = children.map((child, index) => {
    // The names of priorities say nothing of their order.
    const name = kind === 'priority' ? `${index} (${child.name ?? ''})` : child.name;
    return createNode({ ...child, ...(name !== undefined && { name }) }, kind, path, cluster);
  });
  return { policies: [policy.policy], cluster, details, children: groups, endpoints };
}

function countStates({ children, endpoints }: Parts): ReadonlyMap<StateName, number> {
  const counts = new Map<StateName, number>();
  const add = (state: StateName, count: number) =>
    counts.set(state, (counts.get(state) ?? 0) + count);
  for (const { state } of endpoints) add(state, 1);
  for (const { endpointStates } of children) {
    for (const [state, count] of endpointStates) add(state, count);
  }
  return counts;
}

/** Shortens the names that policies give to clusters of routes and to localities. */
function displayName(name: string): string {
  return localityName(name) ?? name.replace(/^cluster:/, '');
}

/** Shortens the name that a policy gives to a locality; `undefined` if it is none. */
export function localityName(name: string): string | undefined {
  const locality = /^\{region="(.*)", zone="(.*)", sub_zone="(.*)"\}$/.exec(name)?.slice(1);
  return locality && (locality.filter((part) => part !== '').join('/') || '(no locality)');
}
