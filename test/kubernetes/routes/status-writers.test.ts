import { RouteStatusWriter } from '../../../packages/kubernetes/src/status/route-status-writer';
import { ServiceEvents } from '../../../packages/kubernetes/src/status/service-events';
import type { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import type { Logger } from '../../../src/util/logger';
import { valueAt } from '../../../src/util/value-at';
import { putManifests } from '../../support/kubernetes-manifests';
import { clusterOf } from './cluster';
import { grpcRoute, ruleTo, service } from './manifests';
import { SERVICES } from './routing-cases';
import { WrittenObjects } from './written-objects';
import { FakeClock } from '../../support/fake-clock';

const CONTROLLER = 'example.com/grpc-xds';
const HOUR_MS = 3_600_000;

/** What is written to one API server by replicas that share a clock. */
class World {
  readonly clock = new FakeClock();
  readonly api = new WrittenObjects();
  readonly lines: string[] = [];
  private seed = 0;
  readonly random = () => (this.seed = (this.seed + 0.377) % 1);
  readonly logger: Logger = {
    trace: () => {},
    info: (text) => this.lines.push(text()),
    error: (text) => this.lines.push(text()),
  };

  replica(controllerName = CONTROLLER): { writer: RouteStatusWriter; objects: StoredObjects } {
    const objects = clusterOf(SERVICES, this.clock);
    this.api.watch(objects);
    const { clock, api, random, logger } = this;
    const options = { api, objects, clock, random, logger, controllerName };
    const writer = new RouteStatusWriter(options);
    objects.watch(({ routes }) => writer.onChanged(routes));
    writer.onChanged(objects.routes.keys());
    return { writer, objects };
  }

  events(): ServiceEvents {
    const { clock, api, random, logger } = this;
    return new ServiceEvents({ api, clock, random, logger });
  }

  /** Passes time in steps of 10 ms, with an answer after each. */
  pass(ms: number): void {
    for (let i = 0; i < ms; i += 10) {
      this.clock.advance(10);
      this.api.answer();
    }
  }

  count(method: string): number {
    return this.api.requests.filter((request) => (request.method ?? 'GET') === method).length;
  }

  parents(name = 'r'): unknown {
    return valueAt(this.api.route('shop', name), 'status', 'parents');
  }
}

describe('the writer of the status of routes', () => {
  it('writes the conditions of a route once, whichever replica is first', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')]));
    for (let i = 0; i < 5; i++) world.replica();
    world.pass(10_000);
    expect(world.parents()).toMatchObject([
      { controllerName: CONTROLLER, conditions: [{ type: 'Accepted' }, { type: 'ResolvedRefs' }] },
    ]);
    expect(world.count('PATCH')).toBe(1);
  });

  it('writes again when a reference changes, and not when it changes back before', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('late')]));
    const { objects } = world.replica();
    objects.open();
    world.pass(10_000);
    const reasons = () => JSON.stringify(world.parents());
    expect(reasons()).toContain('BackendNotFound');
    putManifests(objects, service('late'));
    world.pass(10_000);
    expect(reasons()).not.toContain('BackendNotFound');
    expect(world.count('PATCH')).toBe(2);
    objects.delete('Service', 'shop/late');
    world.clock.advance(1);
    putManifests(objects, service('late'));
    world.pass(20_000);
    expect(world.count('PATCH')).toBe(2);
  });

  it('keeps what another controller writes between reading and writing', () => {
    const world = new World();
    const route = grpcRoute('r', [ruleTo('a')]);
    world.api.put(route);
    world.replica();
    while (world.count('GET') === 0) world.clock.advance(10);
    world.api.answer();
    expect(world.count('PATCH')).toBe(1);
    const theirs = { controllerName: 'them', parentRef: {}, conditions: [] };
    world.api.put({ ...route, status: { parents: [theirs] } });
    world.pass(10_000);
    expect(world.parents()).toMatchObject([theirs, { controllerName: CONTROLLER }]);
    expect(world.lines).toEqual([]);
  });

  it('writes nothing for a specification that the watch has not brought', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')]));
    const { objects } = world.replica();
    putManifests(objects, grpcRoute('r', [ruleTo('missing')], { generation: 2 }));
    world.pass(10_000);
    expect(world.count('GET')).toBe(1);
    expect(world.count('PATCH')).toBe(0);
  });

  it('attempts one write ever more seldom without the permission, with one line, and all once it has it', () => {
    const world = new World();
    for (const name of ['r', 's', 't']) world.api.put(grpcRoute(name, [ruleTo('a')]));
    world.api.refusals.set('PATCH', { status: 403, message: 'grpcroutes/status is forbidden' });
    const { writer, objects } = world.replica();
    world.pass(10_000);
    writer.onChanged(objects.routes.keys());
    world.pass(10_000);
    expect(world.count('PATCH')).toBe(1);
    expect(world.lines).toEqual([
      'kubernetes: writing the status of GRPCRoutes in namespace "shop" not permitted, and attempted again later: grpcroutes/status is forbidden. ' +
        'Unless the namespace is being deleted, the ClusterRole needs the verb "patch" for "grpcroutes/status" of "gateway.networking.k8s.io"',
    ]);
    world.pass(HOUR_MS);
    expect(world.count('PATCH')).toBeLessThan(12);
    world.api.refusals.clear();
    world.pass(HOUR_MS);
    expect(world.lines).toHaveLength(1);
    for (const name of ['r', 's', 't']) {
      expect(world.parents(name)).toMatchObject([{ controllerName: CONTROLLER }]);
    }
  });

  it('tries again with pauses that grow, and says when it works again', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')]));
    world.api.refusals.set('GET', { status: 500, message: 'etcd is away' });
    world.replica();
    world.pass(60_000);
    expect(world.count('GET')).toBeGreaterThan(3);
    expect(world.count('GET')).toBeLessThan(9);
    world.api.refusals.clear();
    world.pass(120_000);
    expect(world.parents()).toMatchObject([{ controllerName: CONTROLLER }]);
    expect(world.lines).toEqual([
      'kubernetes: writing the status of GRPCRoutes failed: etcd is away',
      'kubernetes: writing the status of GRPCRoutes works again',
    ]);
  });

  it('waits as long as the API server asks for', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')]));
    world.api.refusals.set('GET', { status: 429, retryAfterMs: 30_000 });
    world.replica();
    world.pass(25_000);
    expect(world.count('GET')).toBe(1);
    world.pass(10_000);
    expect(world.count('GET')).toBe(2);
  });

  it('writes ten routes a second at most', () => {
    const world = new World();
    for (let i = 0; i < 200; i++) world.api.put(grpcRoute(`r${i}`, [ruleTo('a')]));
    world.replica();
    world.pass(5000);
    expect(world.count('PATCH')).toBeGreaterThan(20);
    expect(world.count('PATCH')).toBeLessThanOrEqual(50);
  });

  it('fights ever more seldom with a control plane that has other conditions under its name', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('late')]));
    for (const hasService of [true, false]) {
      const { objects } = world.replica();
      if (hasService) putManifests(objects, service('late'));
      objects.open();
    }
    world.pass(HOUR_MS / 6);
    const first = world.count('PATCH');
    world.pass(HOUR_MS / 6);
    expect(first).toBeGreaterThan(4);
    expect(first).toBeLessThan(24);
    expect(world.count('PATCH') - first).toBeLessThan(8);
  });

  it('leaves routes of Gateways alone', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')], { parents: [{ name: 'gateway' }] }));
    world.replica();
    world.pass(10_000);
    expect(world.api.requests).toEqual([]);
  });

  it('writes nothing after it is closed, also of what it has begun', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')]));
    const { writer, objects } = world.replica();
    while (world.count('GET') === 0) world.clock.advance(10);
    writer.close();
    writer.close();
    writer.onChanged(objects.routes.keys());
    world.pass(10_000);
    expect(world.count('PATCH')).toBe(0);
    expect(world.clock.pendingTimers).toBe(0);
  });

  it('forgets a route that is deleted while it is written', () => {
    const world = new World();
    world.api.put(grpcRoute('r', [ruleTo('a')]));
    const { objects } = world.replica();
    objects.open();
    while (world.count('GET') === 0) world.clock.advance(10);
    objects.delete('GRPCRoute', 'shop/r');
    world.pass(10_000);
    expect(world.count('PATCH')).toBe(0);
    expect(world.lines).toEqual([]);
  });
});

