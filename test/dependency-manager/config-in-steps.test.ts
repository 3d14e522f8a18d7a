import { ClusterWatchers } from '../../src/dependency-manager/cluster-watchers';
import { ConfigStore } from '../../src/dependency-manager/config-store';
import { countWork } from '../support/count-work';
import { value } from '../support/config-world';
import {
  edsCluster,
  endpoints,
  listener,
  routeConfig,
  virtualHostTo,
} from '../support/xds-builders';

/** A target with as many clusters, all of which have been received. */
function storeOf(size: number): ConfigStore {
  const names = Array.from({ length: size }, (_, i) => `c${i}`);
  const clusters = new Map(names.map((name) => [name, value(edsCluster(name))]));
  const assignments = new Map(names.map((name) => [name, value(endpoints(name, '127.0.0.1'))]));
  const root = value(listener('svc'));
  const host = virtualHostTo(names.map((name) => [name, 1] as const));
  const routes = value(routeConfig('svc-routes', host));
  return new ConfigStore({
    ...{ listenerName: 'svc', host: 'svc', clientNote: 'node', maxClusters: size },
    subscribed: () => [],
    nowMs: () => 0,
    observed: {
      listener: () => root,
      routeConfig: () => routes,
      cluster: (name) => clusters.get(name),
      endpoints: (name) => assignments.get(name),
      dns: () => undefined,
    },
  });
}

/** The work of each step of the next update. */
function workOfSteps(store: ConfigStore): readonly number[] {
  const steps = store.updateInSteps();
  const work: number[] = [];
  for (let isDone = false; !isDone;) {
    work.push(
      countWork(() => {
        isDone = steps.next().done === true;
      }),
    );
  }
  return work;
}

describe('the config of a target with thousands of clusters', () => {
  it.each<[string, (store: ConfigStore) => void]>([
    ['all are new', () => {}],
    [
      'all have changed',
      (store) => {
        store.update();
        for (let i = 0; i < 4000; i++) store.mark('endpoints', `c${i}`);
      },
    ],
  ])('is computed in steps of bounded work when %s', (_, prepare) => {
    const [small, large] = [2000, 4000].map((size) => {
      const store = storeOf(size);
      prepare(store);
      return workOfSteps(store);
    });
    const total = (work: readonly number[] = []) => work.reduce((sum, each) => sum + each, 0);
    expect(total(large) / total(small)).toBeLessThan(2.5);
    expect(large?.length).toBeGreaterThan(4000 / 256);
    expect(Math.max(...(large ?? [])) / Math.max(...(small ?? []))).toBeLessThan(2.5);
  });

  it('is the previous one until the last step', () => {
    const store = storeOf(2000);
    const steps = store.updateInSteps();
    while (steps.next().done !== true) expect(store.config).toBeUndefined();
    expect(store.config?.clusters.size).toBe(2000);
  });
});

describe('ClusterWatchers', () => {
  it('calls many watchers in steps, and each once', () => {
    const watchers = new ClusterWatchers();
    const called: string[] = [];
    const names = Array.from({ length: 100 }, (_, i) => `c${i}`);
    const batch = { run: (task: () => void) => task() };
    for (const name of names) {
      watchers.add(name, { batch, onClusterChanged: () => called.push(name) });
    }
    const steps = watchers.notify(new Set(names));
    const counts: number[] = [];
    for (let isDone = false; !isDone;) {
      isDone = steps.next().done === true;
      counts.push(called.length);
    }
    expect(counts).toEqual([32, 64, 96, 100]);
    expect(called).toEqual(names);
  });
});
