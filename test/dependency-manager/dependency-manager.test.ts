import { XdsDependencyManager } from '../../src/dependency-manager/dependency-manager';
import { FakeClock } from '../support/fake-clock';
import { TimeSlices } from '../../src/util/time-slices';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { silentLogger } from '../../src/util/logger';
import { err, type Result } from '../../src/util/result';
import { FakeDns } from '../support/fake-dns';
import { FakeResourceSource, fakeTypes, withMessage } from '../support/fake-resource-source';
import {
  aggregateCluster,
  dnsCluster,
  edsCluster,
  endpoints,
  listener,
  routeConfig,
  socketListener,
  virtualHost,
  virtualHostTo,
  xdsError,
  type Weighted,
} from '../support/xds-builders';

const NOTE = 'xDS node "n1"';
const NEXT_STEP =
  ': add it to the domains of one, or set the channel option grpc.default_authority';

/** A target `svc` in a world whose server is the test. */
class Scene {
  readonly clock = new FakeClock();
  readonly source = new FakeResourceSource();
  readonly dns = new FakeDns();
  readonly updates: Result<XdsConfig, string>[] = [];
  readonly errors: string[] = [];
  /** Runs inside each update, after it is recorded. */
  onUpdate: () => void = () => {};
  readonly manager = new XdsDependencyManager({
    source: this.source,
    types: fakeTypes,
    dns: this.dns,
    listenerName: 'svc',
    host: 'svc',
    clientNote: NOTE,
    limits: { maxClustersPerTarget: 100 },
    logger: { ...silentLogger, error: (text) => this.errors.push(text()) },
    clock: this.clock,
    timeSlices: new TimeSlices(this.clock),
    onUpdate: (update) => {
      this.updates.push(withMessage(update));
      this.onUpdate();
    },
  });

  serveListener(): this {
    this.source.serve(fakeTypes.listener, 'svc', listener('svc'));
    return this;
  }

  serveRoutes(target: string | readonly Weighted[]): this {
    const routes = routeConfig('svc-routes', virtualHostTo(target));
    this.source.serve(fakeTypes.routeConfig, 'svc-routes', routes);
    return this;
  }

  serveCluster(name: string, ...hosts: readonly string[]): this {
    this.source.serve(fakeTypes.cluster, name, edsCluster(name));
    this.source.serve(fakeTypes.endpoints, name, endpoints(name, ...hosts));
    return this;
  }

  /** Everything for one cluster `a`, and the manager started. */
  complete(): this {
    this.serveListener().serveRoutes('a').serveCluster('a', '10.0.0.1');
    this.manager.start();
    return this;
  }

  /** Serves the cluster once more, and counts from then on how often it is computed. */
  countReads(name: string): { readonly count: () => number; readonly serveAgain: () => void } {
    const { discovery, ...rest } = edsCluster(name);
    let reads = 0;
    const counted = {
      ...rest,
      get discovery() {
        reads++;
        return discovery;
      },
    };
    this.source.serve(fakeTypes.cluster, name, counted);
    const perUpdate = reads;
    reads = 0;
    const serveAgain = () => this.source.serve(fakeTypes.cluster, name, counted);
    return { count: () => reads / perUpdate, serveAgain };
  }

  watched() {
    return {
      listeners: this.source.watched(fakeTypes.listener),
      routes: this.source.watched(fakeTypes.routeConfig),
      clusters: this.source.watched(fakeTypes.cluster),
      endpoints: this.source.watched(fakeTypes.endpoints),
      dns: this.dns.watched,
    };
  }

  get last(): Result<XdsConfig, string> {
    const last = this.updates.at(-1);
    if (last === undefined) throw new Error('There was no update');
    return last;
  }

  get config(): XdsConfig {
    const { last } = this;
    if (!last.ok) throw new Error(`The last update is the error ${last.error}`);
    return last.value;
  }

  get clusterNames(): readonly string[] {
    return [...this.config.clusters.keys()].sort();
  }

  note(cluster: string): string {
    const found = this.config.clusters.get(cluster);
    if (found?.ok !== true || found.value.children.kind !== 'endpoints') {
      throw new Error(`Cluster ${cluster} has no note`);
    }
    return found.value.children.resolutionNote;
  }
}

