import { inSeconds } from '../util/duration';
import { quoteName, quoteText } from '../util/text';
import type { ClusterNode, Graph } from './config-graph';

/** A resource that was accepted, and that is not in use because others are pending. */
export interface HeldBack {
  /** Such as `RouteConfiguration "shop"`. */
  readonly resource: string;
  /** Milliseconds for which it has been held back. */
  readonly ageMs: number;
  /** Whether an earlier version is in use. */
  readonly hasEarlier: boolean;
  /** The pending resources and DNS names, such as `ClusterLoadAssignment "shop"`, at most 10. */
  readonly waitsFor: readonly string[];
}

/** The number of pending resources that are named for one that is held back. */
const MAX_NAMED = 10;

/** How {@link heldBack} describes a graph. */
interface HeldBackQuery {
  /** Whether a config is in use. */
  readonly hasConfig: boolean;
  /** On the monotonic clock. */
  readonly nowMs: number;
  readonly atMost: number;
}

/** Returns the resources that are held back: first the listener or the routes, then clusters. */
export function heldBack(graph: Graph, query: HeldBackQuery): readonly HeldBack[] {
  const held = heldRoutes(graph, query);
  for (const name of graph.pending) {
    if (held.length >= query.atMost) break;
    const cluster = heldCluster(name, graph, query.nowMs);
    if (cluster !== undefined) held.push(cluster);
  }
  return held;
}

/** Returns for how many milliseconds the oldest resource has been held back; 0 if there is none. */
export function oldestHeldMs(
  { nodes, pending, heldSinceMs, ...graph }: Graph,
  nowMs: number,
): number {
  const isHeld = graph.awaited !== undefined || graph.heldBy.size > 0;
  let sinceMs = (isHeld ? heldSinceMs : undefined) ?? nowMs;
  for (const name of pending) {
    const node = nodes.get(name);
    if (node?.source.kind !== 'none') sinceMs = Math.min(sinceMs, node?.pendingSinceMs ?? nowMs);
  }
  return nowMs - sinceMs;
}

/** Describes a resource that is held back, in a line. */
export function describeHeldBack({ resource, ageMs, hasEarlier, waitsFor }: HeldBack): string {
  const inUse = hasEarlier ? 'the version before' : 'none';
  return `${resource}: received ${inSeconds(ageMs)} ago, in use: ${inUse}, waits for ${waitsFor.join(', ')}`;
}

function heldRoutes(graph: Graph, { hasConfig, nowMs }: HeldBackQuery): HeldBack[] {
  const { heldSinceMs, awaited, heldBy, routes, nodes } = graph;
  if (heldSinceMs === undefined) return [];
  const { listener, routeConfig } = routes.config;
  const ofListener = `Listener ${quoteName(listener.name)}`;
  const ageMs = nowMs - heldSinceMs;
  if (awaited !== undefined) {
    const waitsFor = [`RouteConfiguration ${quoteName(awaited)}`];
    return [{ resource: ofListener, ageMs, hasEarlier: true, waitsFor }];
  }
  if (heldBy.size === 0) return [];
  const isInline = listener.httpConnectionManager.routes.kind === 'inline';
  const resource = isInline ? ofListener : `RouteConfiguration ${quoteName(routeConfig.name)}`;
  const waitsFor = firstOf(heldBy).map((name) => describeNodeWait(name, nodes.get(name)));
  return [{ resource, ageMs, hasEarlier: hasConfig, waitsFor }];
}

/** Describes what a cluster waits for that is not in the config yet, unless it is a DNS name. */
export function describeClusterWait(name: string, node: ClusterNode, nowMs: number): string {
  const { source, pendingSinceMs = nowMs } = node;
  const subject = `${nameCluster(name)}: waiting for ${inSeconds(nowMs - pendingSinceMs)}`;
  if (source.kind === 'aggregate') return `${subject}: a cluster of it is pending`;
  return `${subject}: ${describeSource(name, node)} has not been received`;
}

/** @returns the cluster, if it was received. */
function heldCluster(name: string, graph: Graph, nowMs: number): HeldBack | undefined {
  const node = graph.nodes.get(name);
  if (node?.pendingSinceMs === undefined || node.source.kind === 'none') return undefined;
  const { source, pendingSinceMs, result } = node;
  const waitsFor =
    source.kind === 'aggregate'
      ? firstOf(source.clusters.filter((child) => graph.pending.has(child))).map(nameCluster)
      : [describeSource(name, node)];
  const resource = nameCluster(name);
  return { resource, ageMs: nowMs - pendingSinceMs, hasEarlier: result !== undefined, waitsFor };
}

function nameCluster(name: string): string {
  return `Cluster ${quoteName(name)}`;
}

function describeNodeWait(name: string, node: ClusterNode | undefined): string {
  const cluster = nameCluster(name);
  const source = describeSource(name, node);
  return source === cluster ? cluster : `${source} of ${cluster}`;
}

function describeSource(name: string, node: ClusterNode | undefined): string {
  switch (node?.source.kind) {
    case 'eds':
      return `ClusterLoadAssignment ${quoteName(node.source.name)}`;
    case 'dns':
      return `DNS name ${quoteText(node.source.key)}`;
    case 'aggregate':
    case 'none':
    case undefined:
      return nameCluster(name);
  }
}

function firstOf<T>(items: Iterable<T>): readonly T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length >= MAX_NAMED) break;
    taken.push(item);
  }
  return taken;
}
