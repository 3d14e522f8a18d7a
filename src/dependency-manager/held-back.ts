import { inSeconds } from '../util/duration';
import { quoteName, quoteText } from '../util/text';
import type { ClusterSource } from './build-cluster';
import type { Pending, PendingCluster, PendingRoutes } from './build-xds-config';

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

/** Returns up to `atMost` resources that are held back: first the listener or the routes, then clusters. */
export function heldBack(pending: Pending, nowMs: number, atMost: number): readonly HeldBack[] {
  const held: HeldBack[] = [];
  if (pending.routes !== undefined) held.push(heldRoutes(pending.routes, pending, nowMs));
  for (const [name, cluster] of pending.clusters) {
    if (held.length >= atMost) break;
    if (cluster.source.kind !== 'none') held.push(heldCluster(name, cluster, pending, nowMs));
  }
  return held;
}

/** Returns for how many milliseconds the oldest resource has been held back; 0 if there is none. */
export function oldestHeldMs({ routes, clusters }: Pending, nowMs: number): number {
  let sinceMs = routes?.sinceMs ?? nowMs;
  for (const cluster of clusters.values()) {
    if (cluster.source.kind !== 'none') sinceMs = Math.min(sinceMs, cluster.sinceMs);
  }
  return nowMs - sinceMs;
}

/** Describes a resource that is held back, in a line. */
export function describeHeldBack({ resource, ageMs, hasEarlier, waitsFor }: HeldBack): string {
  const inUse = hasEarlier ? 'the version before' : 'none';
  return `${resource}: received ${inSeconds(ageMs)} ago, in use: ${inUse}, waits for ${waitsFor.join(', ')}`;
}

function heldRoutes(
  { routes, sinceMs, awaited, clusters, hasEarlier }: PendingRoutes,
  pending: Pending,
  nowMs: number,
): HeldBack {
  const { listener, routeConfig } = routes;
  const ofListener = `Listener ${quoteName(listener.name)}`;
  const ageMs = nowMs - sinceMs;
  if (awaited !== undefined) {
    const waitsFor = [`RouteConfiguration ${quoteName(awaited)}`];
    return { resource: ofListener, ageMs, hasEarlier, waitsFor };
  }
  const isInline = listener.httpConnectionManager.routes.kind === 'inline';
  const resource = isInline ? ofListener : `RouteConfiguration ${quoteName(routeConfig.name)}`;
  const waitsFor = firstOf(clusters).map((name) => describeWaitOf(name, pending));
  return { resource, ageMs, hasEarlier, waitsFor };
}

/** Describes what a cluster waits for that is not in the config yet, unless it is a DNS name. */
export function describeClusterWait(
  name: string,
  { source, sinceMs }: PendingCluster,
  nowMs: number,
): string {
  const subject = `${nameCluster(name)}: waiting for ${inSeconds(nowMs - sinceMs)}`;
  if (source.kind === 'aggregate') return `${subject}: a cluster of it is pending`;
  return `${subject}: ${describeSource(name, source)} has not been received`;
}

function heldCluster(
  name: string,
  { source, sinceMs, hasEarlier }: PendingCluster,
  { clusters }: Pending,
  nowMs: number,
): HeldBack {
  const waitsFor =
    source.kind === 'aggregate'
      ? firstOf(source.clusters.filter((child) => clusters.has(child))).map(nameCluster)
      : [describeSource(name, source)];
  return { resource: nameCluster(name), ageMs: nowMs - sinceMs, hasEarlier, waitsFor };
}

function nameCluster(name: string): string {
  return `Cluster ${quoteName(name)}`;
}

function describeWaitOf(name: string, { clusters }: Pending): string {
  const cluster = nameCluster(name);
  const source = describeSource(name, clusters.get(name)?.source);
  return source === cluster ? cluster : `${source} of ${cluster}`;
}

function describeSource(name: string, source: ClusterSource | undefined): string {
  switch (source?.kind) {
    case 'eds':
      return `ClusterLoadAssignment ${quoteName(source.name)}`;
    case 'dns':
      return `DNS name ${quoteText(source.key)}`;
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
