import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unanswered } from '../../../packages/kubernetes/src/api/api-failure';
import { ClusterWatch, type NamespaceChoice } from '../../../packages/kubernetes/src/cluster-watch';
import { StoredObjects } from '../../../packages/kubernetes/src/stored-objects';
import { TimeSlices } from '../../../src/util/time-slices';
import { eventually } from '../../support/eventually';
import { FakeClock } from '../../support/fake-clock';
import { FakeKubernetesApi } from '../../support/fake-kubernetes-api';
import { routeJson, serviceJson, sliceJson } from '../../support/kubernetes-objects';

const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-kubernetes-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface WorldOptions {
  readonly namespaces?: NamespaceChoice;
  readonly hasRoutes?: boolean;
  readonly savedPath?: string;
}

function createWorld({
  namespaces = { kind: 'all' },
  hasRoutes = false,
  savedPath,
}: WorldOptions = {}) {
  const clock = new FakeClock();
  const api = new FakeKubernetesApi();
  const store = new StoredObjects(clock);
  const lines: string[] = [];
  const changes: string[][] = [];
  const write = (text: () => string) => void lines.push(text());
  const watch = new ClusterWatch({
    api,
    store,
    namespaces,
    hasRoutes,
    savedPath,
    clock,
    random: () => 0.5,
    logger: { trace() {}, info: write, error: write },
    timeSlices: new TimeSlices(clock),
  });
  store.watch(({ services }) => void changes.push([...services].sort()));
  watch.start();
  const answerAll = (version: string, lists: Readonly<Record<string, readonly unknown[]>> = {}) => {
    for (const call of api.calls()) {
      const resource = call.request.path.split('/').at(-1) ?? '';
      call.list(version, lists[resource] ?? []);
    }
    clock.advance(20);
  };
  const take = () => lines.splice(0);
  const takeChanges = () => changes.splice(0);
  return { api, clock, store, watch, answerAll, take, takeChanges };
}

const shop = {
  services: [serviceJson('web')],
  endpointslices: [sliceJson('web-1', 'web', ['10.0.0.1'])],
};

it('opens the store when every kind has been listed, and reports all of it at once', () => {
  const { api, clock, store, watch, answerAll, takeChanges } = createWorld();
  api.onlyCall('services').list('10', shop.services);
  clock.advance(20);
  expect([store.isOpen, watch.isListed, takeChanges()]).toEqual([false, false, []]);
  answerAll('10', shop);
  expect([store.isOpen, watch.isListed, takeChanges()]).toEqual([true, true, [['shop/web']]]);
  expect(store.slicesOf('shop/web')).toHaveLength(1);
});

it('says at once that a start waits, and when it goes on', () => {
  const { api, clock, answerAll, take } = createWorld();
  for (const call of api.calls()) call.break('connect ECONNREFUSED 10.0.0.1:443');
  expect(take()).toEqual([
    'kubernetes: https://api.test:6443 cannot be watched (services): no client is served until it can: connect ECONNREFUSED 10.0.0.1:443; check that the API server runs and that this process can reach it',
  ]);
  clock.advance(60_000);
  expect(take()).toEqual([]);
  answerAll('10', shop);
  answerAll('10', shop);
  expect(take()).toEqual([
    expect.stringMatching(/^kubernetes: https:\/\/api.test:6443 is watched again, after 60\.\d s$/),
  ]);
});

it('serves on while the API server is away, says so after 30 s, and goes on with all watches when one works', () => {
  const { api, clock, store, watch, answerAll, take, takeChanges } = createWorld();
  answerAll('10', shop);
  take();
  takeChanges();
  clock.advance(100_000);
  const breakAll = () => {
    for (const open of api.watches()) open.end(unanswered('connect ECONNREFUSED'));
  };
  for (let ms = 0; ms < 29_000; ms += 500) {
    breakAll();
    clock.advance(500);
  }
  expect(take()).toEqual([]);
  for (let ms = 0; ms < 41_000; ms += 500) {
    breakAll();
    clock.advance(500);
  }
  expect(take()).toEqual([
    'kubernetes: https://api.test:6443 cannot be watched (services, endpointslices.discovery.k8s.io, nodes), for 30.0 s since 2023-11-14T22:15:00.020Z; what was known then is served on: connect ECONNREFUSED; check that the API server runs and that this process can reach it',
  ]);
  breakAll();
  expect(watch.failingSinceMs).toBe(100_020);
  while (api.watches().length === 0) clock.advance(100);
  api.watches()[0]?.listener.onOpen();
  expect(api.watches()).toHaveLength(3);
  for (const open of api.watches()) open.listener.onOpen();
  expect(take()).toEqual([
    expect.stringMatching(
      /^kubernetes: https:\/\/api.test:6443 is watched again, after \d\d\.\d s$/,
    ),
  ]);
  expect([watch.failingSinceMs, takeChanges(), store.services.size]).toEqual([undefined, [], 1]);
});

