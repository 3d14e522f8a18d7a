import type { ClusterResource } from '../resources/cluster';
import type { EndpointsResource } from '../resources/endpoints';
import { describeUnusable } from '../resources/unusable-addresses';
import { assertNever } from '../util/assert-never';
import { err, ok, type Result } from '../util/result';
import type { XdsError } from '../xds-client/resource-watcher';
import { leafClusters, type AggregateBounds } from './aggregate-clusters';
import { dnsTargetKey, type DnsTarget, type Observations, type Observed } from './observations';
import type { ClusterChildren, ClusterConfig } from './xds-config';

/** A usable cluster, or why it is not. */
export type ClusterResult = Result<ClusterConfig, string>;

/** Where the walk goes on from a cluster. */
export type ClusterSource =
  | { readonly kind: 'eds'; readonly name: string }
  | { readonly kind: 'dns'; readonly key: string; readonly target: DnsTarget }
  | { readonly kind: 'aggregate'; readonly clusters: readonly string[] }
  /** Nowhere: there is no cluster, or not yet. */
  | { readonly kind: 'none' };

/** What one cluster came to. */
export interface BuiltCluster {
  readonly source: ClusterSource;
  /** `undefined` while something is still awaited. */
  readonly result: ClusterResult | undefined;
}

/** What must be known to build a cluster, besides its name. */
export interface ClusterContext {
  readonly observed: Pick<Observations, 'cluster' | 'endpoints' | 'dns'>;
  /** What is wrong with the listener and the routes; every note repeats it. */
  readonly ambient: readonly XdsError[];
  readonly clientNote: string;
  /** What bounds the walks through aggregates. Default: nothing. */
  readonly bounds?: AggregateBounds;
  /** What a cluster came to before, to be used again if it comes to the same. */
  readonly previous: (name: string) => ClusterResult | undefined;
}

const NOWHERE: ClusterSource = { kind: 'none' };

/** Builds one cluster from what was observed of it (gRFC A74). Pure. */
export function buildCluster(name: string, context: ClusterContext): BuiltCluster {
  const source = clusterSource(context.observed.cluster(name));
  return { source, result: buildFromSource(name, source, context) };
}

/** Where the walk goes on from a cluster. */
export function clusterSource(observed: Observed<ClusterResource> | undefined): ClusterSource {
  return observed?.kind === 'value' ? sourceOf(observed.value) : NOWHERE;
}

/** What a cluster comes to, given its source; `undefined` while something is still awaited. */
export function buildFromSource(
  name: string,
  source: ClusterSource,
  context: ClusterContext,
): ClusterResult | undefined {
  const observed = context.observed.cluster(name);
  if (observed === undefined || observed.kind === 'waiting') return undefined;
  const previous = context.previous(name);
  if (observed.kind === 'error') return shareError(previous, observed.error.message);
  const { value: resource, ambient } = observed;
  const errors = ambient === undefined ? context.ambient : [...context.ambient, ambient];
  const { clientNote } = context;
  switch (source.kind) {
    case 'eds': {
      const endpoints = context.observed.endpoints(source.name);
      return buildLeaf(resource, endpoints, { errors, previous, clientNote });
    }
    case 'dns': {
      const endpoints = context.observed.dns(source.key);
      return buildLeaf(resource, endpoints, { errors, previous, clientNote });
    }
    case 'aggregate':
      return buildAggregate(name, resource, context);
    case 'none':
      return undefined;
    default:
      return assertNever(source);
  }
}

/** Whether the walk goes on in the same way. That of an aggregate may, but is not looked into. */
export function leadsToSame(a: ClusterSource, b: ClusterSource): boolean {
  switch (a.kind) {
    case 'eds':
      return b.kind === 'eds' && a.name === b.name;
    case 'dns':
      return b.kind === 'dns' && a.key === b.key;
    case 'none':
      return b.kind === 'none';
    case 'aggregate':
      return false;
    default:
      return assertNever(a);
  }
}

function sourceOf({ discovery }: ClusterResource): Exclude<ClusterSource, { kind: 'none' }> {
  switch (discovery.kind) {
    case 'eds':
      return { kind: 'eds', name: discovery.edsResourceName };
    case 'logical-dns':
      return { kind: 'dns', key: dnsTargetKey(discovery), target: discovery };
    case 'aggregate':
      return discovery;
    default:
      return assertNever(discovery);
  }
}

interface LeafContext {
  readonly errors: readonly XdsError[];
  readonly clientNote: string;
  readonly previous: ClusterResult | undefined;
}

function buildLeaf(
  resource: ClusterResource,
  observed: Observed<EndpointsResource> | undefined,
  { errors, clientNote, previous }: LeafContext,
): ClusterResult | undefined {
  if (observed === undefined || observed.kind === 'waiting') return undefined;
  const endpoints = observed.kind === 'value' ? observed.value : undefined;
  const own = observed.kind === 'value' ? observed.ambient : observed.error;
  const messages = (own === undefined ? errors : [...errors, own]).map(({ message }) => message);
  const note = messages.length === 0 ? clientNote : messages.join('; ');
  const unusable = describeUnusable(endpoints?.unusableEndpoints);
  const resolutionNote = unusable === undefined ? note : `${unusable}; ${note}`;
  return share(previous, { resource, children: { kind: 'endpoints', endpoints, resolutionNote } });
}

function buildAggregate(
  name: string,
  resource: ClusterResource,
  { observed, clientNote, bounds, previous: previousOf }: ClusterContext,
): ClusterResult {
  const previous = previousOf(name);
  const lookup = (child: string) => {
    const found = observed.cluster(child);
    return found?.kind === 'value' ? found.value : undefined;
  };
  const leaves = leafClusters(name, lookup, bounds);
  if (!leaves.ok) return shareError(previous, `${leaves.error} (${clientNote})`);
  return share(previous, {
    resource,
    children: { kind: 'aggregate', leafClusters: leaves.value },
  });
}

function share(previous: ClusterResult | undefined, next: ClusterConfig): ClusterResult {
  const same =
    previous?.ok === true &&
    previous.value.resource === next.resource &&
    sameChildren(previous.value.children, next.children);
  return same ? previous : ok(next);
}

function shareError(previous: ClusterResult | undefined, message: string): ClusterResult {
  return previous?.ok === false && previous.error === message ? previous : err(message);
}

function sameChildren(a: ClusterChildren, b: ClusterChildren): boolean {
  if (a.kind === 'endpoints') {
    return (
      b.kind === 'endpoints' && a.endpoints === b.endpoints && a.resolutionNote === b.resolutionNote
    );
  }
  return (
    b.kind === 'aggregate' &&
    a.leafClusters.length === b.leafClusters.length &&
    a.leafClusters.every((name, i) => name === b.leafClusters[i])
  );
}
