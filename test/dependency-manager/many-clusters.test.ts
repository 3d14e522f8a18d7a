import { XdsDependencyManager } from '../../src/dependency-manager/dependency-manager';
import type { ClusterResult, XdsConfig } from '../../src/dependency-manager/xds-config';
import { createHandle, type Handle } from '../../src/util/handle';
import { silentLogger } from '../../src/util/logger';
import type { Result } from '../../src/util/result';
import { TimeSlices } from '../../src/util/time-slices';
import type { ResourceType } from '../../src/xds-client/resource-type';
import type { ResourceWatcher } from '../../src/xds-client/resource-watcher';
import { FakeDns } from '../support/fake-dns';
import { FakeResourceSource, fakeTypes } from '../support/fake-resource-source';
import { SlowClock } from '../support/slow-clock';
import {
  edsCluster,
  endpoints,
  forwardTo,
  listener,
  route,
  routeConfig,
  virtualHost,
} from '../support/xds-builders';

const CLUSTERS = 5000;
const WATCHES_PER_MS = 32;
/** The watches of 8 ms, and of one step more. */
const SLICE = 8 * WATCHES_PER_MS + 64;

/** It takes a while to start a watch, and to release it. */
class SlowSource extends FakeResourceSource {
  constructor(private readonly clock: SlowClock) {
    super();
  }

  override watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle {
    this.clock.spentMs += 1 / WATCHES_PER_MS;
    const watch = super.watch(type, name, watcher);
    return createHandle(() => {
      this.clock.spentMs += 1 / WATCHES_PER_MS;
      watch.release();
    });
  }
}

function setUp(count: number) {
  const clock = new SlowClock();
  const source = new SlowSource(clock);
  const updates: Result<XdsConfig, string>[] = [];
  /** It takes a while to look at each cluster of a new config. */
  class SlowManager extends XdsDependencyManager {
    override cluster(name: string): ClusterResult | undefined {
      clock.spentMs += 1 / WATCHES_PER_MS;
      return super.cluster(name);
    }
  }
  const manager = new SlowManager({
    source,
    types: fakeTypes,
    dns: new FakeDns(),
    logger: silentLogger,
    listenerName: 'svc',
    host: 'svc',
    clientNote: 'node',
    limits: { maxClustersPerTarget: CLUSTERS },
    clock,
    timeSlices: new TimeSlices(clock),
    onUpdate: (update) => updates.push(update),
  });
  const names = Array.from({ length: count }, (_, i) => `c${i}`);
  const serveRoutes = () => {
    const host = virtualHost(names.map((name) => route(forwardTo(name))));
    source.serve(fakeTypes.routeConfig, 'svc-routes', routeConfig('svc-routes', host));
  };
  /** Serves everything of one kind as one response does. */
  const serveClusters = () =>
    source.run(() => {
      for (const name of names) source.serve(fakeTypes.cluster, name, edsCluster(name));
    });
  const serveEndpoints = () =>
    source.run(() => {
      for (const name of names)
        source.serve(fakeTypes.endpoints, name, endpoints(name, '10.0.0.1'));
    });
  source.serve(fakeTypes.listener, 'svc', listener('svc'));
  manager.start();
  return { clock, manager, serveClusters, serveEndpoints, serveRoutes, source, updates };
}

/** Runs turns until nothing is left to do. @returns the number of watches started in each. */
function turns({ clock, source }: Pick<ReturnType<typeof setUp>, 'clock' | 'source'>): number[] {
  const started: number[] = [];
  while (clock.pendingTimers > 0) {
    const before = source.log.length;
    clock.advance(1);
    started.push(source.log.length - before);
  }
  return started;
}

