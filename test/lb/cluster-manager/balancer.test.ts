import { ConnectivityState } from '../../../src/grpc-js';
import { clusterManagerPolicy, MAX_CREATED_AHEAD } from '../../../src/lb/cluster-manager/balancer';
import { ClusterManagerConfig } from '../../../src/lb/cluster-manager/config';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { LbPolicy, XdsLbContext } from '../../../src/lb/lb-policy';
import { ok } from '../../../src/util/result';
import { LbHarness, describePick, pick } from '../../support/lb-harness';
import { FakeClusterStore, lbContext } from '../../support/lb-xds-config';
import { StubPolicyType, type StubPolicy } from '../../support/lb-stub-policy';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** A cluster manager whose children are stubs. */
class Subject {
  readonly type = new StubPolicyType();
  readonly harness = new LbHarness([this.type]);
  readonly policy: LbPolicy = this.harness.create(clusterManagerPolicy);
  /** The same object for the same name, as the resolver does it. */
  private readonly configs = new Map<string, { policyName: string; name: string }>();

  constructor(private readonly xds?: XdsLbContext) {}

  update(...names: readonly string[]): void {
    const config = new ClusterManagerConfig(
      new Map(names.map((name) => [name, this.config(name)])),
    );
    const { xds } = this;
    this.harness.update(this.policy, { config, endpoints: ok(emptyEndpointSet), xds });
  }

  private config(name: string) {
    const config = this.configs.get(name) ?? { policyName: 'stub', name };
    this.configs.set(name, config);
    return config;
  }

  /** The newest child of the name that lives; throws if there is none. */
  child(name: string): StubPolicy {
    const config = this.configs.get(name);
    const child = this.type.live.findLast((stub) => stub.lastUpdate.config === config);
    if (child === undefined) throw new Error(`There is no child ${name}`);
    return child;
  }

  pick(name: string): string {
    return describePick(pick(this.harness.last.picker, { cluster: name }));
  }

  get state(): ConnectivityState {
    return this.harness.last.state;
  }

  get publications(): number {
    return this.harness.host.published.length;
  }
}

