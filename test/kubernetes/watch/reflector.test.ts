import { refused, unanswered, unreadable } from '../../../packages/kubernetes/src/api/api-failure';
import { Reflector } from '../../../packages/kubernetes/src/api/reflector';
import {
  WATCHED_RESOURCES,
  type WatchedKind,
} from '../../../packages/kubernetes/src/api/watched-kinds';
import { keyOf } from '../../../packages/kubernetes/src/object-key';
import { TimeSlices } from '../../../src/util/time-slices';
import { FakeClock } from '../../support/fake-clock';
import { FakeKubernetesApi, type FakeWatch } from '../../support/fake-kubernetes-api';
import { nodeJson, routeJson, serviceJson, sliceJson } from '../../support/kubernetes-objects';

/** A reflector over an API server whose answers the test gives, and what has come of it. */
function createWorld(kind: WatchedKind, known: readonly string[] = []) {
  const resource = WATCHED_RESOURCES.find((each) => each.kind === kind);
  if (resource === undefined) throw new Error(kind);
  const clock = new FakeClock();
  const api = new FakeKubernetesApi();
  const seen: string[] = [];
  const reflector = new Reflector({
    api,
    resource,
    known,
    clock,
    random: () => 0.5,
    timeSlices: new TimeSlices(clock),
    listener: {
      onObject: ({ meta }) => void seen.push(`put ${keyOf(meta)}@${meta.resourceVersion}`),
      onDeleted: (key) => void seen.push(`delete ${key}`),
      onListed: () => void seen.push('listed'),
      onUnreadable: ({ key, violations }) =>
        void seen.push(`unreadable ${key ?? '?'}: ${violations.join('; ')}`),
      onFailure: (cause, { message }) => void seen.push(`${cause}: ${message}`),
      onWorking: () => {},
    },
  });
  reflector.start();
  const take = () => seen.splice(0);
  /** Lets the steps of a page run. */
  const settle = () => clock.advance(10);
  return { api, clock, reflector, take, settle };
}

/** A world whose list is complete at version 10. */
function createWatching(items: readonly unknown[] = []) {
  const world = createWorld('Service');
  world.api.onlyCall().list('10', items);
  world.settle();
  world.take();
  return world;
}

it('lists in pages, and watches from the version of the list', () => {
  const { api, take, settle } = createWorld('EndpointSlice');
  expect(api.onlyCall().request).toEqual({
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    accept: 'application/json',
    query: { labelSelector: 'kubernetes.io/service-name', limit: '500' },
  });
  api.onlyCall().list('10', [sliceJson('a', 'web', ['10.0.0.1'])], 'next');
  settle();
  expect(take()).toEqual(['put shop/a@1']);
  expect(api.onlyCall().request.query).toMatchObject({ continue: 'next' });
  api.onlyCall().list('10', [sliceJson('b', 'web', ['10.0.0.2'])]);
  settle();
  expect(take()).toEqual(['put shop/b@1', 'listed']);
  expect(api.onlyWatch().request.query).toMatchObject({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: '10',
    labelSelector: 'kubernetes.io/service-name',
    timeoutSeconds: '450',
  });
});

it('requests only the metadata of nodes', () => {
  const { api, take, settle } = createWorld('Node');
  expect(api.onlyCall().request.accept).toContain('as=PartialObjectMetadataList;');
  api.onlyCall().list('10', [nodeJson('n1', 'z1')]);
  settle();
  expect(take()).toEqual(['put n1@1', 'listed']);
  expect(api.onlyWatch().request.accept).toContain('as=PartialObjectMetadata;');
});

it('applies events, and continues at the last version when a watch ends by design', () => {
  const { api, clock, take } = createWatching([serviceJson('a')]);
  const watch = api.onlyWatch();
  watch.send('ADDED', serviceJson('b', { version: 11 }));
  watch.send('MODIFIED', serviceJson('a', { version: 12 }));
  watch.send('DELETED', serviceJson('b', { version: 13 }));
  watch.bookmark('20');
  expect(take()).toEqual(['put shop/b@11', 'put shop/a@12', 'delete shop/b']);
  clock.advance(400_000);
  watch.end();
  clock.advance(0);
  expect(api.onlyWatch().request.query).toMatchObject({ resourceVersion: '20' });
  expect(take()).toEqual([]);
});

it('compares a new list with what is known, so that nothing dips', () => {
  const { api, clock, take, settle } = createWatching([serviceJson('a'), serviceJson('b')]);
  api.onlyWatch().send('ERROR', { code: 410, reason: 'Expired', message: 'too old' });
  clock.advance(0);
  api.onlyCall().list('50', [serviceJson('a')], 'next');
  settle();
  expect(take()).toEqual(['put shop/a@1']);
  api.onlyCall().list('50', [serviceJson('c', { version: 40 })]);
  settle();
  expect(take()).toEqual(['put shop/c@40', 'delete shop/b', 'listed']);
  expect(api.onlyWatch().request.query).toMatchObject({ resourceVersion: '50' });
});