describe('XdsDependencyManager: the first config', () => {
  it('watches step by step, and publishes once everything is there', () => {
    const scene = new Scene();
    scene.manager.start();
    expect(scene.watched()).toEqual({
      listeners: ['svc'],
      routes: [],
      clusters: [],
      endpoints: [],
      dns: [],
    });
    scene.serveListener();
    expect(scene.watched().routes).toEqual(['svc-routes']);
    scene.serveRoutes('a');
    expect(scene.watched().clusters).toEqual(['a']);
    scene.source.serve(fakeTypes.cluster, 'a', edsCluster('a', 'service'));
    expect(scene.watched().endpoints).toEqual(['service']);
    expect(scene.updates).toEqual([]);
    scene.source.serve(fakeTypes.endpoints, 'service', endpoints('service', '10.0.0.1'));
    expect(scene.clusterNames).toEqual(['a']);
    expect(scene.updates).toHaveLength(1);
  });

  it('publishes once when everything is cached', () => {
    const scene = new Scene().complete();
    expect(scene.updates).toHaveLength(1);
    expect(scene.clusterNames).toEqual(['a']);
  });

  it('starts no watch before start, nor after close', () => {
    const scene = new Scene();
    expect(scene.source.watchCount).toBe(0);
    scene.manager.close();
    scene.manager.start();
    expect(scene.source.watchCount).toBe(0);
  });
});

describe('XdsDependencyManager: updates', () => {
  it('rebuilds once for all reports in one run of the queue', () => {
    const scene = new Scene()
      .serveListener()
      .serveRoutes(['a', 'b'])
      .serveCluster('a', '10.0.0.1')
      .serveCluster('b', '10.0.0.2');
    scene.manager.start();
    scene.updates.length = 0;
    scene.source.run(() => {
      scene.serveCluster('a', '10.0.0.3').serveCluster('b', '10.0.0.4');
      scene.serveRoutes('b');
    });
    expect(scene.updates).toHaveLength(1);
    expect(scene.clusterNames).toEqual(['b']);
  });

  it('does not publish a config that is the same as the last', () => {
    const scene = new Scene().complete();
    const { config } = scene;
    scene.source.serve(fakeTypes.routeConfig, 'svc-routes', config.routeConfig);
    scene.source.ambient(fakeTypes.endpoints, 'a', undefined);
    expect(scene.updates).toHaveLength(1);
  });

  it('keeps the old config and its watches until the new one is whole', () => {
    // 1. A new route configuration is named, and not there yet.
    const scene = new Scene().complete();
    scene.source.serve(
      fakeTypes.listener,
      'svc',
      listener('svc', { routes: { kind: 'rds', routeConfigName: 'next' } }),
    );
    expect(scene.watched()).toMatchObject({
      routes: ['next', 'svc-routes'],
      clusters: ['a'],
      endpoints: ['a'],
    });
    // 2. It comes, and names a cluster that is not there yet.
    scene.source.serve(fakeTypes.routeConfig, 'next', routeConfig('next', virtualHostTo('b')));
    expect(scene.watched()).toMatchObject({ clusters: ['a', 'b'], endpoints: ['a'] });
    scene.source.serve(fakeTypes.cluster, 'b', edsCluster('b'));
    expect(scene.watched().endpoints).toEqual(['a', 'b']);
    expect(scene.updates).toHaveLength(1);
    // 3. The last piece comes: the new config, and the end of the old watches.
    scene.source.serve(fakeTypes.endpoints, 'b', endpoints('b'));
    expect(scene.updates).toHaveLength(2);
    expect(scene.clusterNames).toEqual(['b']);
    expect(scene.watched()).toMatchObject({
      routes: ['next'],
      clusters: ['b'],
      endpoints: ['b'],
    });
  });

  it('follows a cluster whose endpoints move to another name', () => {
    const scene = new Scene().complete();
    scene.source.serve(fakeTypes.endpoints, 'new', endpoints('new', '10.0.0.7'));
    scene.source.serve(fakeTypes.cluster, 'a', edsCluster('a', 'new'));
    expect(scene.watched().endpoints).toEqual(['new']);
    expect(scene.updates).toHaveLength(2);
  });

  it('follows a cluster that becomes an aggregate, and back', () => {
    const scene = new Scene().complete().serveCluster('b').serveCluster('c');
    scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'b', 'c'));
    expect(scene.clusterNames).toEqual(['a', 'b', 'c']);
    expect(scene.watched()).toMatchObject({ clusters: ['a', 'b', 'c'], endpoints: ['b', 'c'] });
    scene.source.serve(fakeTypes.cluster, 'a', edsCluster('a'));
    expect(scene.clusterNames).toEqual(['a']);
    expect(scene.watched()).toMatchObject({ clusters: ['a'], endpoints: ['a'] });
  });

  it('notes an ambient error, and forgets it when it is over or the value changes', () => {
    const scene = new Scene().complete();
    expect(scene.note('a')).toBe(NOTE);
    scene.source.ambient(fakeTypes.endpoints, 'a', xdsError('server gone', 'unreachable'));
    expect(scene.note('a')).toBe('server gone');
    scene.source.ambient(fakeTypes.endpoints, 'a', undefined);
    expect(scene.note('a')).toBe(NOTE);
    scene.source.ambient(fakeTypes.listener, 'svc', xdsError('bad listener', 'invalid'));
    expect(scene.note('a')).toBe('bad listener');
    scene.serveListener();
    expect(scene.note('a')).toBe(NOTE);
  });

  it('ignores an ambient error without a value', () => {
    const scene = new Scene().serveListener().serveRoutes('a');
    scene.source.serve(fakeTypes.cluster, 'a', edsCluster('a'));
    scene.manager.start();
    scene.source.ambient(fakeTypes.endpoints, 'a', xdsError('server gone', 'unreachable'));
    expect(scene.updates).toEqual([]);
    scene.source.fail(fakeTypes.endpoints, 'a', xdsError('no endpoints'));
    expect(scene.note('a')).toBe('no endpoints');
  });
});

