import type { ServerReport } from '../../src/observe/admin/server-report';
// Graphs of targets, made of configs as the dependency manager builds them.

import type { ClusterResult, XdsConfig } from '../../src/dependency-manager/xds-config';
import type { ChildState, EndpointState, PolicyState } from '../../src/lb/tree/policy-state';
import { buildMeshGraph } from '../../packages/page/src/graph/build-mesh-graph';
import type { MeshGraph } from '../../packages/page/src/graph/mesh-graph';
import type { VirtualHost } from '../../src/resources/route-config/route-config';
import { listener, routeConfig } from './xds-builders';

export const GRAPH_TARGET = 'xds:///shop';

/** The config of a target with one virtual host. */
export function graphConfig(
  virtualHost: VirtualHost,
  clusters: Readonly<Record<string, ClusterResult>> | ReadonlyMap<string, ClusterResult>,
): XdsConfig {
  return {
    listener: listener('shop'),
    routeConfig: routeConfig('shop-routes', virtualHost),
    virtualHost,
    clusters: clusters instanceof Map ? clusters : new Map(Object.entries(clusters)),
  };
}

/** Builds the graph of a config, and of policies if there are any. */
export function graphOf(config: XdsConfig, policies?: PolicyState): MeshGraph {
  return buildMeshGraph({ target: GRAPH_TARGET, config, policies });
}

/** The policies of a channel that has these below cluster_manager. */
export function policiesWith(...children: readonly ChildState[]): PolicyState {
  return { policy: 'xds_cluster_manager_experimental', state: 'READY', children };
}

/** The policies of a cluster, with the endpoints of its priorities, of which one is in use. */
export function clusterPolicies(
  cluster: string,
  priorities: readonly (readonly EndpointState[])[],
  change: Partial<ChildState> & { readonly inUse?: number } = {},
): ChildState {
  const { inUse = 0, details, ...rest } = change;
  const children = priorities.map((endpoints, index) => ({
    name: `child${index}`,
    role: { inUse: index === inUse },
    policy: 'round_robin',
    state: 'READY' as const,
    endpoints,
  }));
  return {
    policy: 'xds_cluster_impl_experimental',
    state: 'READY',
    children,
    ...rest,
    details: { cluster, ...details },
  };
}

/** An endpoint, as a policy describes it. */
export function endpointState(address: string, change: Partial<EndpointState> = {}): EndpointState {
  return { addresses: [address], state: 'READY', health: 'UNKNOWN', weight: 1, ...change };
}

/** Describes the nodes of a graph, each as `column name: state (text)`. */
export function nodesOf({ nodes }: MeshGraph): readonly string[] {
  return nodes.map(({ column, name, state, text }) => {
    const more = text === '' || column === 'target' ? '' : ` (${text})`;
    return `${column} ${name}: ${state}${more}`;
  });
}

/** Describes the edges of a graph by the names of their ends; `..>` is one that is not used. */
export function edgesOf({ nodes, edges }: MeshGraph): readonly string[] {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return edges.map(({ from, to, isUsed, share, text }) => {
    const percent = share === undefined ? '' : ` ${Number((100 * share).toFixed(2))} %`;
    const arrow = isUsed ? '->' : '..>';
    const more = text === '' ? '' : ` (${text})`;
    return `${names.get(from)} ${arrow} ${names.get(to)}${percent}${more}`;
  });
}

/** The report of a server without connections and calls, but for these members. */
export function serverReport(change: Partial<ServerReport>): ServerReport {
  return {
    address: 'a:1',
    nodeId: '',
    state: 'SERVING',
    since: '',
    listener: { name: '' },
    waitingFor: [],
    filterChains: [],
    otherFilterChains: 0,
    connections: { open: 0, generations: [], identities: [], otherIdentities: 0 },
    calls: { started: 0, inProgress: 0, succeeded: 0, failed: 0 },
    refusals: [],
    handshakes: { succeeded: 0, failures: [] },
    ...change,
  };
}
