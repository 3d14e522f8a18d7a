import {
  pathId,
  cellText,
  firstRow,
  MAX_ROWS,
  NO_ROWS,
  type Row,
  type View,
  type ViewRequest,
} from '../../live-page/view';
import type {
  EndpointState,
  PolicyState,
  StateDetails,
  StateName,
  ChildState,
} from '../../../lb/tree/policy-state';

/** Groups with more endpoints than this are closed at first. */
const MAX_OPEN_ENDPOINTS = 50;

/** A row, and where in the tree it is. */
interface Place {
  /** 1 for clusters. */
  readonly level: number;
  /** Among its siblings, from 1 on. */
  readonly position: number;
  readonly siblings: number;
}

/** The rows of a tree that are in the view, and how many there are. */
class Rows {
  total = 0;
  readonly rows: Row[] = [];

  constructor(readonly offset: number) {}

  /** Counts rows, and creates those that are in the view. */
  add(count: number, create: (index: number) => Row): void {
    const first = Math.max(this.offset - this.total, 0);
    const end = Math.min(count, this.offset + MAX_ROWS - this.total);
    for (let index = first; index < end; index++) this.rows.push(create(index));
    this.total += count;
  }
}

/** The clusters of a channel down to its endpoints, as the rows of a tree of which groups may be closed. */
export function topologyView(policies: PolicyState | undefined, request: ViewRequest): View {
  if (policies === undefined) return NO_ROWS;
  const nodes = createTopology(policies);
  const build = (offset: number) => {
    const rows = new Rows(offset);
    addNodes(rows, nodes, 1, request);
    return rows;
  };
  const built = build(request.offset);
  const offset = firstRow(built.total, request.offset);
  const { total, rows } = offset === request.offset ? built : build(offset);
  return { total, offset, rows };
}

function addNodes(
  rows: Rows,
  nodes: readonly TopologyNode[],
  level: number,
  request: ViewRequest,
): void {
  nodes.forEach((node, index) => {
    const id = pathId(node.path);
    const isOpen = isGroupOpen(node, id, request);
    const place = { level, position: index + 1, siblings: nodes.length };
    rows.add(1, () => groupRow(node, { id, isOpen, place }));
    if (!isOpen) return;
    addNodes(rows, node.children, level + 1, request);
    const { endpoints } = node;
    rows.add(endpoints.length, (i) => {
      const inside = { level: level + 1, position: i + 1, siblings: endpoints.length };
      return endpointRow(node, endpoints[i], inside);
    });
  });
}

function isGroupOpen(node: TopologyNode, id: string, { opened, closed }: ViewRequest): boolean {
  if (opened.has(id)) return true;
  return !closed.has(id) && node.endpoints.length <= MAX_OPEN_ENDPOINTS;
}

function groupRow(
  {
    kind,
    name,
    state,
    error,
    policies,
    details,
    children,
    endpoints,
    endpointStates,
  }: TopologyNode,
  { id, isOpen, place }: { readonly id: string; readonly isOpen: boolean; readonly place: Place },
): Row {
  const isGroup = children.length + endpoints.length > 0;
  return {
    ...{ id, kind, name: cellText(name), state, ...place },
    ...(isGroup && { isOpen }),
    ...(error !== undefined && { error: cellText(error) }),
    policies: cellText(policies.join(' > ')),
    endpoints: formatCounts(endpointStates),
    details: formatDetails(shownDetails(name, details)),
  };
}

/** Removes what the row says already. */
function shownDetails(
  name: string,
  { cluster, detecting, ...details }: StateDetails,
): StateDetails {
  return {
    ...(cluster !== undefined && cluster !== name && { cluster }),
    ...(detecting === true && { outlierDetection: true }),
    ...details,
  };
}

function endpointRow(node: TopologyNode, endpoint: EndpointState | undefined, place: Place): Row {
  const { addresses = [], state = 'IDLE', error, health, weight, details } = endpoint ?? {};
  const { callsInFlight, latencyMs, failingSince, ejected } = endpoint ?? {};
  const [address = ''] = addresses;
  return {
    ...{
      id: pathId([...node.path, address]),
      kind: 'endpoint',
      name: cellText(addresses.join(', ')),
    },
    ...{ state, ...place },
    ...(error !== undefined && { error: cellText(error) }),
    ...(health !== undefined && { health }),
    ...(weight !== undefined && { weight }),
    ...(ejected === true && { ejected }),
    details: formatDetails({
      ...(failingSince !== undefined && { failingSince }),
      ...(callsInFlight !== undefined && { callsInFlight }),
      ...(latencyMs !== undefined && { latency: `${latencyMs.toFixed(1)}\u00a0ms` }),
      ...details,
    }),
  };
}

function formatCounts(states: ReadonlyMap<StateName, number>): string {
  const counts = [...states].map(([state, count]) => `${count} ${state}`);
  return counts.join(', ');
}

/** Formats such as `{ callsInFlight: 3, inUse: true }` as `calls in flight 3, in use`. */
function formatDetails(details: StateDetails): string {
  const texts = Object.entries(details).map(([name, value]) => {
    const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    return value === true ? words : value === false ? `not ${words}` : `${words} ${value}`;
  });
  return cellText(texts.join(', '));
}

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
  readonly state: StateName;
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
function createTopology(root: PolicyState): readonly TopologyNode[] {
  const { children, endpoints } = mergePolicies(root, []);
  // A tree without a policy for clusters, as while it fails.
  if (children.length === 0) return [createNode({ name: root.policy, ...root }, 'policy', [])];
  return endpoints.length === 0 ? children : [];
}

type Parts = Omit<TopologyNode, 'kind' | 'name' | 'path' | 'state' | 'error' | 'endpointStates'>;

function createNode(child: ChildState, kind: string, parents: readonly string[]): TopologyNode {
  const name = displayName(child.name ?? child.policy);
  const path = [...parents, name];
  const parts = mergePolicies(child, path);
  const endpointStates = countStates(parts);
  const details = { ...child.role, ...parts.details };
  return {
    ...{ kind, name, path, state: child.state, error: child.error, ...parts },
    ...{ details, endpointStates },
  };
}

function mergePolicies(policy: PolicyState, path: readonly string[]): Parts {
  const { details = {}, children = [], endpoints = [] } = policy;
  const [only] = children;
  if (only !== undefined && children.length === 1 && only.name === undefined) {
    const below = mergePolicies(only, path);
    const policies = [policy.policy, ...below.policies];
    return { ...below, policies, details: { ...details, ...below.details } };
  }
  const kind = KINDS.get(policy.policy) ?? 'group';
  const groups = children.map((child, index) => {
    // The names of priorities say nothing of their order.
    const name = kind === 'priority' ? `${index} (${child.name ?? ''})` : child.name;
    return createNode({ ...child, ...(name !== undefined && { name }) }, kind, path);
  });
  return { policies: [policy.policy], details, children: groups, endpoints };
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
  const locality = /^\{region="(.*)", zone="(.*)", sub_zone="(.*)"\}$/.exec(name)?.slice(1);
  if (locality === undefined) return name.replace(/^cluster:/, '');
  return locality.filter((part) => part !== '').join('/') || '(no locality)';
}