describe('XdsDependencyManager: watchers of clusters', () => {
  /** Records which watchers are called, and in which task of the batch. */
  class Batch {
    tasks = 0;
    readonly calls: string[] = [];

    readonly run = (task: () => void): void => {
      this.tasks++;
      task();
    };

    watch(scene: Scene, name: string) {
      const onClusterChanged = () => this.calls.push(`${name} in ${this.tasks}`);
      return scene.manager.watchCluster(name, { batch: this, onClusterChanged });
    }
  }

  function twoClusters(): Scene {
    const scene = new Scene().serveListener();
    scene.serveRoutes(['a', 'b']);
    scene.serveCluster('a').serveCluster('b');
    scene.manager.start();
    return scene;
  }

  it('are called when their cluster changed, and no others', () => {
    const scene = twoClusters();
    const batch = new Batch();
    batch.watch(scene, 'a');
    batch.watch(scene, 'b');
    scene.serveCluster('b', '127.0.0.9');
    expect(batch.calls.map((call) => call[0])).toEqual(['b', 'b']);
    const cluster = scene.manager.cluster('b');
    expect(cluster).toBe(scene.config.clusters.get('b'));
  });

  it('are called in one task of their batch for all clusters of a config', () => {
    const scene = twoClusters();
    const batch = new Batch();
    const other = new Batch();
    batch.watch(scene, 'a');
    other.watch(scene, 'a');
    batch.watch(scene, 'b');
    scene.source.run(() => {
      scene.serveCluster('a', '127.0.0.8').serveCluster('b', '127.0.0.9');
    });
    expect(batch.calls).toEqual(['a in 1', 'b in 1']);
    expect(other.calls).toEqual(['a in 1']);
  });

  it('are called after the config was published, also if its receiver throws', () => {
    const scene = twoClusters();
    const order: string[] = [];
    const run = (task: () => void) => task();
    scene.manager.watchCluster('a', {
      batch: { run },
      onClusterChanged: () => order.push('watcher'),
    });
    scene.onUpdate = () => {
      order.push('receiver');
      throw new Error('The receiver threw');
    };
    const update = () => scene.serveCluster('a', '127.0.0.9');
    expect(update).toThrow('The receiver threw');
    expect(order).toEqual(['receiver', 'watcher']);
  });

  it('are called when their cluster leaves the config, and comes back', () => {
    const scene = twoClusters();
    const batch = new Batch();
    batch.watch(scene, 'b');
    scene.serveRoutes('a');
    expect(batch.calls).toHaveLength(1);
    expect(scene.manager.cluster('b')).toBeUndefined();
    scene.serveRoutes('b');
    expect(batch.calls).toHaveLength(2);
    expect(scene.manager.cluster('b')?.ok).toBe(true);
  });

  it('are not called after their release, nor for an error of the target', () => {
    const scene = twoClusters();
    const batch = new Batch();
    batch.watch(scene, 'b');
    batch.watch(scene, 'a').release();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.serveListener();
    scene.serveCluster('a', '127.0.0.9');
    expect(batch.calls).toEqual([]);
  });
});

