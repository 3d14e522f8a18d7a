import type { ServerConfig } from '../../src/bootstrap/bootstrap';
import { clusterKind } from '../../src/control-plane';
import {
  LINGER_MS,
  MAX_HOLD_MS,
  MAX_LINGERING,
  MAX_NAMES,
  MAX_TYPES,
  REFERENCE_SLICE_MS,
} from '../../packages/relay/src/limits';
import { createRelayedType } from '../../packages/relay/src/opaque-type';
import type { OpaqueResource } from '../../src/resources/opaque-type';
import { UpstreamResources } from '../../packages/relay/src/upstream-resources';
import { createHandle, type Handle } from '../../src/util/handle';
import type { ResourceWatcher, WatchError } from '../../src/xds-client/resource-watcher';
import type { ResourceType } from '../../src/xds-client/resource-type';
import { FakeClock } from '../support/fake-clock';
import { FakeResourceSource } from '../support/fake-resource-source';
import { SlowClock } from '../support/slow-clock';
import { CDS } from '../control-plane/resources';

const type = createRelayedType(CDS).client;
const server: ServerConfig = {
  serverUri: 's',
  key: 's',
  features: new Set<string>(),
  callCreds: [],
  channelCreds: { type: 'insecure', config: undefined },
};
const value = (text: string): OpaqueResource => ({ bytes: Buffer.from(text), server });
const error = (kind: WatchError['kind'], more: Partial<WatchError> = {}): WatchError => ({
  kind,
  message: `the message of ${kind}`,
  ...more,
});

class Scene {
  readonly clock = new FakeClock();
  readonly source = new FakeResourceSource();
  readonly resources = new UpstreamResources(this.source, this.clock);
  changes = 0;

  constructor() {
    this.resources.watch(() => this.changes++);
  }

  /** What clients receive for a name. */
  show(name: string, typeUrl = CDS): string {
    const served = this.resources.resourcesFor();
    const set = served.set(typeUrl);
    const failure = set?.errors.get(name);
    if (failure !== undefined) return `error ${failure.code}: ${failure.message}`;
    const resource = set?.byName.get(name);
    if (resource !== undefined) return Buffer.from(resource.value).toString();
    return served.isPending(typeUrl, name) ? 'pending' : 'absent';
  }
}

const unreachable = error('unreachable');
const denied = error('server-error', { status: { code: 7, details: 'denied' } });

describe('what clients of a relay receive of a resource', () => {
  it.each<[string, (source: FakeResourceSource) => void, string]>([
    ['of which nothing is known', () => {}, 'pending'],
    ['that does not exist', (s) => s.fail(type, 'a', error('does-not-exist')), 'absent'],
    ['whose server cannot be reached', (s) => s.fail(type, 'a', unreachable), 'pending'],
    [
      'that has timed out without a conclusion',
      (s) => s.fail(type, 'a', error('timeout')),
      'pending',
    ],
    ['with an error', (s) => s.fail(type, 'a', denied), 'error 7: denied'],
    [
      'that the server says does not exist',
      (s) => s.fail(type, 'a', error('does-not-exist', { status: { code: 5, details: 'none' } })),
      'error 5: none',
    ],
    [
      'with a bad name',
      (s) => s.fail(type, 'a', error('bad-name')),
      'error 3: the message of bad-name',
    ],
    [
      'that is too large',
      (s) => s.fail(type, 'a', error('invalid')),
      'error 14: the message of invalid',
    ],
    ['that there is', (s) => s.serve(type, 'a', value('v')), 'v'],
  ])('%s', (_what, act, expected) => {
    const scene = new Scene();
    act(scene.source);
    scene.resources.refer(CDS, ['a'], []);
    expect(scene.show('a')).toBe(expected);
  });

  it.each<[string, WatchError, string]>([
    ['cannot be reached', unreachable, 'v'],
    ['sends a version that is too large', error('invalid'), 'v'],
    ['has removed it', error('does-not-exist'), 'absent'],
    ['has an error for it', denied, 'error 7: denied'],
  ])('after the server, which has sent it, %s', (_what, ambient, expected) => {
    const scene = new Scene();
    scene.source.serve(type, 'a', value('v'));
    scene.resources.refer(CDS, ['a'], []);
    const version = () => scene.resources.resourcesFor().set(CDS)?.version;
    const before = version();
    scene.source.ambient(type, 'a', ambient);
    expect(scene.show('a')).toBe(expected);
    expect(version() === before).toBe(expected === 'v');
    scene.source.ambient(type, 'a', undefined);
    expect([scene.show('a'), version()]).toEqual(['v', before]);
  });

  it('is the same object until it changes', () => {
    const scene = new Scene();
    scene.source.serve(type, 'a', value('v'));
    scene.source.serve(type, 'b', value('w'));
    scene.resources.refer(CDS, ['a', 'b'], []);
    const set = () => scene.resources.resourcesFor().set(CDS);
    const before = set();
    scene.source.serve(type, 'b', value('x'));
    expect(set()?.byName.get('a')).toBe(before?.byName.get('a'));
    expect(set()?.version).not.toBe(before?.version);
    expect(before?.byName.get('b')?.value).toEqual(Buffer.from('w'));
    expect(before?.byName.get('a')?.kind).toBe(clusterKind);
  });
});