describe('cluster_manager', () => {
  describe('with more clusters than have children ahead of calls', () => {
    const names = Array.from({ length: MAX_CREATED_AHEAD + 200 }, (_, i) => `cluster:${i}`);
    const last = `cluster:${MAX_CREATED_AHEAD + 199}`;

    function subjectOf(...children: readonly string[]): Subject {
      const subject = new Subject();
      subject.update(...children);
      subject.harness.clock.advance(1000);
      return subject;
    }

    it('creates no more children than the limit without a call', () => {
      expect(subjectOf(...names).type.live).toHaveLength(MAX_CREATED_AHEAD);
    });

    it('creates them in several turns, and before its turn the one that a call needs', () => {
      const subject = new Subject();
      const { clock } = subject.harness;
      const monotonicMs = clock.monotonicMs.bind(clock);
      let spentMs = 0;
      clock.monotonicMs = () => monotonicMs() + (spentMs += 0.1);
      const few = names.slice(0, 50);
      subject.update(...few);
      expect(subject.type.live.length).toBeLessThan(10);
      expect(subject.pick('cluster:49')).toBe('QUEUE');
      clock.flush();
      subject.child('cluster:49').reportReady('49');
      expect(subject.pick('cluster:49')).toContain('49');
      expect(subject.type.live.length).toBeLessThan(50);
      clock.advance(1000);
      expect(subject.type.live).toHaveLength(50);
    });

    it('connects also those that are created after a request to connect', () => {
      const subject = new Subject();
      const { clock, batch } = subject.harness;
      const monotonicMs = clock.monotonicMs.bind(clock);
      let spentMs = 0;
      clock.monotonicMs = () => monotonicMs() + (spentMs += 0.1);
      subject.update(...names.slice(0, 50));
      batch.run(() => subject.policy.exitIdle());
      clock.advance(1000);
      expect(subject.type.live).toHaveLength(50);
      expect(subject.type.live.filter(({ exitIdleCalls }) => exitIdleCalls === 0)).toHaveLength(0);
    });

    it('creates the others although one cannot be created', () => {
      const subject = new Subject();
      const { harness, type } = subject;
      const create = type.create.bind(type);
      let created = 0;
      type.create = (host) => {
        if (created++ === 20) throw new Error('broken');
        return create(host);
      };
      subject.update(...names.slice(0, 50));
      harness.clock.advance(1000);
      expect(harness.errors).toHaveLength(1);
      subject.update(...names.slice(0, 51));
      harness.clock.advance(1000);
      expect(type.live).toHaveLength(51);
    });

    it('creates a further child when a call picks its cluster', () => {
      const subject = subjectOf(...names);
      expect(subject.pick(last)).toBe('QUEUE');
      subject.harness.clock.flush();
      expect(subject.type.live).toHaveLength(MAX_CREATED_AHEAD + 1);
      subject.child(last).reportReady('last');
      expect(subject.pick(last)).toContain('last');
    });

    it('keeps the child of a call in the next config', () => {
      const subject = subjectOf(...names);
      subject.pick(last);
      subject.harness.clock.flush();
      const child = subject.child(last);
      subject.update(...names, 'cluster:another');
      expect(subject.child(last)).toBe(child);
      expect(subject.type.live).toHaveLength(MAX_CREATED_AHEAD + 1);
    });

    it('counts the clusters without a child as IDLE', () => {
      const subject = subjectOf(...names);
      expect(subject.state).toBe(CONNECTING);
      for (const child of subject.type.live) child.reportFailure('no');
      expect(subject.state).toBe(IDLE);
      subject.child('cluster:0').reportReady('0');
      expect(subject.state).toBe(READY);
    });

    it('creates children in the place of those that left the config', () => {
      const subject = subjectOf(...names);
      subject.update(...names.slice(100));
      subject.harness.clock.advance(1000);
      expect(subject.type.live).toHaveLength(MAX_CREATED_AHEAD);
      expect(subject.pick(last)).toBe('QUEUE');
      subject.update(...names.slice(300));
      subject.harness.clock.advance(1000);
      expect(subject.type.live).toHaveLength(MAX_CREATED_AHEAD - 100);
    });
  });

  it('creates every child there is in the config', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    expect(subject.type.live).toHaveLength(2);
    expect(subject.state).toBe(CONNECTING);
    expect(subject.pick('cluster:a')).toBe('QUEUE');
  });

  it('hands each call to the child its config selector chose', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    subject.child('cluster:a').reportReady('from a');
    subject.child('cluster:b').reportFailure('b is down');
    expect(subject.pick('cluster:a')).toContain('from a');
    expect(subject.pick('cluster:b')).toBe('TRANSIENT_FAILURE b is down');
  });

  it('waits for a change while a cluster fails', () => {
    const store = new FakeClusterStore();
    const subject = new Subject(lbContext({}, store));
    subject.update('cluster:a', 'cluster:b');
    const [a, b] = [subject.child('cluster:a'), subject.child('cluster:b')];
    a.reportReady('a');
    expect(store.hurrying).toBe(0);
    a.reportFailure('a is down');
    a.reportFailure('a is still down');
    b.reportFailure('b is down');
    expect(store.hurrying).toBe(2);
    a.reportReady('a');
    expect(store.hurrying).toBe(1);
    subject.update('cluster:a');
    expect(store.hurrying).toBe(0);
    a.reportFailure('a is down');
    subject.policy.destroy();
    expect(store.hurrying).toBe(0);
  });

  it('fails a call with an unknown cluster with INTERNAL', () => {
    const subject = new Subject();
    subject.update('cluster:a');
    const { status } = pick(subject.harness.last.picker, { cluster: 'cluster:x' });
    expect(status?.code).toBe(13);
    expect(subject.pick('cluster:x')).toBe(
      'DROP "cluster:x" is not part of the load-balancing config',
    );
  });

  it('fails a call that no xds resolver has seen with INTERNAL', () => {
    const subject = new Subject();
    subject.update('cluster:a');
    const result = pick(subject.harness.last.picker, {});
    expect(result.status?.code).toBe(13);
    expect(describePick(result)).toBe('DROP The call was assigned no cluster by an xds resolver');
  });

  it('fails a call whose cluster was removed with UNAVAILABLE, even if it waits for ready', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    subject.update('cluster:a');
    const { status } = pick(subject.harness.last.picker, { cluster: 'cluster:b' });
    expect(status?.code).toBe(14);
    expect(subject.pick('cluster:b')).toBe(
      'DROP "cluster:b" was removed while the call waited for it',
    );
  });

  it('destroys a removed child at once and creates it again when it is added again', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    const removed = subject.child('cluster:b');
    subject.update('cluster:a');
    expect(removed.destroyed).toBe(true);
    subject.update('cluster:a', 'cluster:b');
    expect(subject.child('cluster:b')).not.toBe(removed);
    expect(subject.pick('cluster:b')).toBe('QUEUE');
  });

  it('remembers no more than a thousand removed clusters', () => {
    const subject = new Subject();
    const names = Array.from({ length: 1001 }, (_, i) => `cluster:${i}`);
    subject.update(...names);
    subject.update();
    expect(subject.pick('cluster:0')).toContain('is not part of');
    expect(subject.pick('cluster:1')).toContain('was removed');
    expect(subject.pick('cluster:1000')).toContain('was removed');
  });

  it('counts a cluster that came back and was removed again among the last', () => {
    const subject = new Subject();
    const names = Array.from({ length: 999 }, (_, i) => `cluster:${i}`);
    // 1. a is removed first, and again as the thousandth.
    subject.update('cluster:a');
    subject.update();
    subject.update('cluster:a', ...names);
    subject.update('cluster:a');
    subject.update();
    // 2. One more is removed, for which the oldest is forgotten.
    subject.update('cluster:x');
    subject.update();
    expect(subject.pick('cluster:0')).toContain('is not part of');
    expect(subject.pick('cluster:1')).toContain('was removed');
    expect(subject.pick('cluster:a')).toContain('was removed');
  });

  it.each([
    [[READY, TRANSIENT_FAILURE, CONNECTING, IDLE], READY],
    [[TRANSIENT_FAILURE, CONNECTING, IDLE], CONNECTING],
    [[TRANSIENT_FAILURE, IDLE], IDLE],
    [[TRANSIENT_FAILURE, TRANSIENT_FAILURE], TRANSIENT_FAILURE],
  ])('is, with children in states %j, in state %j', (states, whole) => {
    const subject = new Subject();
    const names = states.map((_, i) => `cluster:${i}`);
    subject.update(...names);
    states.forEach((state, i) => subject.child(`cluster:${i}`).report(state));
    expect(subject.state).toBe(whole);
  });

  it('reports the error of a child, and fails each call with that of its own', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    subject.child('cluster:a').reportFailure('a is down');
    subject.child('cluster:b').reportFailure('b is down');
    expect(subject.harness.last.errorMessage).toBe('a is down');
    expect(subject.pick('cluster:b')).toBe('TRANSIENT_FAILURE b is down');
  });

  it('has failed when there are no clusters', () => {
    const subject = new Subject();
    subject.update();
    expect(subject.state).toBe(TRANSIENT_FAILURE);
    expect(subject.harness.last.errorMessage).toBe('There are no clusters');
  });

  it('does not count the state of a removed child', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    subject.child('cluster:a').reportReady('from a');
    subject.child('cluster:b').reportFailure('b is down');
    subject.update('cluster:b');
    expect(subject.state).toBe(TRANSIENT_FAILURE);
  });

  it('publishes one picker for all children that change in one batch', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    const before = subject.publications;
    subject.harness.batch.run(() => {
      subject.child('cluster:a').reportReady('from a');
      subject.child('cluster:b').reportReady('from b');
    });
    expect(subject.publications).toBe(before + 1);
    expect(subject.pick('cluster:b')).toContain('from b');
  });

  it('publishes another picker when only that of a child changed, so that pending calls continue', () => {
    const subject = new Subject();
    subject.update('cluster:a');
    subject.child('cluster:a').reportReady('first');
    const { picker } = subject.harness.last;
    subject.child('cluster:a').reportReady('second');
    expect(subject.harness.last.picker).not.toBe(picker);
    expect(subject.pick('cluster:a')).toContain('second');
  });

  it('does not update unchanged children', () => {
    const subject = new Subject();
    subject.update('cluster:a');
    subject.update('cluster:a', 'cluster:b');
    expect(subject.child('cluster:a').updates).toHaveLength(1);
  });

  it('wakes all children, and resets the backoff of all', () => {
    const subject = new Subject();
    subject.update('cluster:a', 'cluster:b');
    subject.harness.batch.run(() => {
      subject.policy.exitIdle();
      subject.policy.resetBackoff();
    });
    expect(subject.type.live.map((stub) => stub.exitIdleCalls)).toEqual([1, 1]);
    expect(subject.type.live.map((stub) => stub.resetBackoffCalls)).toEqual([1, 1]);
  });

  it('takes names such as constructor and __proto__ for names', () => {
    const subject = new Subject();
    subject.update('__proto__');
    subject.child('__proto__').reportReady('ready');
    expect(subject.pick('__proto__')).toContain('ready');
    expect(subject.pick('constructor')).toContain('is not part of');
  });
});