describe('XdsDependencyManager: targets that cannot be used', () => {
  it('reports the error once', () => {
    const scene = new Scene();
    scene.manager.start();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc" does not exist'));
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('Listener "svc" does not exist'));
    expect(scene.updates).toEqual([err('Listener "svc" does not exist')]);
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('server gone', 'unreachable'));
    expect(scene.updates).toHaveLength(2);
  });

  it('reports the error after a config, and releases the watches that only it needed', () => {
    const scene = new Scene().complete();
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    expect(scene.last).toEqual(err('gone'));
    expect(scene.watched()).toMatchObject({
      listeners: ['svc'],
      routes: [],
      clusters: [],
      endpoints: [],
    });
  });

  it('recovers from routes without a virtual host for the target', () => {
    const scene = new Scene().serveListener().serveCluster('a');
    const foreign = routeConfig('svc-routes', virtualHost([], { domains: ['other'] }));
    scene.source.serve(fakeTypes.routeConfig, 'svc-routes', foreign);
    scene.manager.start();
    expect(scene.last).toEqual(
      err(`RouteConfiguration "svc-routes" has no virtual host for "svc" (${NOTE})${NEXT_STEP}`),
    );
    scene.serveRoutes('a');
    expect(scene.clusterNames).toEqual(['a']);
  });

  it('recovers from a listener that was meant for a server', () => {
    const scene = new Scene().serveRoutes('a').serveCluster('a');
    scene.source.serve(fakeTypes.listener, 'svc', socketListener('svc'));
    scene.manager.start();
    expect(scene.last.ok).toBe(false);
    scene.serveListener();
    expect(scene.clusterNames).toEqual(['a']);
  });
});

describe('XdsDependencyManager: subscriptions', () => {
  it('keeps a cluster without a route until the last release', () => {
    const scene = new Scene().complete().serveCluster('extra');
    const first = scene.manager.subscribeCluster('extra');
    const second = scene.manager.subscribeCluster('extra');
    expect(scene.clusterNames).toEqual(['a', 'extra']);
    first.release();
    first.release();
    expect(scene.clusterNames).toEqual(['a', 'extra']);
    expect(scene.updates).toHaveLength(2);
    second.release();
    expect(scene.clusterNames).toEqual(['a']);
    expect(scene.watched()).toMatchObject({ clusters: ['a'], endpoints: ['a'] });
  });

  it('keeps a cluster whose route was removed, and its watches', () => {
    const scene = new Scene().complete().serveCluster('b');
    const held = scene.manager.subscribeCluster('a');
    const { log } = scene.source;
    log.length = 0;
    scene.serveRoutes('b');
    expect(scene.clusterNames).toEqual(['a', 'b']);
    expect(log).toEqual(['+Cluster b', '+ClusterLoadAssignment b']);
    scene.source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.8'));
    expect(scene.updates).toHaveLength(3);
    held.release();
    expect(scene.clusterNames).toEqual(['b']);
    expect(log.slice(2)).toEqual(['-Cluster a', '-ClusterLoadAssignment a']);
  });

  it('keeps a cluster that is also part of an aggregate when only the subscription ends', () => {
    const scene = new Scene().complete().serveCluster('b');
    scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'b'));
    const held = scene.manager.subscribeCluster('b');
    held.release();
    expect(scene.clusterNames).toEqual(['a', 'b']);
    expect(scene.updates).toHaveLength(2);
  });

  it('is part of the first config when it is made before', () => {
    const scene = new Scene().serveCluster('extra');
    scene.manager.subscribeCluster('extra');
    scene.complete();
    expect(scene.updates).toHaveLength(1);
    expect(scene.clusterNames).toEqual(['a', 'extra']);
  });

  it('releases its watch when it is released before the cluster was received', () => {
    const scene = new Scene().complete();
    const held = scene.manager.subscribeCluster('extra');
    expect(scene.watched().clusters).toEqual(['a', 'extra']);
    held.release();
    expect(scene.watched().clusters).toEqual(['a']);
    expect(scene.updates).toHaveLength(1);
  });

  it('outlives an error of the target', () => {
    const scene = new Scene().complete().serveCluster('extra');
    scene.manager.subscribeCluster('extra');
    scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
    scene.serveListener();
    expect(scene.clusterNames).toEqual(['a', 'extra']);
  });

  it('may start and end inside an update', () => {
    const scene = new Scene().serveCluster('extra');
    scene.onUpdate = () => {
      scene.onUpdate = () => {};
      scene.manager.subscribeCluster('extra');
      scene.manager.subscribeCluster('a').release();
    };
    scene.complete();
    expect(scene.updates).toHaveLength(2);
    expect(scene.clusterNames).toEqual(['a', 'extra']);
  });

  it('may be released after the manager was closed', () => {
    const scene = new Scene().complete();
    const held = scene.manager.subscribeCluster('extra');
    scene.manager.close();
    held.release();
    scene.manager.subscribeCluster('other').release();
    expect(scene.source.watchCount).toBe(0);
    expect(scene.updates).toHaveLength(1);
  });
});