describe('a target with thousands of clusters', () => {
  it('starts the watches in slices of 8 ms, and has a config when all have been received', () => {
    const scene = setUp(CLUSTERS);
    const { serveRoutes, serveClusters, serveEndpoints, source, updates } = scene;
    const before = source.log.length;
    serveRoutes();
    expect(source.log.length - before).toBe(0);
    const slices = turns(scene);
    expect(slices.length).toBeGreaterThan(15);
    expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE);
    expect(source.watched(fakeTypes.cluster)).toHaveLength(CLUSTERS);

    serveClusters();
    expect(source.watched(fakeTypes.endpoints)).toEqual([]);
    expect(Math.max(...turns(scene))).toBeLessThanOrEqual(SLICE);
    expect(source.watched(fakeTypes.endpoints)).toHaveLength(CLUSTERS);

    serveEndpoints();
    expect(updates).toHaveLength(0);
    turns(scene);
    expect(updates).toHaveLength(1);
    expect(updates[0]?.ok === true && updates[0].value.clusters.size).toBe(CLUSTERS);
  });

  /** All resources of all clusters have been received, but the config that follows from them is not published. */
  function setUpReceived() {
    const scene = setUp(CLUSTERS);
    scene.serveRoutes();
    turns(scene);
    scene.serveClusters();
    turns(scene);
    scene.serveEndpoints();
    return scene;
  }

  it('determines the config at once, publishes it in later turns, and applies changes after that', () => {
    const scene = setUpReceived();
    const { clock, manager, source, updates } = scene;
    expect(manager.cluster('c0')?.ok).toBe(true);
    source.serve(fakeTypes.endpoints, 'c0', endpoints('c0', '10.0.0.2'));
    expect(updates).toHaveLength(0);
    turns(scene);
    const sizes = updates.map((update) => update.ok && update.value.clusters.size);
    expect(sizes).toEqual([CLUSTERS, CLUSTERS]);
    const [first, second] = updates.map((update) => update.ok && update.value.clusters.get('c0'));
    expect(first).not.toBe(second);
    expect(clock.pendingTimers).toBe(0);
  });

  it('publishes nothing once it is closed', () => {
    const scene = setUpReceived();
    const { manager, updates } = scene;
    manager.close();
    turns(scene);
    expect(updates).toHaveLength(0);
  });

  it('releases the watches in slices once it is closed, whatever they report meanwhile', () => {
    const scene = setUpReceived();
    const { manager, serveRoutes, source, updates } = scene;
    turns(scene);
    const { length } = updates;
    const watches = source.watchCount;
    expect(watches).toBeGreaterThan(2 * CLUSTERS);
    let left: number | undefined;
    manager.close(() => (left = source.watchCount));
    expect(source.watchCount).toBe(watches);
    scene.clock.advance(1);
    serveRoutes();
    const slices = turns(scene);
    expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE);
    expect([left, source.watchCount, updates.length]).toEqual([0, 0, length]);
  });

  it('releases the watches of a small target at once when it is closed', () => {
    const scene = setUp(100);
    const { manager, serveClusters, serveEndpoints, serveRoutes, source } = scene;
    serveRoutes();
    serveClusters();
    serveEndpoints();
    let isReleased = false;
    manager.close(() => (isReleased = true));
    expect([isReleased, source.watchCount, scene.clock.pendingTimers]).toEqual([true, 0, 0]);
  });

  it('starts the watches of a small target at once', () => {
    const { clock, serveRoutes, serveClusters, serveEndpoints, updates } = setUp(100);
    serveRoutes();
    serveClusters();
    serveEndpoints();
    expect(updates).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('starts no more watches once it is closed', () => {
    const scene = setUp(CLUSTERS);
    scene.serveRoutes();
    scene.clock.advance(1);
    scene.manager.close();
    expect(scene.source.watchCount).toBe(0);
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('keeps the watches of its last config until new routes are complete', () => {
    const scene = setUp(CLUSTERS);
    const { source, updates } = scene;
    const serveOne = (name: string) => {
      const host = virtualHost([route(forwardTo(name))]);
      source.serve(fakeTypes.routeConfig, 'svc-routes', routeConfig('svc-routes', host));
    };
    serveOne('a');
    source.serve(fakeTypes.cluster, 'a', edsCluster('a'));
    source.serve(fakeTypes.endpoints, 'a', endpoints('a', '10.0.0.1'));
    scene.serveRoutes();
    scene.clock.advance(1);
    serveOne('a');
    turns(scene);
    expect(source.watched(fakeTypes.cluster)).toEqual(['a']);
    expect(updates.map(({ ok }) => ok)).toEqual([true, true]);
  });
});
