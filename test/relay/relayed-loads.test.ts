import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import type { ClusterLoad, LoadReporting, LocalityLoad } from '../../src/control-plane';
import { MAX_LOAD_ENTRIES_OF_CLUSTER } from '../../packages/relay/src/limits';
import { RelayedLoads } from '../../packages/relay/src/relayed-loads';
import { ServerLoads } from '../../src/xds-client/lrs/cluster-load';

const server = (key: string): ServerConfig => ({
  serverUri: key,
  key,
  features: new Set<string>(),
  callCreds: [],
  channelCreds: { type: 'insecure', config: undefined },
});

const client = (streamId: number) => ({ streamId, nodeId: `n${streamId}`, peer: 'unix' });

const locality = (zone: string, counts: Partial<LocalityLoad> = {}): LocalityLoad => ({
  region: '',
  zone,
  subZone: '',
  priority: 0,
  issued: 0,
  succeeded: 0,
  failed: 0,
  inProgress: 0,
  metrics: new Map(),
  ...counts,
});

const load = (
  localities: readonly LocalityLoad[],
  drops: Partial<ClusterLoad> = {},
): ClusterLoad => ({
  cluster: 'c',
  serviceName: '',
  intervalMs: 1000,
  localities,
  totalDropped: 0,
  droppedByCategory: new Map(),
  ...drops,
});

class Scene {
  readonly servers = new Map<string, ServerLoads>();
  readonly requested: LoadReporting[] = [];
  readonly leftOut: string[] = [];
  readonly loads = new RelayedLoads({
    reporter: {
      acquire: ({ server: { key }, cluster, edsServiceName }) => {
        const loads =
          this.servers.get(key) ??
          new ServerLoads(
            () => 0,
            () => {},
          );
        this.servers.set(key, loads);
        return { ...loads.acquire({ cluster, edsServiceName }), metrics: undefined };
      },
    },
    defaultServer: server('first'),
    serverOf: (cluster) =>
      cluster === 'unknown' ? undefined : server(cluster === 'other' ? 'second' : 'first'),
    onRequested: (reporting) => this.requested.push(reporting),
    onLeftOut: (cluster) => this.leftOut.push(cluster),
  });

  /** Takes what a server is reported, by cluster and locality. */
  take(key = 'first'): Record<string, readonly unknown[]> {
    const all: Record<string, readonly unknown[]> = {};
    for (const taken of this.servers.get(key)?.take('all') ?? []) {
      if (taken === undefined) continue;
      const { id, localities, drops, uncategorizedDrops } = taken.counts;
      for (const {
        locality: { zone },
        issued,
        succeeded,
        failed,
        inProgress,
      } of localities)
        all[`${id.cluster} ${zone}`] = [issued, succeeded, failed, inProgress];
      if (drops.size + uncategorizedDrops > 0)
        all[`${id.cluster} drops`] = [...drops, uncategorizedDrops];
    }
    return all;
  }

  get isInUse(): boolean {
    return [...this.servers.values()].some((loads) => loads.isInUse);
  }
}

describe('the loads of the clients of a relay', () => {
  it('are added up by locality, and counted once', () => {
    const scene = new Scene();
    for (const id of [1, 2]) scene.loads.open(client(id));
    const counts = { issued: 5, succeeded: 3, failed: 1, inProgress: 1 };
    scene.loads.add(client(1), {
      clusters: [load([locality('a', counts), locality('b', counts)])],
    });
    scene.loads.add(client(2), { clusters: [load([locality('a', counts)])] });
    expect(scene.take()).toEqual({ 'c a': [10, 6, 2, 2], 'c b': [5, 3, 1, 1] });
    expect(scene.take()).toEqual({ 'c a': [0, 0, 0, 2], 'c b': [0, 0, 0, 1] });
  });

  it('have the calls in progress of the last report of each client, until it ends', () => {
    const scene = new Scene();
    for (const id of [1, 2]) scene.loads.open(client(id));
    const inProgress = (calls: number) => ({
      clusters: [load([locality('a', { inProgress: calls })])],
    });
    scene.loads.add(client(1), inProgress(4));
    scene.loads.add(client(2), inProgress(3));
    scene.loads.add(client(1), inProgress(2));
    expect(scene.take()).toEqual({ 'c a': [0, 0, 0, 5] });
    // A report without the cluster has no calls in progress there.
    scene.loads.add(client(2), { clusters: [load([], { cluster: 'other' })] });
    expect(scene.take()).toEqual({ 'c a': [0, 0, 0, 2] });
    scene.loads.close(client(1));
    expect(scene.take()).toEqual({});
    scene.loads.close(client(2));
    expect(scene.isInUse).toBe(false);
  });

  it('are reported when the client has ended', () => {
    const scene = new Scene();
    scene.loads.open(client(1));
    expect(scene.isInUse).toBe(true);
    const counts = { issued: 7, succeeded: 6, failed: 1, inProgress: 2 };
    scene.loads.add(client(1), { clusters: [load([locality('a', counts)])] });
    scene.loads.close(client(1));
    scene.loads.add(client(1), { clusters: [load([locality('a', counts)])] });
    expect(scene.isInUse).toBe(false);
    expect(scene.take()).toEqual({ 'c a': [7, 6, 1, 0] });
  });

  it('have drops with and without a category', () => {
    const scene = new Scene();
    for (const id of [1, 2]) {
      scene.loads.open(client(id));
      const drops = { totalDropped: 5, droppedByCategory: new Map([['lb', 3]]) };
      scene.loads.add(client(id), { clusters: [load([], drops)] });
    }
    expect(scene.take()).toEqual({ 'c drops': [['lb', 6], 4] });
  });

  it('are for the server that the cluster is from, and left out of a cluster that there is not', () => {
    const scene = new Scene();
    scene.loads.open(client(1));
    const of = (cluster: string) => load([locality('a', { issued: 1 })], { cluster });
    scene.loads.add(client(1), { clusters: [of('c'), of('other'), of('unknown')] });
    expect([scene.take('first'), scene.take('second')]).toEqual([
      { 'c a': [1, 0, 0, 0] },
      { 'other a': [1, 0, 0, 0] },
    ]);
    expect(scene.leftOut).toEqual(['unknown']);
  });

  it('have a bounded number of localities while nothing can be reported', () => {
    const scene = new Scene();
    scene.loads.open(client(1));
    for (let report = 0; report < 5; report++) {
      const localities = Array.from({ length: 4000 }, (_, i) =>
        locality(`${report} ${i}`, { issued: 1 }),
      );
      scene.loads.add(client(1), { clusters: [load(localities)] });
    }
    expect(scene.leftOut.length).toBeGreaterThan(0);
    expect(Object.keys(scene.take())).toHaveLength(MAX_LOAD_ENTRIES_OF_CLUSTER);
  });

  it('are requested as often as the servers request them, of all their clusters', () => {
    const scene = new Scene();
    scene.loads.onResponse(server('first'), { clusters: new Set(['a']), intervalMs: 5000 });
    scene.loads.onResponse(server('second'), { clusters: new Set(['b']), intervalMs: 1000 });
    scene.loads.onResponse(server('second'), { clusters: 'all', intervalMs: 9000 });
    expect(scene.requested).toEqual([
      { intervalMs: 5000, clusters: ['a'] },
      { intervalMs: 1000, clusters: ['a', 'b'] },
      { intervalMs: 5000 },
    ]);
  });
});