describe('XdsDependencyManager: DNS', () => {
  function dnsScene(): Scene {
    const scene = new Scene().serveListener().serveRoutes('a');
    scene.source.serve(fakeTypes.cluster, 'a', dnsCluster('a', 'db.example', 5432));
    scene.manager.start();
    return scene;
  }

  it('waits for the first answer', () => {
    const scene = dnsScene();
    expect(scene.watched().dns).toEqual(['db.example:5432']);
    expect(scene.updates).toEqual([]);
    scene.dns.resolve('db.example:5432', endpoints('db', '10.0.0.1'));
    expect(scene.note('a')).toBe(NOTE);
  });

  it('keeps the last answer over an error, with a note, until there is another answer', () => {
    const scene = dnsScene();
    const answer = endpoints('db', '10.0.0.1');
    scene.dns.resolve('db.example:5432', answer);
    scene.dns.fail('db.example:5432', 'no such name');
    const cluster = scene.config.clusters.get('a');
    expect(cluster?.ok === true && cluster.value.children).toEqual({
      kind: 'endpoints',
      endpoints: answer,
      resolutionNote: 'no such name (failing since 2023-11-14T22:13:20.000Z)',
    });
    scene.dns.resolve('db.example:5432', answer);
    expect(scene.note('a')).toBe(NOTE);
  });

  it('resolves a name once for two clusters, and passes on requests to resolve again', () => {
    const scene = dnsScene();
    scene.source.serve(fakeTypes.cluster, 'b', dnsCluster('b', 'db.example', 5432));
    scene.source.serve(fakeTypes.cluster, 'c', dnsCluster('c', '::1', 80));
    scene.serveRoutes(['a', 'b', 'c']);
    expect(scene.watched().dns).toEqual(['[::1]:80', 'db.example:5432']);
    scene.manager.requestReresolution();
    expect([...scene.dns.reresolutions].sort()).toEqual(['[::1]:80', 'db.example:5432']);
  });

  it('releases a name that is no longer needed', () => {
    const scene = dnsScene();
    scene.dns.resolve('db.example:5432', endpoints('db'));
    scene.serveCluster('a');
    expect(scene.watched().dns).toEqual([]);
    scene.manager.requestReresolution();
    expect(scene.dns.reresolutions).toEqual([]);
  });
});

describe('XdsDependencyManager: the end', () => {
  it('releases everything and publishes nothing more', () => {
    const scene = new Scene().complete();
    scene.source.serve(fakeTypes.cluster, 'd', dnsCluster('d', 'h', 1));
    scene.serveRoutes(['a', 'd']);
    scene.dns.resolve('h:1', endpoints('d'));
    const before = scene.updates.length;
    scene.manager.close();
    scene.manager.close();
    expect(scene.source.watchCount).toBe(0);
    expect(scene.watched().dns).toEqual([]);
    scene.serveCluster('a', '10.0.0.9');
    scene.dns.resolve('h:1', endpoints('d', '10.0.0.9'));
    scene.manager.requestReresolution();
    expect(scene.updates).toHaveLength(before);
    expect(scene.dns.reresolutions).toEqual([]);
  });

  it('may come in the middle of an update', () => {
    const scene = new Scene();
    scene.onUpdate = () => scene.manager.close();
    scene.complete();
    expect(scene.source.watchCount).toBe(0);
    expect(scene.updates).toHaveLength(1);
  });

  it('may come between a subscription and the rebuild for it', () => {
    const scene = new Scene().complete();
    scene.source.log.length = 0;
    scene.source.run(() => {
      scene.manager.subscribeCluster('extra');
      scene.manager.close();
    });
    expect(scene.source.watchCount).toBe(0);
    expect(scene.source.log).not.toContain('+Cluster extra');
  });

  it('may come between a report and the rebuild', () => {
    const scene = new Scene().complete();
    scene.source.run(() => {
      scene.serveRoutes('b');
      scene.manager.close();
    });
    expect(scene.source.watchCount).toBe(0);
    expect(scene.updates).toHaveLength(1);
  });
});