it.each([
  ['an HTTP status', refused(410, {}, undefined)],
  ['a version newer than all', refused(504, tooLarge(), undefined)],
  ['a refusal that would be the same again', refused(400, { message: 'bad version' }, undefined)],
  ['content that is no JSON', unreadable('garbage')],
])('lists again after %s', (_, failure) => {
  const { api, clock } = createWatching();
  api.onlyWatch().end(failure);
  clock.advance(1200);
  expect(api.watches()).toEqual([]);
  expect(api.calls()).toHaveLength(1);
});

function tooLarge(): object {
  return { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } };
}

it('does not list without a pause when each watch is refused as too old', () => {
  const { api, clock, settle } = createWatching();
  let lists = 0;
  for (let ms = 0; ms < 60_000; ms += 100) {
    for (const watch of api.watches()) watch.end(refused(410, {}, undefined));
    clock.advance(100);
    for (const call of api.calls()) {
      lists++;
      call.list('10', []);
    }
    settle();
  }
  expect(lists).toBeGreaterThan(3);
  expect(lists).toBeLessThan(9);
});

it('begins again without pages when the place in a list has become too old', () => {
  const { api, clock, take, settle } = createWorld('Service', ['shop/a']);
  api.onlyCall().list('10', [serviceJson('a')], 'next');
  settle();
  api.onlyCall().refuse(410);
  clock.advance(2000);
  expect(api.onlyCall().request.query).toEqual({});
  api.onlyCall().list('12', [serviceJson('a')]);
  settle();
  expect(take()).toEqual(['put shop/a@1', 'put shop/a@1', 'listed']);
});

it('ignores an event that it has received before', () => {
  const { api, take } = createWatching([serviceJson('a', { version: 9 })]);
  const watch = api.onlyWatch();
  watch.send('MODIFIED', serviceJson('a', { version: 12 }));
  take();
  watch.send('MODIFIED', serviceJson('a', { version: 12 }));
  watch.send('MODIFIED', serviceJson('a', { version: 11 }));
  watch.send('DELETED', serviceJson('a', { version: 10 }));
  watch.send('DELETED', serviceJson('b', { version: 13 }));
  expect(take()).toEqual([]);
});

it('lists again rather than revive what an event out of order may have deleted', () => {
  const { api, clock, take } = createWatching([serviceJson('a', { version: 9 })]);
  const watch = api.onlyWatch();
  watch.send('DELETED', serviceJson('a', { version: 12 }));
  watch.send('MODIFIED', serviceJson('a', { version: 11 }));
  expect(take()).toEqual(['delete shop/a', 'failed: events are out of order']);
  clock.advance(2000);
  expect(api.calls()).toHaveLength(1);
});

it.each([
  ['has no type', {}],
  ['is a list', []],
  ['has no object', { type: 'ADDED' }],
  ['has an unknown type', { type: 'GROWN', object: serviceJson('x', { version: 12 }) }],
  ['has no name', { type: 'ADDED', object: { metadata: { resourceVersion: '12' } } }],
])('lists again after an event that %s', (_, event) => {
  const { api, clock } = createWatching();
  const watch = api.onlyWatch();
  watch.listener.onEvent(event);
  expect(watch.isReleased).toBe(true);
  clock.advance(2000);
  expect(api.calls()).toHaveLength(1);
});

it('keeps what it knows of an object that cannot be read, until it is deleted', () => {
  const { api, take, settle, clock } = createWatching([serviceJson('a')]);
  const watch = api.onlyWatch();
  watch.send('MODIFIED', serviceJson('a', { version: 12 }, { ports: [{ port: 'x' }] }));
  expect(take()).toEqual([
    'unreadable shop/a: spec.ports[0].port: must be a whole number from 1 to 65535',
  ]);
  watch.end(refused(410, {}, undefined));
  clock.advance(0);
  api.onlyCall().list('20', [serviceJson('a', { version: 12 }, { type: 'None' })]);
  settle();
  expect(take()).toEqual([
    'unreadable shop/a: spec.type: "None" is none of ClusterIP, NodePort, LoadBalancer, ExternalName',
    'listed',
  ]);
  api.onlyWatch().send('DELETED', serviceJson('a', { version: 21 }));
  expect(take()).toEqual(['delete shop/a']);
});