it('names the rule that a role lacks, once', () => {
  const { api, clock, take } = createWorld({ namespaces: { kind: 'named', names: ['shop'] } });
  for (let i = 0; i < 3; i++) {
    api.onlyCall('endpointslices').refuse(403, { message: 'no' });
    clock.advance(40_000);
  }
  expect(take()).toEqual([
    'kubernetes: this process may not list and watch endpointslices.discovery.k8s.io in shop: add the rule {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get", "list", "watch"]} to its Role in the namespace shop: HTTP status 403: no',
  ]);
  api.onlyCall('endpointslices').list('10', []);
  clock.advance(20);
  expect(take()).toEqual([
    'kubernetes: endpointslices.discovery.k8s.io in shop can be listed and watched now',
  ]);
});

it('serves without nodes if a role lacks them, and nothing without services', () => {
  const { api, clock, watch, answerAll, take } = createWorld();
  api.onlyCall('nodes').refuse(403, { message: 'no' });
  api.onlyCall('services').refuse(403, { message: 'no' });
  answerAll('10', shop);
  expect(watch.isListed).toBe(false);
  expect(take()[0]).toContain(
    'to its ClusterRole; the regions of endpoints are not known until then: HTTP status 403: no',
  );
  while (api.calls('services').length === 0) clock.advance(100);
  api.onlyCall('services').list('10', []);
  clock.advance(20);
  expect(watch.isListed).toBe(true);
});

it('says once that Gateway API is not installed, whatever fails in between, and when it is', () => {
  const { api, clock, watch, answerAll, take } = createWorld({ hasRoutes: true });
  api.onlyCall('grpcroutes').refuse(404);
  api.onlyCall('referencegrants').refuse(404);
  answerAll('10', shop);
  expect(watch.isListed).toBe(true);
  expect(take()).toHaveLength(2);
  clock.advance(40_000);
  for (const name of ['grpcroutes', 'referencegrants']) api.onlyCall(name).break();
  clock.advance(2000);
  for (const name of ['grpcroutes', 'referencegrants']) api.onlyCall(name).refuse(404);
  clock.advance(40_000);
  expect(take()).toEqual([]);
  answerAll('10');
  expect(take()).toEqual([
    'kubernetes: grpcroutes.gateway.networking.k8s.io are installed now',
    'kubernetes: referencegrants.gateway.networking.k8s.io are installed now',
  ]);
});

it('logs an object that cannot be read once for each cause', () => {
  const { api, answerAll, take } = createWorld();
  answerAll('10', shop);
  const watch = api.onlyWatch('services');
  const send = (version: number, port: unknown) =>
    watch.send('MODIFIED', serviceJson('web', { version }, { ports: [{ port }] }));
  send(11, 'x');
  send(12, 'x');
  send(13, 0);
  expect(take()).toEqual([
    expect.stringContaining(
      'kubernetes: Service shop/web is not read, and what was received of it before stays in use: spec.ports[0].port: must be',
    ),
  ]);
  send(14, 80);
  send(15, 'x');
  expect(take()).toHaveLength(1);
});

it('reads the objects of some namespaces by a watch for each', () => {
  const { api } = createWorld({ namespaces: { kind: 'named', names: ['a', 'b', 'a'] } });
  expect(api.calls().map(({ request }) => request.path)).toEqual([
    '/api/v1/namespaces/a/services',
    '/api/v1/namespaces/b/services',
    '/apis/discovery.k8s.io/v1/namespaces/a/endpointslices',
    '/apis/discovery.k8s.io/v1/namespaces/b/endpointslices',
    '/api/v1/nodes',
  ]);
});

