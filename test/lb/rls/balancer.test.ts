import { ConnectivityState, Metadata } from '../../../src/grpc-js';
import type { ChannelStats } from '../../../src/observe/stats/stats-plugin';
import { RlsConfig } from '../../../src/lb/rls/config';
import { createHandle } from '../../../src/util/handle';
import { MAX_LOOKUP_TARGETS } from '../../../src/util/limits';
import { err } from '../../../src/util/result';
import { RlsScene } from './scene';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

describe('rls', () => {
  let scene: RlsScene;

  beforeEach(() => {
    scene = new RlsScene().showCredentials();
    // Lookups are never throttled.
    scene.harness.random = 0.999_999;
  });

  afterEach(() => {
    expect(scene.harness.errors).toEqual([]);
  });

  const advance = (ms: number) => scene.harness.clock.advance(ms);
  const keys = () => scene.lookups.map((lookup) => Object.fromEntries(lookup.keys));

  it('looks the keys of a call up once, and picks by the response while it is kept', () => {
    scene.update();
    expect(scene.state).toBe('IDLE');
    expect([scene.pick('a'), scene.pick('a'), scene.pick('b')]).toEqual([
      'QUEUE',
      'QUEUE',
      'QUEUE',
    ]);
    expect(keys()).toEqual([{ to: 'a' }, { to: 'b' }]);
    expect(scene.lookups[0]).toMatchObject({ reason: 1, staleHeaderData: '' });
    scene.lookups[0]?.answer(['one']);
    expect([scene.state, scene.pick('a')]).toEqual(['CONNECTING', 'QUEUE']);
    scene.child('one').reportReady('endpoint of one');
    expect([scene.state, scene.pick('a')]).toEqual(['READY', 'TRANSIENT_FAILURE endpoint of one']);
    expect(scene.pick('b')).toBe('QUEUE');
    expect(scene.lookups).toHaveLength(2);
  });

  it('tells methods apart, also those without keys', () => {
    scene.update();
    scene.pick('', new Metadata(), '/other/x');
    scene.pick('', new Metadata(), '/other/y');
    scene.pick('', new Metadata(), 'other/y');
    expect(keys()).toEqual([{}, {}]);
  });

  it('refreshes a stale response for the next call, and drops it when it expires', () => {
    scene.update();
    scene.learn('a', ['one'], 'data');
    scene.child('one').reportReady('one');
    advance(29_999);
    scene.pick('a');
    expect(scene.lookups).toHaveLength(1);
    advance(1);
    expect([scene.pick('a'), scene.pick('a')]).toEqual(Array(2).fill('TRANSIENT_FAILURE one'));
    expect(scene.lookups).toHaveLength(2);
    expect(scene.lastLookup).toMatchObject({ reason: 2, staleHeaderData: 'data' });
    scene.lastLookup.answer(['two']);
    expect(scene.targets).toEqual(['two']);
    advance(60_000);
    expect(scene.pick('a')).toBe('QUEUE');
    expect(scene.lastLookup).toMatchObject({ reason: 1, staleHeaderData: '' });
  });

  it('keeps a response whose refresh fails to its expiry, and backs off', () => {
    scene.update();
    scene.learn('a', ['one']);
    scene.child('one').reportReady('one');
    advance(30_000);
    scene.pick('a');
    scene.lastLookup.fail();
    expect(scene.pick('a')).toBe('TRANSIENT_FAILURE one');
    expect(scene.lookups).toHaveLength(2);
    advance(1200);
    scene.pick('a');
    expect(scene.lookups).toHaveLength(3);
  });

  it.each<[string, (to: RlsScene) => void, string]>([
    ['a lookup fails', (to) => to.lastLookup.fail('INTERNAL: broken'), 'INTERNAL: broken'],
    [
      'it returns more targets than may be in use',
      (to) =>
        to.lastLookup.answer(Array.from({ length: MAX_LOOKUP_TARGETS + 1 }, (_, i) => `${i}`)),
      'more than 1000 targets are in use',
    ],
  ])('fails calls while %s, and looks up again after the backoff', (_what, fail, error) => {
    scene.update();
    const published = () => scene.host.published.length;
    for (const delayMs of [1200, 1920, 3072]) {
      expect(scene.pick('a')).toBe('QUEUE');
      fail(scene);
      const text = `Route lookup service "lookup.test:443": ${error}; there is no default target`;
      expect(scene.pick('a')).toBe(`TRANSIENT_FAILURE ${text}`);
      const before = published();
      advance(delayMs - 1);
      expect(published()).toBe(before);
      advance(1);
      expect(published()).toBe(before + 1);
    }
    expect(scene.lookups).toHaveLength(3);
  });

  it('waits for at most 120 s and the jitter, and for a little once a lookup has succeeded', () => {
    scene.update({}, { maxAge: '1s', staleAge: '1s' });
    const fail = () => {
      expect(scene.pick('a')).toBe('QUEUE');
      scene.lastLookup.fail();
    };
    for (let i = 0; i < 20; i++) {
      fail();
      advance(Math.min(1200 * 1.6 ** i, 144_000));
    }
    fail();
    advance(143_999);
    expect(scene.pick('a')).toMatch(/^TRANSIENT_FAILURE/);
    advance(1);
    scene.learn('a');
    advance(1000);
    fail();
    advance(1200);
    expect(scene.pick('a')).toBe('QUEUE');
  });

  it('uses the default target for calls whose lookup has failed or is throttled', () => {
    scene.update({}, { defaultTarget: 'default' });
    expect(scene.targets).toEqual(['default']);
    scene.child('default').reportReady('default');
    expect(scene.pick('a')).toBe('QUEUE');
    scene.lastLookup.fail();
    expect(scene.pick('a')).toBe('TRANSIENT_FAILURE default');
    scene.harness.random = 0;
    expect(scene.pick('b')).toBe('TRANSIENT_FAILURE default');
    expect(scene.lookups).toHaveLength(1);
    scene.update({}, { defaultTarget: 'other' });
    expect(scene.targets).toEqual(['other']);
    scene.update();
    expect(scene.targets).toEqual([]);
    expect(scene.pick('b')).toBe(
      'TRANSIENT_FAILURE Route lookup service "lookup.test:443": the lookup was not sent, because too many failed in the last 30 s; there is no default target',
    );
  });

  it('uses the first target that does not fail, or else the last one', () => {
    scene.update();
    scene.learn('a', ['one', 'two']);
    scene.child('one').reportFailure('one is down');
    expect([scene.state, scene.pick('a')]).toEqual(['CONNECTING', 'QUEUE']);
    scene.child('two').reportFailure('two is down');
    expect([scene.state, scene.pick('a')]).toEqual([
      'TRANSIENT_FAILURE',
      'TRANSIENT_FAILURE two is down',
    ]);
    // It fails until it is connected.
    scene.child('one').report(CONNECTING);
    expect(scene.pick('a')).toBe('TRANSIENT_FAILURE two is down');
    scene.child('one').reportReady('one');
    expect(scene.pick('a')).toBe('TRANSIENT_FAILURE one');
  });

  it.each<[readonly ConnectivityState[], string]>([
    [[READY, TRANSIENT_FAILURE, CONNECTING], 'READY'],
    [[CONNECTING, IDLE, TRANSIENT_FAILURE], 'CONNECTING'],
    [[IDLE, TRANSIENT_FAILURE], 'IDLE'],
    [[TRANSIENT_FAILURE], 'TRANSIENT_FAILURE'],
  ])('with children in the states %j is %s', (states, expected) => {
    scene.update();
    for (const [i, state] of states.entries()) {
      scene.learn(`t${i}`);
      scene.child(`t${i}`).report(state);
    }
    expect(scene.state).toBe(expected);
  });

  it('sends the header data of the response with calls that have an endpoint', () => {
    scene.update();
    scene.learn('a', ['one'], 'data');
    scene.learn('b', ['one']);
    const complete = scene.host.createSubchannel({ host: '10.0.0.1', port: 80 }, {});
    const result = { subchannel: complete, status: null, onCallStarted: null, onCallEnded: null };
    scene.child('one').report(READY, { pick: () => ({ pickResultType: 0, ...result }) });
    const metadata = new Metadata();
    expect(scene.pick('a', metadata)).toMatch(/^COMPLETE/);
    expect(metadata.get('x-google-rls-data')).toEqual(['data']);
    const without = new Metadata();
    scene.pick('b', without);
    expect(without.get('x-google-rls-data')).toEqual([]);
  });

  it('has one child for each target, as long as a response or the config refers to it', () => {
    // Each entry takes 17 bytes.
    scene.update({}, { defaultTarget: 'one', cacheSizeBytes: 50 });
    scene.learn('a', ['one', 'two']);
    scene.learn('b', ['two', 'two', 'three']);
    expect(scene.targets).toEqual(['one', 'two', 'three']);
    advance(5000);
    scene.learn('c', ['four']);
    expect(scene.targets).toEqual(['one', 'two', 'three', 'four']);
    scene.learn('d', ['four']);
    expect(scene.targets).toEqual(['one', 'four']);
    scene.update();
    expect(scene.targets).toEqual(['four']);
    advance(120_000);
    expect(scene.targets).toEqual([]);
    expect(scene.state).toBe('IDLE');
  });

  it('ends all backoffs when the lookup service can be reached again', () => {
    scene.update();
    scene.pick('a');
    scene.lastLookup.fail();
    expect(scene.pick('a')).toMatch(/^TRANSIENT_FAILURE/);
    scene.connections[0]?.onRecovered();
    expect(scene.pick('a')).toBe('QUEUE');
    expect(scene.lookups).toHaveLength(2);
  });

  it('connects with the credentials, authority and options of its channel, and anew if that changes', () => {
    scene.update();
    expect(scene.connections).toHaveLength(1);
    expect(scene.connections[0]).toMatchObject({
      target: 'lookup.test:443',
      authority: 'echo.test',
      options: scene.harness.options,
      timeoutMs: 10_000,
    });
    scene.learn('a');
    scene.update({}, { maxAge: '59s' });
    expect([scene.connections.length, scene.closed]).toEqual([1, 0]);
    scene.pick('b');
    scene.update({}, { lookupService: 'other.test' });
    scene.update({}, { lookupService: 'other.test', lookupServiceTimeout: '1s' });
    expect([scene.connections.length, scene.closed]).toEqual([3, 2]);
    // What is kept is used; what was being looked up is looked up again.
    expect(scene.lookups).toHaveLength(2);
    scene.lookups[1]?.answer(['late']);
    expect([scene.pick('a'), scene.pick('b')]).toEqual(['QUEUE', 'QUEUE']);
    expect(keys()).toEqual([{ to: 'a' }, { to: 'b' }, { to: 'b' }]);
  });

  it('fails lookups if there can be no channel, and without credentials to connect with', () => {
    const fails = (failing: RlsScene, error: string) => {
      failing.harness.random = 0.999_999;
      failing.update();
      expect(failing.pick('a')).toBe('QUEUE');
      expect(failing.pick('a')).toBe(
        `TRANSIENT_FAILURE Route lookup service "lookup.test:443": ${error}; there is no default target`,
      );
    };
    scene.connectError = 'no channel';
    fails(scene, 'no channel');
    fails(new RlsScene(), 'the credentials of the channel are unknown');
  });

  it('fails calls under other resolvers than xds', () => {
    const other = new RlsScene({ isXds: false });
    other.update();
    expect(other.pick('a')).toBe(
      'TRANSIENT_FAILURE rls_experimental works only under the xds resolver',
    );
    other.policy.destroy();
  });

  it('updates its children when their config changes, and fails the calls of one whose config is bad', () => {
    scene.update();
    scene.learn('a');
    const { config } = scene.child('a').lastUpdate;
    scene.update();
    expect(scene.child('a').lastUpdate.config).toBe(config);
    scene.update({ childPolicy: [{ stub: { size: 2 } }] });
    expect(scene.child('a').lastUpdate.config).toMatchObject({ size: 2, target: 'a' });
    expect(scene.children.live).toHaveLength(1);
    scene.update({ childPolicyConfigTargetFieldName: 'cluster' });
    expect(scene.children.live[0]?.lastUpdate.config).toEqual({ policyName: 'stub', cluster: 'a' });
    const bad = { of: () => err('is bad'), equals: () => false };
    scene.send(new RlsConfig(scene.config.lookup, bad));
    expect(scene.pick('a')).toBe('TRANSIENT_FAILURE Target "a": is bad');
    expect(scene.children.live).toEqual([]);
    scene.update();
    expect(scene.children.live).toHaveLength(1);
  });

  it('removes failed keys once their backoff has expired', () => {
    scene.update();
    scene.pick('a');
    scene.lastLookup.fail();
    expect(scene.policy.describe?.().details).toMatchObject({ cacheEntries: 1 });
    advance(60_000);
    expect(scene.policy.describe?.().details).toMatchObject({ cacheEntries: 0, cacheBytes: 0 });
  });

  it('releases everything when it is destroyed', () => {
    scene.update({}, { defaultTarget: 'd' });
    scene.learn('a');
    scene.pick('b');
    scene.lastLookup.fail();
    scene.pick('c');
    scene.policy.exitIdle();
    scene.policy.resetBackoff();
    expect(scene.child('a')).toMatchObject({ exitIdleCalls: 1, resetBackoffCalls: 1 });
    scene.policy.destroy();
    expect(scene.children.live).toEqual([]);
    expect(scene.closed).toBe(1);
    const before = scene.host.published.length;
    scene.lastLookup.answer(['late']);
    advance(600_000);
    expect(scene.host.published).toHaveLength(before);
  });

  it('is counted by its lookup service, targets and results', () => {
    const counts = new Map<string, number>();
    let read: Parameters<ChannelStats['observeGauges']>[1] = () => {};
    const stats: ChannelStats = {
      target: 'xds:///echo',
      isEnabled: () => true,
      usesLabel: () => true,
      startCall: () => undefined,
      series: (instrument, labels) => {
        const key = [instrument, ...Object.values(labels)].join(' ');
        return { add: (value) => void counts.set(key, (counts.get(key) ?? 0) + value) };
      },
      observeGauges: (_instruments, reader) => {
        read = reader;
        return createHandle(() => {});
      },
    };
    const counted = new RlsScene({ stats }).showCredentials();
    counted.harness.random = 0.999_999;
    counted.update();
    counted.learn('a', ['one']);
    counted.pick('a');
    counted.child('one').reportReady('one');
    counted.pick('a');
    counted.pick('b');
    counted.lastLookup.fail();
    counted.pick('b');
    counted.update({}, { defaultTarget: 'one' });
    counted.pick('b');
    const service = 'lookup.test:443';
    expect(Object.fromEntries(counts)).toEqual({
      [`grpc.lb.rls.target_picks ${service} one fail`]: 1,
      [`grpc.lb.rls.failed_picks ${service}`]: 1,
      [`grpc.lb.rls.default_target_picks ${service} one fail`]: 1,
    });
    const gauges: unknown[] = [];
    read((instrument, value, labels) => gauges.push([instrument, value, Object.values(labels)]));
    const labels = [service, expect.stringMatching(/^[0-9a-f-]{36}$/)];
    expect(gauges).toEqual([
      ['grpc.lb.rls.cache_entries', 2, labels],
      ['grpc.lb.rls.cache_size', 2 * '["/s/m","to","a"]'.length, labels],
    ]);
    counted.policy.destroy();
  });
});