it('lists again when the API server has gone back, as after a restore of etcd', () => {
  const { api, clock, take, settle } = createWatching([serviceJson('a', { version: 9 })]);
  const watch = api.onlyWatch();
  watch.send('MODIFIED', serviceJson('a', { version: 90 }));
  take();
  watch.bookmark('30');
  expect(take()).toEqual(['failed: the API server has gone back to an earlier resource version']);
  clock.advance(2000);
  api.onlyCall().list('31', [serviceJson('a', { version: 20 })]);
  settle();
  expect(take()).toEqual(['put shop/a@20', 'listed']);
  api.onlyWatch().send('MODIFIED', serviceJson('a', { version: 32 }));
  expect(take()).toEqual(['put shop/a@32']);
});

it('finds that the API server has gone back when a watch is continued after a failure', () => {
  const { api, clock, take, settle } = createWatching([serviceJson('a', { version: 9 })]);
  api.onlyWatch().send('MODIFIED', serviceJson('a', { version: 90 }));
  const restart = () => {
    clock.advance(10_000);
    api.onlyWatch().end(unanswered('read ECONNRESET'));
    clock.advance(2000);
    expect(api.onlyCall().request.query).toEqual({ limit: '1' });
  };
  restart();
  api.onlyWatch().send('MODIFIED', serviceJson('a', { version: 95 }));
  // Read before that event.
  api.onlyCall().list('94', []);
  expect(api.onlyWatch().request.query).toMatchObject({ resourceVersion: '90' });
  restart();
  take();
  api.onlyCall().list('30', []);
  clock.advance(2000);
  api.onlyCall().list('31', [serviceJson('a', { version: 20 })]);
  settle();
  expect(take()).toEqual([
    'failed: the API server has gone back to an earlier resource version',
    'put shop/a@20',
    'listed',
  ]);
});

it.each([
  [
    'event',
    (watch: FakeWatch, version: number) => watch.send('ADDED', serviceJson('a', { version })),
  ],
  ['bookmark', (watch: FakeWatch, version: number) => watch.bookmark(String(version))],
])('backs off from watches that end soon, each after one %s', (_, send) => {
  const { api, clock } = createWatching();
  let count = 0;
  for (let ms = 0; ms < 60_000; ms += 100) {
    for (const watch of api.watches()) {
      send(watch, 11 + count++);
      watch.end();
    }
    clock.advance(100);
  }
  expect(count).toBeLessThan(10);
});

it('gives up a list without end, and requests it again with backoff', () => {
  const { api, clock, take, settle } = createWorld('Service');
  for (let page = 0; page < 1000; page++) {
    api.onlyCall().list('10', [serviceJson(`s${page}`)], 'next');
    settle();
  }
  expect(api.calls()).toEqual([]);
  expect(take().at(-1)).toBe('failed: the list has more than 1000 pages');
  clock.advance(2000);
  expect(api.onlyCall().request.query).toEqual({ limit: '500' });
});

it('reads 100,000 objects of a kind, and no further ones', () => {
  const names = Array.from({ length: 100_000 }, (_, i) => `shop/s${i}`);
  const { api, settle, take } = createWorld('Service', names);
  api.onlyCall().list('10', [serviceJson('late'), serviceJson('s0')], 'next');
  settle();
  expect(take()).toEqual([
    'unreadable ?: there are 100000 objects of this kind already',
    'put shop/s0@1',
  ]);
  api.onlyCall().list('10', []);
  settle();
  api.onlyWatch().send('ADDED', serviceJson('late', { version: 11 }));
  expect(take().at(-1)).toBe('put shop/late@11');
});

type Failure = (call: ReturnType<FakeKubernetesApi['onlyCall']>) => void;

/** The delays after failures of one list after the other. */
function delaysAfter(
  { api, clock }: ReturnType<typeof createWorld>,
  failures: readonly Failure[],
): readonly number[] {
  return failures.map((fail) => {
    fail(api.onlyCall());
    const startMs = clock.monotonicMs();
    while (api.calls().length === 0) clock.advance(100);
    return clock.monotonicMs() - startMs;
  });
}