describe('the names that a relay requests', () => {
  it('are those of its clients, each once, and for a minute after the last one', () => {
    const { resources, source, clock } = new Scene();
    resources.refer(CDS, ['a', 'b'], []);
    resources.refer(CDS, ['b'], []);
    expect(source.log).toEqual(['+Cluster a', '+Cluster b']);
    resources.refer(CDS, [], ['a', 'b']);
    clock.advance(LINGER_MS / 2);
    resources.refer(CDS, [], ['b']);
    clock.advance(LINGER_MS / 2);
    expect(source.log.slice(2)).toEqual(['-Cluster a']);
    resources.refer(CDS, ['b'], []);
    clock.advance(LINGER_MS);
    expect(source.log.slice(2)).toEqual(['-Cluster a']);
    resources.refer(CDS, [], ['b']);
    clock.advance(LINGER_MS);
    expect(source.log.slice(3)).toEqual(['-Cluster b']);
    expect(resources.size).toBe(0);
  });

  it('have no resource any more when they are no longer requested', () => {
    const scene = new Scene();
    scene.source.serve(type, 'a', value('v'));
    scene.resources.refer(CDS, ['a'], []);
    scene.resources.refer(CDS, [], ['a']);
    expect(scene.show('a')).toBe('v');
    scene.clock.advance(LINGER_MS);
    expect(scene.show('a')).toBe('pending');
  });

  it('are a bounded number after their clients', () => {
    const { resources } = new Scene();
    const names = Array.from({ length: MAX_LINGERING + 5 }, (_, i) => `n${i}`);
    resources.refer(CDS, names, []);
    resources.refer(CDS, [], names);
    expect(resources.size).toBe(MAX_LINGERING);
    expect(resources.has(CDS, 'n4')).toBe(false);
    expect(resources.has(CDS, 'n5')).toBe(true);
  });

  it('are not those of all resources', () => {
    const { resources } = new Scene();
    const change = { names: ['a'], removed: [], wildcard: true };
    expect(resources.findRefusal(CDS, change)).toMatchObject({
      code: 12,
      details: expect.stringContaining('subscribe to names'),
    });
  });

  it('are a bounded number of a bounded number of types', () => {
    const { resources } = new Scene();
    const change = (names: string[]) => ({ names, removed: [], wildcard: false });
    const many = Array.from({ length: MAX_NAMES }, (_, i) => `n${i}`);
    expect(resources.findRefusal(CDS, change(many))).toBeUndefined();
    expect(resources.findRefusal(CDS, change([...many, 'x']))).toEqual({
      code: 8,
      details: 'the relay has 500000 names already',
    });
    for (let i = 0; i < MAX_TYPES; i++) resources.refer(`type/t${i}`, ['a'], []);
    expect(resources.findRefusal('type/t0', change(['b']))).toBeUndefined();
    expect(resources.findRefusal('type/other', change(['b']))?.details).toBe(
      'the relay has 1000 types already',
    );
  });
});

/** A source that takes part of a millisecond for each watch, and counts the holds of requests. */
class SlowSource extends FakeResourceSource {
  readonly clock = new SlowClock();
  /** How many holds there are now, and how many there were. */
  holds = 0;
  heldTimes = 0;

  override watch<T>(
    watchedType: ResourceType<T>,
    name: string,
    watcher: ResourceWatcher<T>,
  ): Handle {
    this.clock.spentMs += WATCH_MS;
    const watch = super.watch(watchedType, name, watcher);
    return createHandle(() => {
      this.clock.spentMs += WATCH_MS;
      watch.release();
    });
  }

  override holdRequests(): Handle {
    this.holds++;
    this.heldTimes++;
    return createHandle(() => this.holds--);
  }
}

const WATCH_MS = REFERENCE_SLICE_MS / 16;

