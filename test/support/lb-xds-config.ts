// The part of an XdsConfig that the load-balancing policies look at.

import type {
  ClusterResult,
  ClusterStore,
  ClusterWatcher,
} from '../../src/dependency-manager/xds-config';
import type { XdsLbContext } from '../../src/lb/lb-policy';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import type {
  DropCategory,
  EndpointsResource,
  PriorityEndpoints,
} from '../../src/resources/endpoints/endpoints';
import type { CertificateSource } from '../../src/security/providers/certificate-provider';
import { createHandle, type Handle } from '../../src/util/handle';
import { err, ok, type Result } from '../../src/util/result';

/** The clusters of a target, set by the test. */
export class FakeClusterStore implements ClusterStore {
  /** The number of subscriptions to each cluster. */
  readonly subscriptions = new Map<string, number>();
  /** How many subscriptions there ever were. */
  subscribed = 0;
  reresolutionRequests = 0;
  /** What a cluster waits for, by name. */
  readonly waits = new Map<string, string>();
  private clusters = new Map<string, ClusterResult>();
  private readonly watchers = new Map<ClusterWatcher, string>();

  /** Replaces the clusters, and calls the watchers of those that changed. */
  set(clusters: Readonly<Record<string, ClusterResult>>): void {
    const before = this.clusters;
    this.clusters = new Map(Object.entries(clusters));
    for (const [watcher, name] of [...this.watchers]) {
      if (before.get(name) === this.clusters.get(name)) continue;
      watcher.batch.run(() => watcher.onClusterChanged());
    }
  }

  /** The names of the clusters that are watched. */
  get watched(): readonly string[] {
    return [...this.watchers.values()];
  }

  cluster(name: string): ClusterResult | undefined {
    return this.clusters.get(name);
  }

  watchCluster(name: string, watcher: ClusterWatcher): Handle {
    this.watchers.set(watcher, name);
    return createHandle(() => {
      if (this.watchers.get(watcher) === name) this.watchers.delete(watcher);
    });
  }

  /** The number of users that wait for a change. */
  hurrying = 0;

  hurry(): Handle {
    this.hurrying++;
    return createHandle(() => this.hurrying--);
  }

  subscribeCluster(name: string): Handle {
    this.subscribed++;
    this.subscriptions.set(name, (this.subscriptions.get(name) ?? 0) + 1);
    return createHandle(() => {
      const left = (this.subscriptions.get(name) ?? 0) - 1;
      if (left === 0) this.subscriptions.delete(name);
      else this.subscriptions.set(name, left);
    });
  }

  resource(name: string): Result<ClusterResource, string> | undefined {
    const cluster = this.cluster(name);
    if (cluster === undefined) return undefined;
    return cluster.ok ? ok(cluster.value.resource) : err(cluster.error.message);
  }

  describeWait(name: string): string | undefined {
    return this.waits.get(name);
  }

  requestReresolution(): void {
    this.reresolutionRequests++;
  }
}

/** A bootstrap without certificate providers. */
const noCertificates: CertificateSource = {
  nodeId: 'n1',
  watch() {
    throw new Error('There are no certificates');
  },
};

/** The context that a resolver hands to the policies, with the given clusters by name. */
export function lbContext(
  clusters: Readonly<Record<string, ClusterResult>>,
  store = new FakeClusterStore(),
): XdsLbContext {
  store.set(clusters);
  return {
    clusters: store,
    nodeId: 'n1',
    target: 'xds:///test',
    authority: 'test',
    certificates: noCertificates,
    loads: undefined,
  };
}

/** A usable cluster with endpoints: those of the priorities, or `undefined` if there are none. */
export function leafOf(
  resource: ClusterResource,
  children: {
    readonly priorities?: readonly PriorityEndpoints[];
    readonly drops?: readonly DropCategory[];
    readonly resolutionNote?: string;
  } = {},
): ClusterResult {
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
): ClusterResult {
  return ok({ resource, children: { kind: 'aggregate', leafClusters } });
}

/** A cluster that cannot be used, with an error whose text says since when. */
export function failedCluster(message: string): ClusterResult {
  return err({ kind: 'does-not-exist', message, sinceMs: 0 });
}