it('waits longer after each answer that is a failure, from 1 s to 30 s', () => {
  const delays = delaysAfter(
    createWorld('Service'),
    Array.from({ length: 8 }, () => (call) => call.refuse(503, {})),
  );
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

it('waits for at most 5 s while there is no answer, and then for as long as answers that fail require', () => {
  const away = Array.from({ length: 5 }, (): Failure => (call) => call.break());
  const failing = Array.from({ length: 5 }, (): Failure => (call) => call.refuse(503, {}));
  const world = createWorld('Service');
  expect(delaysAfter(world, away)).toEqual([1000, 2000, 4000, 5000, 5000]);
  expect(delaysAfter(world, failing)).toEqual([1000, 2000, 4000, 8000, 16_000]);
  // A balancer may lead to an API server that is away and to one that fails.
  expect(delaysAfter(world, [...away.slice(0, 1), ...failing.slice(0, 1)])).toEqual([5000, 30_000]);
});

it('continues at once when a watch that has lasted breaks, and backs off when the next one does', () => {
  const { api, clock } = createWatching();
  clock.advance(10_000);
  api.onlyWatch().end(unanswered('read ECONNRESET'));
  clock.advance(0);
  api.onlyWatch().end(unanswered('connect ECONNREFUSED'));
  clock.advance(900);
  expect(api.watches()).toEqual([]);
  clock.advance(100);
  expect(api.onlyWatch().request.query).toMatchObject({ resourceVersion: '10' });
});

it('waits for as long as the API server says', () => {
  const { api, clock } = createWorld('Service');
  api.onlyCall().refuse(429, { details: { retryAfterSeconds: 7 } });
  clock.advance(6900);
  expect(api.calls()).toEqual([]);
  clock.advance(1000);
  api.onlyCall().refuse(503, {}, '12');
  clock.advance(11_900);
  expect(api.calls()).toEqual([]);
  clock.advance(2000);
  expect(api.calls()).toHaveLength(1);
});

it('requests as often as the API server says, also if it starts for long, but not without a pause', () => {
  const { api, clock } = createWorld('Service');
  let lists = 0;
  for (let ms = 0; ms < 30_000; ms += 100) {
    for (const call of api.calls()) {
      lists++;
      call.refuse(429, {}, '0');
    }
    clock.advance(100);
  }
  expect(lists).toBe(28);
});

it('waits for a kind that is not installed, and finds it when it is', () => {
  const { api, clock, take, settle } = createWorld('GRPCRoute');
  api.onlyCall().refuse(404, { message: 'not found' });
  expect(take()).toEqual(['missing: HTTP status 404: not found', 'listed']);
  clock.advance(35_000);
  api.onlyCall().list('10', []);
  settle();
  expect(take()).toEqual(['listed']);
  expect(api.watches()).toHaveLength(1);
});

it('believes that a kind is not installed any more after 30 s, in which it looks more often', () => {
  const { api, clock, take } = createWorld('GRPCRoute', ['shop/a']);
  let lists = 0;
  for (let ms = 0; ms < 30_000; ms += 500) {
    for (const call of api.calls()) {
      lists++;
      call.refuse(404);
    }
    clock.advance(500);
  }
  expect([lists, take()]).toEqual([5, []]);
  clock.advance(10_000);
  api.onlyCall().refuse(404);
  expect(take()).toEqual(['delete shop/a']);
  clock.advance(40_000);
  api.onlyCall().refuse(404);
  expect(take()).toEqual(['missing: HTTP status 404: no message', 'listed']);
});

it('continues soon when an API server that has just started does not know a kind yet', () => {
  const { api, clock, take, settle } = createWorld('GRPCRoute');
  api.onlyCall().list('10', [routeJson('r', 'a', ['b'])]);
  settle();
  take();
  api.onlyWatch().end(refused(404, {}, undefined));
  clock.advance(1000);
  api.onlyCall().list('10', [routeJson('r', 'a', ['b'])]);
  settle();
  expect(take()).toEqual(['put shop/r@1', 'listed']);
});

it('does not take a service kind that is not found as one without objects', () => {
  const { api, take } = createWorld('Service', ['shop/a']);
  api.onlyCall().refuse(404, { message: 'a proxy' });
  expect(take()).toEqual(['failed: HTTP status 404: a proxy']);
});

it('requests again after 403 and 401', () => {
  const { api, clock, take } = createWorld('Service');
  api.onlyCall().refuse(403, { message: 'no list' });
  clock.advance(1000);
  api.onlyCall().refuse(401, { message: 'Unauthorized' });
  clock.advance(2000);
  expect(api.calls()).toHaveLength(1);
  expect(take()).toEqual([
    'forbidden: HTTP status 403: no list',
    'unauthorized: HTTP status 401: Unauthorized',
  ]);
});

it('leaves nothing behind when it is stopped', () => {
  for (const stopAt of ['listing', 'reading', 'watching', 'waiting'] as const) {
    const { api, clock, reflector, settle } = createWorld('Service');
    if (stopAt !== 'listing') api.onlyCall().list('10', [serviceJson('a')]);
    if (stopAt === 'watching' || stopAt === 'waiting') settle();
    if (stopAt === 'waiting') api.onlyWatch().end(unanswered('x'));
    reflector.stop();
    expect([api.calls(), api.watches(), clock.pendingTimers]).toEqual([[], [], 0]);
  }
});