it('says once that a namespace does not exist, and when it does, and requests none that has Services', () => {
  const { api, clock, answerAll, take } = createWorld({
    namespaces: { kind: 'named', names: ['shop', 'typo', 'hidden'] },
  });
  for (const call of api.calls('services')) {
    call.list('10', call.request.path.includes('/shop/') ? shop.services : []);
  }
  answerAll('10');
  const requested = () => api.calls().map(({ request }) => request.path);
  for (let i = 0; i < 2; i++) {
    expect(requested()).toEqual(['/api/v1/namespaces/typo', '/api/v1/namespaces/hidden']);
    api.onlyCall('typo').refuse(404);
    api.onlyCall('hidden').refuse(403, { message: 'no' });
    clock.advance(30_000);
  }
  expect(take()).toEqual([
    'kubernetes: the namespace "typo" does not exist, and nothing is served of it until it does: check its name',
    'kubernetes: the namespace "hidden" has no Services, and it is not known whether it exists: check its name, or add the rule {apiGroups: [""], resources: ["namespaces"], verbs: ["get"]} to the role: HTTP status 403: no',
  ]);
  api.onlyCall('typo').break();
  clock.advance(30_000);
  const created = serviceJson('web', { namespace: 'typo', version: 11 });
  const watches = api.watches('services');
  watches.find(({ request }) => request.path.includes('/typo/'))?.send('ADDED', created);
  clock.advance(30_000);
  expect(take()).toEqual(['kubernetes: the namespace "typo" exists now']);
  expect(requested()).toEqual(['/api/v1/namespaces/hidden']);
});

it('reads the objects of namespaces by their labels, also of one that is labeled later', () => {
  const namespace = (name: string, version = 1) => ({
    metadata: { name, resourceVersion: String(version) },
  });
  const { api, clock, store, answerAll, takeChanges } = createWorld({
    namespaces: { kind: 'labeled', selector: 'xds=yes' },
  });
  expect(api.onlyCall('namespaces').request.query).toMatchObject({ labelSelector: 'xds=yes' });
  const services = [serviceJson('web'), serviceJson('web', { namespace: 'lab' })];
  answerAll('10', { services, namespaces: [namespace('shop')] });
  expect([...store.services.keys()]).toEqual(['shop/web']);
  takeChanges();
  api.onlyWatch('namespaces').send('ADDED', namespace('lab', 11));
  api.onlyWatch('namespaces').send('DELETED', namespace('shop', 12));
  clock.advance(2);
  expect(takeChanges()).toEqual([['lab/web', 'shop/web']]);
  expect([...store.services.keys()]).toEqual(['lab/web']);
  api.onlyWatch('services').send('DELETED', serviceJson('web', { version: 13 }));
  api.onlyWatch('namespaces').send('ADDED', namespace('shop', 14));
  expect([...store.services.keys()]).toEqual(['lab/web']);
});