describe('XdsDependencyManager: the number of clusters', () => {
  // 1. `c0` to `c17` are a path of 18 clusters, which is followed to its end because of `c10`. 2. Without `c10`, the end
  // is no longer watched. 3. Nothing changes when a cluster is received again as it is.
  it('leads to the same config after any earlier watches', () => {
    const scene = new Scene().serveListener().serveCluster('c17', '10.0.0.1');
    const names = Array.from({ length: 17 }, (_, index) => `c${index}`);
    const resources = names.map((name, index) => aggregateCluster(name, `c${index + 1}`));
    for (const resource of resources)
      scene.source.serve(fakeTypes.cluster, resource.name, resource);
    scene.serveRoutes(['c0', 'c10']);
    scene.manager.start();
    expect(scene.clusterNames).toContain('c17');
    scene.serveRoutes('c0');
    expect(scene.clusterNames).not.toContain('c16');
    const count = scene.updates.length;
    for (const resource of resources)
      scene.source.serve(fakeTypes.cluster, resource.name, resource);
    expect(scene.updates).toHaveLength(count);
  });

  // 1. Each update names another cluster, which is never sent. 2. The config in use stays.
  it('does not grow with clusters that were named for a while and never received', () => {
    const scene = new Scene().complete();
    for (let i = 0; i < 50; i++) scene.serveRoutes(`never-${i}`);
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'never-49']);
    expect(scene.source.watched(fakeTypes.endpoints)).toEqual(['a']);
    expect(scene.updates).toHaveLength(1);
  });

  const many = (count: number): readonly Weighted[] =>
    Array.from({ length: count }, (_, i) => [`many-${i}`, 1] as const);

  // 1. The routes name one cluster. 2. They name too many. 3. The cluster changes. 4. They name one again.
  it('leaves the last routes in use when new ones name too many, and logs that once', () => {
    const scene = new Scene().complete();
    scene.serveRoutes(many(101));
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a']);
    const text = `RouteConfiguration "svc-routes" is rejected: its virtual host names 101 clusters, more than the limit maxClustersPerTarget (100) (${NOTE})`;
    expect(scene.errors).toEqual([`${text}; the last routes stay in use`]);

    scene.serveCluster('a', '10.0.0.2');
    const update = scene.updates.at(-1);
    expect(update?.ok === true && update.value.clusters.get('a')).toMatchObject({
      value: { children: { resolutionNote: text, endpoints: endpoints('a', '10.0.0.2') } },
    });
    expect(scene.errors).toHaveLength(1);

    scene.serveCluster('b', '10.0.0.3').serveRoutes('b');
    expect(scene.source.watched(fakeTypes.cluster)).toEqual(['b']);
  });

  it('fails the target when there are no last routes, and none of the clusters is watched', () => {
    const scene = new Scene().serveListener().serveRoutes(many(101));
    scene.manager.start();
    expect(scene.updates).toEqual([
      err(
        `RouteConfiguration "svc-routes" is rejected: its virtual host names 101 clusters, more than the limit maxClustersPerTarget (100) (${NOTE})`,
      ),
    ]);
    expect(scene.source.watched(fakeTypes.cluster)).toEqual([]);
  });

  describe('of an aggregate that had good ones before', () => {
    const leavesOf = (scene: Scene, name = 'a') => {
      const cluster = scene.config.clusters.get(name);
      const children = cluster?.ok === true ? cluster.value.children : undefined;
      return children?.kind === 'aggregate' ? children.leafClusters : cluster;
    };

    /** An aggregate `a` of `x` and `y`, in use. */
    const inUse = (): Scene => {
      const scene = new Scene().serveListener().serveRoutes('a');
      scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'x', 'y'));
      scene.serveCluster('x', '127.0.0.1').serveCluster('y', '127.0.0.2');
      scene.manager.start();
      return scene;
    };
    const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`);
    const tooMany = `aggregate cluster "a" is rejected: the clusters that "a" names would exceed the limit maxClustersPerTarget (100) (${NOTE})`;

    // 1. The aggregate names too many clusters. 2. An endpoint of one in use changes. 3. It names few.
    it('keeps them while it names too many, and logs that once', () => {
      const scene = inUse();
      scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', ...names(100)));
      expect(leavesOf(scene)).toEqual(['x', 'y']);
      expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'x', 'y']);
      expect(scene.config.clusters.get('a')).toMatchObject({
        value: { children: { rejection: tooMany } },
      });
      scene.serveCluster('x', '127.0.0.3');
      expect(scene.config.clusters.get('x')).toMatchObject({
        value: { children: { endpoints: endpoints('x', '127.0.0.3') } },
      });
      expect(scene.errors).toEqual([`${tooMany}; its last clusters stay in use`]);

      scene.serveCluster('z', '127.0.0.4');
      scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'z'));
      expect(leavesOf(scene)).toEqual(['z']);
      expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'z']);
    });

    // Those that it would add count besides the two that it keeps.
    it('keeps them while it names both them and too many others', () => {
      const scene = inUse();
      scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', 'x', ...names(99)));
      expect(leavesOf(scene)).toEqual(['x', 'y']);
      expect(scene.source.watched(fakeTypes.cluster)).toEqual(['a', 'x', 'y']);
    });

    // What is kept must not decide what is watched, or both would change in turns for ever.
    it('keeps them while another aggregate grows by as many as there is room for', () => {
      const scene = new Scene().serveListener();
      scene.serveRoutes(['a', 'b']);
      const kept = Array.from({ length: 60 }, (_, i) => `k${i}`);
      for (const name of [...kept, 'z']) scene.serveCluster(name, '127.0.0.1');
      scene.source.serve(fakeTypes.cluster, 'a', aggregateCluster('a', ...kept));
      scene.source.serve(fakeTypes.cluster, 'b', aggregateCluster('b', 'z'));
      scene.manager.start();
      scene.source.log.length = 0;

      const grown = names(90);
      for (const name of grown) scene.serveCluster(name, '127.0.0.2');
      scene.source.run(() => {
        scene.source.serve(
          fakeTypes.cluster,
          'a',
          aggregateCluster(
            'a',
            ...kept,
            'too',
            'many',
            ...Array.from({ length: 60 }, (_, i) => `m${i}`),
          ),
        );
        scene.source.serve(fakeTypes.cluster, 'b', aggregateCluster('b', ...grown));
      });
      expect(leavesOf(scene, 'a')).toEqual(kept);
      expect(leavesOf(scene, 'b')).toEqual(grown);
      const started = scene.source.log.filter((line) => line.startsWith('+Cluster n'));
      expect(started).toHaveLength(90);
      scene.serveCluster('k0', '127.0.0.9');
      expect(scene.source.log.filter((line) => line.startsWith('+Cluster n'))).toHaveLength(90);
    });
  });
});

describe('an update whose receiver throws', () => {
  it.each<[string, (scene: Scene) => void]>([
    ['a config', (scene) => scene.complete()],
    [
      'an error',
      (scene) => {
        scene.manager.start();
        scene.source.fail(fakeTypes.listener, 'svc', xdsError('gone'));
      },
    ],
  ])('is published again with the next observation: %s', (_, begin) => {
    const scene = new Scene();
    let throws = true;
    scene.onUpdate = () => {
      if (throws) throw new Error('The receiver threw');
    };
    expect(() => begin(scene)).toThrow('The receiver threw');
    const [first] = scene.updates;
    throws = false;
    // A cluster that is never received is subscribed to for a moment, which leads to the config of before.
    scene.manager.subscribeCluster('extra').release();
    expect(scene.updates).toEqual([first, first]);
    // Once it was received, it is not published again.
    scene.manager.subscribeCluster('extra').release();
    expect(scene.updates).toHaveLength(2);
  });
});
