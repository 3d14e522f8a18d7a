import type { ClusterWatcher } from '../../src/dependency-manager/xds-config';
import {
  findCluster,
  ClusterWaits,
  type CallClusters,
  type ClusterWait,
} from '../../src/resolver/cluster-waits';
import type { ClusterResource } from '../../src/resources/cluster/cluster';
import { createHandle, type Handle } from '../../src/util/handle';
import { err, ok, type Result } from '../../src/util/result';
import { FakeClock } from '../support/fake-clock';
import { edsCluster } from '../support/xds-builders';

/** The clusters of a channel, of which one is late. */
class Clusters implements CallClusters {
  found: Result<ClusterResource, string> | undefined;
  wait: string | undefined = 'Cluster "n": waiting';
  readonly watchers = new Set<ClusterWatcher>();

  resource(): Result<ClusterResource, string> | undefined {
    return this.found;
  }

  describeWait(): string | undefined {
    return this.wait;
  }

  watchCluster(_name: string, watcher: ClusterWatcher): Handle {
    this.watchers.add(watcher);
    return createHandle(() => this.watchers.delete(watcher));
  }

  change(): void {
    for (const watcher of [...this.watchers]) {
      watcher.batch.run(() => watcher.onClusterChanged());
    }
  }
}

describe('a call that waits for its cluster', () => {
  let clusters: Clusters;
  let late: ClusterWaits;
  let waits: ClusterWait[];
  /** What each wait has settled with; not there while it has not. */
  let settled: Map<number, unknown>;

  beforeEach(() => {
    clusters = new Clusters();
    late = new ClusterWaits(new FakeClock());
    settled = new Map();
    waits = [0, 1].map((i) => {
      const wait = late.wait(clusters, 'n');
      void wait.resource.then((resource) => settled.set(i, resource));
      return wait;
    });
  });
  const results = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return [...settled.values()];
  };

  it('gets it when it is received, as every other call does', async () => {
    clusters.change();
    expect(await results()).toEqual([]);
    clusters.found = ok(edsCluster('n'));
    clusters.change();
    expect(await results()).toEqual([clusters.found, clusters.found]);
    expect(clusters.watchers.size).toBe(0);
  });

  it.each<[string, Result<ClusterResource, string> | undefined, string]>([
    ['cannot be used', err('no such resource'), 'no such resource'],
    ['is no longer awaited', undefined, 'not part of the xDS config'],
  ])('gets an error if it %s', async (_case, found, reason) => {
    clusters.found = found;
    clusters.wait = undefined;
    clusters.change();
    expect(await results()).toEqual([err(reason), err(reason)]);
    expect(findCluster(clusters, 'n')).toEqual(err(reason));
  });

  it('ends with its channel', async () => {
    late.failAll('closed');
    expect(await results()).toEqual([err('closed'), err('closed')]);
    expect(clusters.watchers.size).toBe(0);
  });

  it('leaves nothing behind when it ends before', async () => {
    expect(waits[0]?.describe()).toBe('Cluster "n": waiting');
    waits[0]?.release();
    expect(clusters.watchers.size).toBe(1);
    waits[1]?.release();
    late.failAll('closed');
    expect(clusters.watchers.size).toBe(0);
    expect(await results()).toEqual([]);
  });
});