describe('the saved file', () => {
  const path = join(folder, 'saved');
  async function save() {
    const { clock, answerAll } = createWorld({ savedPath: path });
    answerAll('10', shop);
    // Soon after the start: a process that is ended before would leave none.
    clock.advance(1000);
    // The file is written by the real file system.
    await eventually(
      () => {
        clock.advance(10);
        return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      },
      (size) => size > 0,
    );
  }

  beforeEach(async () => {
    rmSync(path, { force: true });
    await save();
  });

  it('is for its owner only, and has the objects as the API has them', () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const [, first = ''] = readFileSync(path, 'utf8').split('\n');
    expect(JSON.parse(first)).toMatchObject({ kind: 'Service', metadata: { name: 'web' } });
  });

  it('is served if the API server is away, and compared when it is back', () => {
    const { api, clock, store, watch, answerAll, take, takeChanges } = createWorld({
      savedPath: path,
    });
    for (const call of api.calls()) call.break();
    expect(take()[0]).toMatch(
      /: no client is served until it can, or the objects that were saved at 2023-11-14T\S+ are, after 5\.0 s: connect/,
    );
    clock.advance(4900);
    expect(store.isOpen).toBe(false);
    for (const call of api.calls()) call.break();
    clock.advance(200);
    expect([store.isOpen, watch.isListed, takeChanges()]).toEqual([true, false, [['shop/web']]]);
    expect(take().at(-1)).toMatch(
      /^kubernetes: the objects that were saved at 2023-11-14T\S+ are served until the cluster has been listed$/,
    );
    while (api.calls().length === 0) clock.advance(100);
    answerAll('50', { ...shop, services: [serviceJson('other')] });
    answerAll('50', { ...shop, services: [serviceJson('other')] });
    expect(takeChanges().flat().sort()).toEqual(['shop/other', 'shop/web']);
    expect([...store.services.keys()]).toEqual(['shop/other']);
    expect([watch.isListed, store.slicesOf('shop/web').length]).toEqual([true, 1]);
  });

  it('has at the end what has changed since it was written, and is not written before all is listed', async () => {
    const one = createWorld({ savedPath: path });
    one.api.onlyCall('services').list('10', [serviceJson('other')]);
    one.clock.advance(20);
    const saved = () => readFileSync(path, 'utf8');
    const before = saved();
    await one.watch.stop();
    expect(saved()).toBe(before);
    const other = createWorld({ savedPath: path });
    other.answerAll('10', { services: [serviceJson('other')] });
    await other.watch.stop();
    expect(saved()).toContain('"name":"other"');
    expect(saved()).not.toContain('"name":"web"');
    expect(other.clock.pendingTimers).toBe(0);
  });

  it('has no routes where routes are not watched', async () => {
    const withRoutes = join(folder, 'routes');
    const one = createWorld({ savedPath: withRoutes, hasRoutes: true });
    one.answerAll('10', { ...shop, grpcroutes: [routeJson('r', 'web', ['web'])] });
    expect(one.store.routes.size).toBe(1);
    await one.watch.stop();
    for (const hasRoutes of [true, false]) {
      const { store } = createWorld({ savedPath: withRoutes, hasRoutes });
      expect([store.services.size, store.routes.size]).toEqual([1, hasRoutes ? 1 : 0]);
    }
  });

  /** Changes the objects of the file, with the digest that they have then. */
  function rewrite(before: string, after: string): void {
    const [header = '', ...lines] = readFileSync(path, 'utf8').split('\n');
    const content = lines.join('\n').replace(before, after);
    const digest = createHash('sha256').update(content).digest('hex');
    writeFileSync(path, `${JSON.stringify({ ...JSON.parse(header), digest })}\n${content}`);
  }
  const unreadable =
    'line 2 has the Service shop/web, which cannot be read: spec.type: "Other" is none of ClusterIP, NodePort, LoadBalancer, ExternalName';

  it('is not served if the API server answers', () => {
    const { store, answerAll, takeChanges } = createWorld({ savedPath: path });
    answerAll('50', { services: [serviceJson('other')] });
    expect(takeChanges()).toEqual([['shop/other', 'shop/web']]);
    expect([...store.services.keys()]).toEqual(['shop/other']);
  });

  it.each([
    [
      'of another choice of namespaces',
      () => {},
      'was saved of another API server or other namespaces',
    ],
    [
      'that is damaged',
      () => writeFileSync(path, readFileSync(path, 'utf8').replace('"web"', '"wet"')),
      'is damaged',
    ],
    ['with an object that cannot be read', () => rewrite('"ClusterIP"', '"Other"'), unreadable],
    ['with a line that is no JSON', () => rewrite('{', '['), 'line 2 is no JSON'],
    ['that is cut', () => writeFileSync(path, readFileSync(path).subarray(0, -5)), 'is damaged'],
    [
      'of another format',
      () => writeFileSync(path, '{}\n'),
      'is not of the form grpc-xds-kubernetes/1',
    ],
  ])('is not used if it is one %s', (_, change, reason) => {
    change();
    const namespaces: NamespaceChoice = reason.startsWith('was')
      ? { kind: 'named', names: ['shop'] }
      : { kind: 'all' };
    const { store, clock, take } = createWorld({ savedPath: path, namespaces });
    expect(take()).toEqual([`kubernetes: the saved objects of ${path} are not used: ${reason}`]);
    clock.advance(20_000);
    expect(store.isOpen).toBe(false);
  });
});

it('ends all watches', async () => {
  const { api, clock, watch, answerAll } = createWorld();
  answerAll('10');
  await watch.stop();
  expect([api.calls(), api.watches(), clock.pendingTimers]).toEqual([[], [], 0]);
});