describe('events on Services', () => {
  const [front] = clusterOf(SERVICES).services.values();
  if (front === undefined) throw new Error('no Service');
  const problem = { reason: 'InvalidAnnotation', message: 'grpc-xds/lb-policy: "x" is no policy' };

  it('are written once for each problem, whichever replica is first', () => {
    const world = new World();
    for (let i = 0; i < 3; i++) world.events().report(front, [problem]);
    world.pass(10_000);
    expect([...world.api.events.values()]).toMatchObject([
      {
        involvedObject: { kind: 'Service', name: 'front', uid: 'uid-shop-front' },
        type: 'Warning',
        ...problem,
        source: { component: 'grpc-xds' },
      },
    ]);
    expect(world.lines).toEqual([]);
  });

  it('are not repeated while a problem is reported again, but after the time that events are kept', () => {
    const world = new World();
    const events = world.events();
    for (let i = 0; i < 10; i++) {
      events.report(front, [problem]);
      world.pass(5000);
    }
    expect(world.count('POST')).toBe(1);
    world.clock.advance(HOUR_MS * 1.2);
    world.pass(10_000);
    expect(world.count('POST')).toBe(2);
  });

  it('end with the problem, and with the Service', () => {
    const world = new World();
    const events = world.events();
    events.report(front, [problem]);
    events.report(front, []);
    events.report(front, [{ ...problem, message: 'another' }]);
    events.remove('shop/front');
    world.pass(10_000);
    expect(world.api.requests).toEqual([]);
    world.clock.advance(HOUR_MS * 1.2);
    expect(world.clock.pendingTimers).toBe(0);
  });

  it('are twenty for a Service at most', () => {
    const world = new World();
    const problems = Array.from({ length: 99 }, (_, i) => ({ ...problem, message: String(i) }));
    world.events().report(front, problems);
    world.pass(30_000);
    expect(world.api.events.size).toBe(20);
  });

  it('are attempted ever more seldom without the permission', () => {
    const world = new World();
    world.api.refusals.set('POST', { status: 403, message: 'events is forbidden' });
    const events = world.events();
    events.report(front, [problem]);
    world.pass(10_000);
    events.report(front, [problem, { ...problem, message: 'another' }]);
    world.pass(10_000);
    expect(world.count('POST')).toBe(1);
    expect(world.lines).toHaveLength(1);
    events.report(front, []);
    world.pass(HOUR_MS);
    expect(world.count('POST')).toBe(1);
  });

  it('are written in other namespaces while one is being deleted', () => {
    const world = new World();
    const events = world.events();
    const other = { ...front, meta: { ...front.meta, namespace: 'leaving', uid: 'uid-2' } };
    world.api.refusals.set('POST leaving', { status: 403, message: 'it is being terminated' });
    events.report(other, [problem]);
    world.pass(10_000);
    events.report(front, [problem]);
    world.pass(10_000);
    expect(world.api.events.size).toBe(1);
  });
});
