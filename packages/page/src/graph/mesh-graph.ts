import type { DescribedRoute } from 'grpc-xds/internal';
import type { Change } from './words';

/** The columns, from left to right. Of a target, those from `target` on; what a process has its resources from is last. */
export const GRAPH_COLUMNS = [
  'client',
  'address',
  'service',
  'chain',
  'outcome',
  'target',
  'route',
  'cluster',
  'locality',
  'endpoint',
  'process',
  'relay',
  'management server',
] as const;

export type GraphColumn = (typeof GRAPH_COLUMNS)[number];

/** The states of what a node stands for, the best first. */
export const GRAPH_STATES = [
  /** Takes calls, or could. */
  'ready',
  /** Is not connected: no call has needed it. */
  'idle',
  /** The graph shows an earlier time, and the states of connections are not kept. */
  'unknown',
  /** Calls wait for it, such as for a connection. */
  'waiting',
  /** No call reaches it now. */
  'unused',
  /** Takes no new calls (gRFC A55). */
  'draining',
  /** Takes calls, and a part of it fails. */
  'degraded',
  /** Is at its limit of concurrent calls (gRFC A32). */
  'over-limit',
  /** Was ejected by outlier detection (gRFC A50). */
  'ejected',
  /** Fails, or is missing. */
  'failing',
] as const;

export type GraphState = (typeof GRAPH_STATES)[number];

/** Nodes that one node may stand for. */
export interface GraphGroup {
  /** What `GraphOptions.opened` has if they are drawn one by one. */
  readonly id: string;
  readonly isOpen: boolean;
}

/** The calls that a node or an edge has: all of the target, or those of a route, of a cluster, or of both. */
export interface CountedCalls {
  readonly route?: DescribedRoute;
  readonly cluster?: string;
  /** The addresses of those of the cluster that the calls are on. Default: all. */
  readonly endpoints?: readonly string[];
  /** The same of all localities that a weight decides among; absent where none does. */
  readonly among?: readonly string[];
}

/** The calls to an address of a server of the process: all, or those of one client. */
export interface InboundCalls {
  readonly address: string;
  readonly client?: string;
}

/** Something that calls go through, or one that stands for several. */
export interface GraphNode {
  /** Unique in the graph. It stays the same while the node stands for the same thing. */
  readonly id: string;
  readonly column: GraphColumn;
  readonly name: string;
  readonly state: GraphState;
  /** Why it is in this state, or what else is known of it; empty if there is nothing. */
  readonly text: string;
  /** Since when it is in this state, as an ISO time; absent where that is not known. */
  readonly since?: string | undefined;
  /** What is wrong although calls go on, such as `update rejected`; absent if nothing is. */
  readonly flaw?: string | undefined;
  /** How many it stands for; absent for one. */
  readonly count?: number;
  /** The share of the calls to it that it drops, 0 to 1; absent if it drops none. */
  readonly dropped?: number | undefined;
  /** The policy that chooses among the ways from it, such as `round_robin`; absent where the configured weights do. */
  readonly policy?: string | undefined;
  /** The group that it is the head of, or stands for; absent where all are drawn one by one anyway. */
  readonly group?: GraphGroup | undefined;
  /** Absent if none are counted for it. */
  readonly calls?: CountedCalls;
  /** The same for a server of the process. */
  readonly inbound?: InboundCalls | undefined;
  /** Absent if it is the same, and in a graph that is not compared with another one. */
  readonly change?: Change;
}

/** A way of calls from one node to another. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** The share of the calls of `from`, 0 to 1, that the configured weights give to `to`; absent where no weight decides. */
  readonly share?: number;
  /** The same where a policy chooses among the endpoints of several localities alike, whatever their weights. */
  readonly evenShare?: number;
  /** Whether the share is that of the calls of the last minutes, which no weight decides. */
  readonly isMeasured?: true;
  /** Whether calls take this way now. */
  readonly isUsed: boolean;
  /** Why they do not, or what chooses among the ways; empty if there is nothing to say. */
  readonly text: string;
  /** As that of a node. */
  readonly calls?: CountedCalls;
  /** As that of a node. */
  readonly inbound?: InboundCalls | undefined;
  /** As that of a node. */
  readonly change?: Change;
}

/**
 * The ways of the calls of one target, and of the resources that decide them. Nodes are in the order of their columns, and in a column
 * from top to bottom.
 */
export interface MeshGraph {
  readonly target: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

/** Counts states, such as `118 ready, 2 failing`: the worst last. */
export function countStates(states: Iterable<GraphState>): string {
  const counts = new Map<GraphState, number>();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return GRAPH_STATES.flatMap((state) => {
    const count = counts.get(state);
    return count === undefined ? [] : [`${count} ${state}`];
  }).join(', ');
}

/** Returns the worse of two states. */
export function worseState(a: GraphState, b: GraphState): GraphState {
  return GRAPH_STATES.indexOf(a) > GRAPH_STATES.indexOf(b) ? a : b;
}
