import type { ClusterResource } from '../resources/cluster/cluster';
import {
  describeEmptyLocalities,
  describeSkippedEndpoints,
  type EndpointsResource,
} from '../resources/endpoints/endpoints';
import { assertNever } from '../util/errors';
import { err, ok } from '../util/result';
import { shareFields } from '../util/share';
import { withSince } from '../util/since';
import type { WatchError } from '../xds-client/resource-watcher';
import { dnsTargetKey, type DnsTarget, type WatchReport } from './observations';
import type { ClusterConfig, ClusterResult } from './xds-config';

/** What a cluster gets its endpoints from. */
export type ClusterSource =
  | { readonly kind: 'eds'; readonly name: string }
  | { readonly kind: 'dns'; readonly key: string; readonly target: DnsTarget }
  | { readonly kind: 'aggregate'; readonly clusters: readonly string[] }
  /** Nothing: the cluster does not exist, or was not received yet. */
  | { readonly kind: 'none' };

/** What the clusters of a target have in common, and the result of one before. */
export interface ClusterInputs {
  /** Errors of the listener and the routes; every resolution note repeats them. */
  readonly ambient: readonly WatchError[];
  readonly clientNote: string;
  /** The result before, which is returned again if nothing in it changed. */
  readonly previous: ClusterResult | undefined;
}

const NONE: ClusterSource = { kind: 'none' };

/** Returns what a cluster gets its endpoints from: the previous source if it needs the same watches. */
export function clusterSource(
  observed: WatchReport<ClusterResource> | undefined,
  previous: ClusterSource | undefined,
): ClusterSource {
  const next = observed?.kind === 'value' ? sourceOf(observed.value) : NONE;
  return previous !== undefined && needsSameWatches(previous, next) ? previous : next;
}

function needsSameWatches(a: ClusterSource, b: ClusterSource): boolean {
  switch (a.kind) {
    case 'eds':
      return b.kind === 'eds' && a.name === b.name;
    case 'dns':
      return b.kind === 'dns' && a.key === b.key;
    case 'none':
      return b.kind === 'none';
    case 'aggregate':
      return b.kind === 'aggregate' && a.clusters === b.clusters;
    default:
      return assertNever(a);
  }
}

/**
 * Builds a cluster of the config that is no aggregate (gRFC A74). Pure.
 * @param endpoints The report of its source.
 * @returns `undefined` while a resource has been neither received nor found missing.
 */
export function buildLeaf(
  cluster: WatchReport<ClusterResource> | undefined,
  endpoints: WatchReport<EndpointsResource> | undefined,
  inputs: ClusterInputs,
): ClusterResult | undefined {
  if (cluster === undefined || cluster.kind === 'waiting') return undefined;
  if (cluster.kind === 'error') return shareError(inputs.previous, cluster.error);
  if (endpoints === undefined || endpoints.kind === 'waiting') return undefined;
  const { value: resource, ambient } = cluster;
  const errors = [...inputs.ambient];
  if (ambient !== undefined) errors.push(ambient);
  const own = endpoints.kind === 'value' ? endpoints.ambient : endpoints.error;
  if (own !== undefined) errors.push(own);
  const note = errors.length === 0 ? inputs.clientNote : joinCauses(errors);
  const value = endpoints.kind === 'value' ? endpoints.value : undefined;
  const unusable = value && describeUnusable(value, resource);
  const resolutionNote = unusable === undefined ? note : `${unusable}; ${note}`;
  const children = { kind: 'endpoints', endpoints: value, resolutionNote } as const;
  return shareCluster(inputs.previous, { resource, children });
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

/** Describes why endpoints are not used, or that there are none; `undefined` if all of them are used. */
function describeUnusable(
  endpoints: EndpointsResource,
  { discovery }: ClusterResource,
): string | undefined {
  const skipped = describeSkippedEndpoints(endpoints);
  if (skipped !== undefined) return skipped;
  const empty = describeEmptyLocalities(endpoints);
  if (empty === undefined || discovery.kind !== 'logical-dns') return empty;
  return `DNS resolution of ${dnsTargetKey(discovery)}: the answer has no addresses: check the name`;
}

/**
 * Joins errors, with each cause once: a server that cannot be reached is the cause for every resource. Of times since when it
 * lasts, the first one is shown.
 */
function joinCauses(errors: readonly WatchError[]): string {
  const byCause = new Map<string, { resources: Set<string>; sinceMs: number | undefined }>();
  for (const { message, resource, cause = message, sinceMs } of errors) {
    const known = byCause.get(cause) ?? { resources: new Set(), sinceMs };
    if (resource !== undefined) known.resources.add(resource);
    if (sinceMs !== undefined) known.sinceMs = Math.min(sinceMs, known.sinceMs ?? sinceMs);
    byCause.set(cause, known);
  }
  const texts = Array.from(byCause, ([cause, { resources, sinceMs }]) => {
    const text = sinceMs === undefined ? cause : withSince(cause, sinceMs);
    return resources.size === 0 ? text : `${[...resources].join(', ')}: ${text}`;
  });
  return texts.join('; ');
}

/** Returns the previous result if it is the same cluster, otherwise the next one. */
export function shareCluster(
  previous: ClusterResult | undefined,
  { resource, children }: ClusterConfig,
): ClusterResult {
  const before = previous?.ok === true ? previous.value : undefined;
  const isUnchanged =
    before?.resource === resource && shareFields(before.children, children) === before.children;
  return isUnchanged && previous !== undefined ? previous : ok({ resource, children });
}

/** Returns the previous result if it is the same error, otherwise the next one. */
export function shareError(previous: ClusterResult | undefined, error: WatchError): ClusterResult {
  return previous?.ok === false && previous.error.message === error.message ? previous : err(error);
}

/** The error of resources that are valid, and cannot be used together. */
export function unusableError(message: string): WatchError {
  return { kind: 'invalid', message };
}
