// The way of a call without a channel: a table of routes, and a selector that uses it.

import { err, ok } from '../../src/util/result';
import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import type { ClusterResult, XdsConfig } from '../../src/dependency-manager/xds-config';
import { FilterStates } from '../../src/http-filters/client-filter';
import { ClusterRefs } from '../../src/resolver/cluster-refs';
import { XdsConfigSelector, type RoutingChannel } from '../../src/resolver/config-selector';
import type { FilterPreparer } from '../../src/resolver/filter-chain';
import { ClusterWaits, type CallClusters } from '../../src/resolver/cluster-waits';
import { PendingCalls } from '../../src/resolver/pending-calls';
import { RequestHasher, type HashLimits, type TextHash } from '../../src/resolver/request-hash';
import { RouteTable } from '../../src/resolver/route-table';
import { MatchMeter } from '../../src/resources/matching/match-meter';
import { clientHeaders, MatchedCall } from '../../src/routing/matched-call';
import { createHandle, type Handle } from '../../src/util/handle';
import { silentLogger } from '../../src/util/logger';
import { FakeClock } from './fake-clock';

/** @param subscribe Called with each cluster that is referenced, and released when it is not any more. */
export function clusterRefs(
  subscribe: (cluster: string) => Handle = () => createHandle(() => {}),
): ClusterRefs {
  return new ClusterRefs(
    subscribe,
    (cluster) => ({ policyName: cluster }),
    () => {},
  );
}

/** For routes without HTTP filters. */
const noFilters: FilterPreparer = { isOverrideOf: () => true, prepare: () => undefined };

/** A table with its references. */
export function tableOf(
  config: XdsConfig,
  preparer: FilterPreparer = noFilters,
  refs: ClusterRefs = clusterRefs(),
): RouteTable {
  return new RouteTable({ config, preparer, defaultAuthority: 'svc' }, refs);
}

interface ChannelParts {
  readonly random?: () => number;
  readonly hash?: TextHash;
  readonly meter?: MatchMeter;
  readonly limits?: HashLimits;
}

/** A channel for `xds:///svc` without plugins. */
export function routingChannel({
  random = () => 0.5,
  hash = () => 1n,
  meter = new MatchMeter(DEFAULT_LIMITS, silentLogger),
  limits = DEFAULT_LIMITS,
}: ChannelParts = {}): RoutingChannel {
  const clock = new FakeClock();
  const target = 'xds:///svc';
  return {
    clock,
    meter,
    random,
    target,
    logger: silentLogger,
    stats: undefined,
    filterStates: new FilterStates(),
    clusterWaits: new ClusterWaits(clock),
    hasher: new RequestHasher({ target, hash, random, meter, limits }),
    matched: new MatchedCall(random, clientHeaders, meter),
    pendingCalls: new PendingCalls({
      clock,
      waitingFor: () => [],
      pickAgain: () => {},
      hurry: () => undefined,
    }),
  };
}

/** The clusters of a config in which none is late. */
export function clustersOf(resource: CallClusters['resource']): CallClusters {
  return {
    resource,
    describeWait: () => undefined,
    watchCluster: () => createHandle(() => {}),
  };
}

/** A selector that routes by this table. @param clusters Those of the config; empty by default. */
export function selectorOf(
  table: RouteTable,
  channel: RoutingChannel = routingChannel(),
  clusters: ReadonlyMap<string, ClusterResult> = new Map(),
): XdsConfigSelector {
  const resources = clustersOf((name) => {
    const cluster = clusters.get(name);
    if (cluster === undefined) return undefined;
    return cluster.ok ? ok(cluster.value.resource) : err(cluster.error.message);
  });
  return new XdsConfigSelector(channel, {
    table,
    source: { isExpired: false },
    clusters: resources,
  });
}