describe('a relay with a client that subscribes to many names', () => {
  const manyNames = (count: number, prefix = 'n') =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  /** More than what is done in a slice that has begun. */
  const atMost = 100;

  function setUp() {
    const source = new SlowSource();
    const { clock } = source;
    const resources = new UpstreamResources(source, clock);
    const turn = () => clock.advance(1);
    const finish = () => {
      while (source.holds > 0) turn();
    };
    return { source, clock, resources, turn, finish };
  }

  it('requests a bounded number of them in a turn of the event loop, and in the end all', () => {
    const { source, resources, turn, finish } = setUp();
    resources.refer(CDS, manyNames(5000), []);
    for (let turns = 1; turns < 5; turns++) {
      expect(source.watchCount).toBeGreaterThanOrEqual(turns);
      expect(source.watchCount).toBeLessThan(turns * atMost);
      turn();
    }
    finish();
    expect(source.watchCount).toBe(5000);
  });

  it('counts those that are not requested yet, which are pending', () => {
    const { resources } = setUp();
    resources.refer(CDS, manyNames(5000), []);
    expect(resources.size).toBe(5000);
    expect(resources.has(CDS, 'n4999')).toBe(true);
    expect(resources.resourcesFor().isPending(CDS, 'n4999')).toBe(true);
    const change = { names: manyNames(MAX_NAMES - 4999, 'm'), removed: [], wildcard: false };
    expect(resources.findRefusal(CDS, change)).toBeDefined();
  });

  it('requests the names of others meanwhile', () => {
    const { source, resources, turn } = setUp();
    resources.refer(CDS, manyNames(5000), []);
    resources.refer(CDS, ['x', 'n4999'], []);
    turn();
    expect(source.watched(type)).toEqual(expect.arrayContaining(['x', 'n4999']));
  });

  it('never requests those that it unsubscribes from before', () => {
    const { source, resources, finish } = setUp();
    const queued = new Set<string>();
    resources.refer(CDS, manyNames(5000), [], queued);
    resources.refer(CDS, [], manyNames(5000).slice(1), queued);
    expect(resources.size).toBeLessThan(atMost);
    finish();
    expect(source.log.length).toBeLessThan(atMost);
    resources.refer(CDS, ['n4999'], [], queued);
    expect(source.watched(type)).toContain('n4999');
  });

  it('is in the way of no others if it goes on to ever other names', () => {
    const { source, resources, turn } = setUp();
    const queues = Array.from({ length: 10 }, () => new Set<string>());
    for (let round = 0; round < 50; round++) {
      for (const [i, queued] of queues.entries()) {
        const before = manyNames(200, `${round - 1} ${i} `);
        resources.refer(CDS, manyNames(200, `${round} ${i} `), round === 0 ? [] : before, queued);
      }
      for (let i = 0; i < 20; i++) turn();
    }
    expect(source.watchCount).toBeLessThan(MAX_LINGERING + 4000);
  });

  it('drops a bounded number of them in a turn after it has disconnected', () => {
    const { source, resources, turn, finish } = setUp();
    const count = MAX_LINGERING + 5000;
    resources.refer(CDS, manyNames(count), []);
    finish();
    resources.refer(CDS, [], manyNames(count));
    expect(source.watchCount).toBeGreaterThan(count - atMost);
    turn();
    expect(source.watchCount).toBeGreaterThan(count - 2 * atMost);
    finish();
    expect(source.watchCount).toBe(MAX_LINGERING);
  });

  it('requests them together', () => {
    const { source, resources, finish } = setUp();
    resources.refer(CDS, manyNames(1000), []);
    expect(source.holds).toBe(1);
    finish();
    expect(source.heldTimes).toBe(1);
  });

  it('does not keep others from receiving anything while it goes on', () => {
    const { source, clock, resources, turn } = setUp();
    const startMs = clock.monotonicMs();
    const queued = new Set<string>();
    for (let i = 0; clock.monotonicMs() - startMs < 3.5 * MAX_HOLD_MS; i++) {
      resources.refer(CDS, manyNames(200, `${i} `), [], queued);
      turn();
    }
    expect(source.heldTimes).toBe(4);
  });
});

describe('why clients of a relay can have nothing now', () => {
  const subscribed = (...names: readonly string[]) => [
    { typeUrl: CDS, subscribed: names, wildcard: false },
  ];
  const outage = /^relay \(pid \d+\): the message of unreachable$/;

  function createScene(): Scene {
    const scene = new Scene();
    scene.source.failures = ['s cannot be reached'];
    scene.resources.refer(CDS, ['a', 'b', 'c'], []);
    scene.source.fail(type, 'a', unreachable);
    scene.source.fail(type, 'b', unreachable);
    return scene;
  }

  it('is the failure of the server of all that they subscribe to', () => {
    expect(createScene().resources.findOutage(subscribed('a', 'b'))).toMatch(outage);
  });

  it.each<[string, (scene: Scene) => void, readonly string[]]>([
    ['one of them is pending at a server that has not failed', () => {}, ['a', 'c']],
    ['one of them has a resource', (s) => s.source.serve(type, 'b', value('1')), ['a', 'b']],
    ['one of them does not exist', (s) => s.source.fail(type, 'b', error('does-not-exist')), ['b']],
    ['one of them has an error of its own', (s) => s.source.fail(type, 'b', denied), ['a', 'b']],
    ['one of them is not requested', () => {}, ['a', 'unknown']],
    ['the server works again', (s) => (s.source.failures = []), ['a', 'b']],
    ['they subscribe to nothing', () => {}, []],
  ])('is none if %s', (_case, prepare, names) => {
    const scene = createScene();
    prepare(scene);
    expect(scene.resources.findOutage(subscribed(...names))).toBeUndefined();
  });
});
