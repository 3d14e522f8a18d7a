// The part of an XdsConfig that the load-balancing policies look at.

import type { ClusterConfig, XdsConfig } from '../../src/dependency-manager/xds-config';
import type { XdsLbContext } from '../../src/lb/lb-policy';
import type { ClusterResource } from '../../src/resources/cluster';
import type {
  DropCategory,
  EndpointsResource,
  PriorityEndpoints,
} from '../../src/resources/endpoints';
import { createHandle, type Handle } from '../../src/util/handle';
import { ok, type Result } from '../../src/util/result';
import { listener, routeConfig, virtualHost } from './xds-builders';

/** Counts the holds on each cluster. */
export class RecordingSubscriber {
  readonly holds = new Map<string, number>();
  /** How many holds were ever taken. */
  taken = 0;
  reresolutionRequests = 0;

  subscribeCluster(name: string): Handle {
    this.taken++;
    this.holds.set(name, (this.holds.get(name) ?? 0) + 1);
    return createHandle(() => {
      const left = (this.holds.get(name) ?? 0) - 1;
      if (left === 0) this.holds.delete(name);
      else this.holds.set(name, left);
    });
  }

  requestReresolution(): void {
    this.reresolutionRequests++;
  }
}

const subscriber = new RecordingSubscriber();
const host = virtualHost([]);
const routes = routeConfig('routes', host);
const api = listener('listener');

/** The context a resolver hands to the policies, with the given clusters by name. */
export function lbContext(
  clusters: Readonly<Record<string, Result<ClusterConfig, string>>>,
  clusterSubscriber = subscriber,
): XdsLbContext {
  const config: XdsConfig = {
    listener: api,
    routeConfig: routes,
    virtualHost: host,
    clusters: new Map(Object.entries(clusters)),
  };
  return { config, clusters: clusterSubscriber, nodeId: 'n1', loads: undefined };
}

/** A usable cluster with endpoints: those of the priorities, or `undefined` if there are none. */
export function leafOf(
  resource: ClusterResource,
  children: {
    readonly priorities?: readonly PriorityEndpoints[];
    readonly drops?: readonly DropCategory[];
    readonly resolutionNote?: string;
  } = {},
): Result<ClusterConfig, string> {
  const { priorities, drops = [], resolutionNote = '' } = children;
  const endpoints: EndpointsResource | undefined = priorities && {
    clusterName: resource.name,
    priorities,
    drops,
  };
  return ok({ resource, children: { kind: 'endpoints', endpoints, resolutionNote } });
}

/** A usable cluster made of others. */
export function aggregateOf(
  resource: ClusterResource,
  ...leafClusters: readonly string[]
): Result<ClusterConfig, string> {
  return ok({ resource, children: { kind: 'aggregate', leafClusters } });
}
