import {
  ConnectivityState,
  PickResultType,
  type Picker,
  type PickResult,
} from '../../../src/grpc-js';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig, type ClusterImplOptions } from '../../../src/lb/cluster-impl/config';
import { describeWait, queuePicker, WaitPicker, waitOf } from '../../../src/lb/connectivity';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness, describePick, pick } from '../../support/lb-harness';
import { StubPolicyType, type StubPolicy } from '../../support/lb-stub-policy';
import { FakeSubchannel } from '../../support/lb-subchannel';

const { CONNECTING, READY, TRANSIENT_FAILURE } = ConnectivityState;

const ADDRESS = { host: '10.0.0.1', port: 80 };
const PICKED = 'COMPLETE 10.0.0.1:80';

/** Picks one subchannel, and counts how often it was asked. */
class CountingPicker implements Picker {
  picks = 0;
  readonly subchannel = new FakeSubchannel(1, ADDRESS, {}, () => {});
  readonly result: PickResult = {
    pickResultType: PickResultType.COMPLETE,
    subchannel: this.subchannel,
    status: null,
    onCallStarted: () => {},
    onCallEnded: () => {},
  };

  pick(): PickResult {
    this.picks++;
    return this.result;
  }
}

/** A cluster_impl over a stub. */
class Subject {
  readonly stubs = new StubPolicyType();
  readonly counters: CallCounterMap;
  readonly harness = new LbHarness([this.stubs]);
  readonly picker = new CountingPicker();
  readonly policy;
  private readonly childPolicy = { policyName: 'stub' };

  constructor(counters = new CallCounterMap(new FakeClock())) {
    this.counters = counters;
    this.policy = this.harness.create(createClusterImplPolicyType({ counters }));
  }

  update(options: Partial<ClusterImplOptions> = {}): void {
    const config = new ClusterImplConfig({
      cluster: 'c',
      edsServiceName: '',
      maxRequests: 2,
      drops: [],
      childPolicy: this.childPolicy,
      ...options,
    });
    this.harness.updateEndpoints(this.policy, config, emptyEndpointSet);
  }

  get child(): StubPolicy {
    return this.stubs.instance(0);
  }

  /** The counter its calls are counted by. */
  get counter() {
    const hold = this.counters.acquire('c', '');
    hold.release();
    return hold.counter;
  }

  get pick(): string {
    return describePick(pick(this.harness.last.picker));
  }
}

/** A subject whose child is READY. */
function serving(options: Partial<ClusterImplOptions> = {}, counters?: CallCounterMap): Subject {
  const subject = new Subject(counters);
  subject.update(options);
  subject.child.report(READY, subject.picker);
  return subject;
}

describe('cluster_impl', () => {
  it('leaves the pick to its child', () => {
    const subject = serving();
    expect(subject.pick).toBe(PICKED);
    subject.child.report(CONNECTING, queuePicker);
    expect(subject.pick).toBe('QUEUE');
    expect(waitOf(pick(subject.harness.last.picker))).toBeUndefined();
    subject.child.report(CONNECTING, new WaitPicker(() => 'a is slow'));
    expect(waitOf(pick(subject.harness.last.picker))).toBe('Cluster "c": a is slow');
    expect(describeWait(subject.harness.last.picker)).toBe('a is slow');
    subject.child.reportFailure('down');
    expect(subject.pick).toBe('TRANSIENT_FAILURE Cluster "c": down');
    expect(subject.harness.last).toMatchObject({ state: TRANSIENT_FAILURE, errorMessage: 'down' });
  });

  it("keeps the callbacks of the child's pick", () => {
    const subject = serving();
    const result = pick(subject.harness.last.picker);
    expect(result.onCallStarted).toBe(subject.picker.result.onCallStarted);
    expect(result.onCallEnded).toBe(subject.picker.result.onCallEnded);
  });

  it('wraps a subchannel once, however often it is picked', () => {
    const subject = serving({ maxRequests: 100 });
    const first = pick(subject.harness.last.picker).subchannel;
    subject.child.report(READY, subject.picker);
    subject.update({ maxRequests: 50 });
    expect(pick(subject.harness.last.picker).subchannel).toBe(first);
  });

  it('passes on a pick without a subchannel', () => {
    const subject = serving();
    const result = { ...subject.picker.result, subchannel: null };
    subject.child.report(READY, { pick: () => result });
    expect(pick(subject.harness.last.picker)).toBe(result);
    expect(subject.counter.count).toBe(0);
  });

  describe('drops', () => {
    const drops = [
      { category: 'first', perMillion: 250_000 },
      { category: 'second', perMillion: 500_000 },
    ];

    it.each([
      [
        [0.2499999],
        'DROP Call dropped by category "first" of cluster "c": see drop_overloads of its endpoints',
      ],
      [
        [0.25, 0.4999999],
        'DROP Call dropped by category "second" of cluster "c": see drop_overloads of its endpoints',
      ],
      [[0.25, 0.5], PICKED],
    ])('tests a call against each category in turn, drawing %j', (draws, expected) => {
      const subject = new Subject();
      const random = [...draws];
      Object.assign(subject.harness.environment, { random: () => random.shift() });
      subject.update({ drops });
      subject.child.report(READY, subject.picker);
      expect(subject.pick).toBe(expected);
      expect(random).toEqual([]);
    });

    it('drops with UNAVAILABLE without picking from the child', () => {
      const subject = serving({ drops: [{ category: 'x', perMillion: 1_000_000 }] });
      subject.harness.random = 0.999999999;
      const result = pick(subject.harness.last.picker);
      expect(result.pickResultType).toBe(PickResultType.DROP);
      expect(result.status?.code).toBe(14);
      expect(subject.picker.picks).toBe(0);
    });

    it('drops nothing of a category with a share of 0', () => {
      const subject = serving({ drops: [{ category: 'x', perMillion: 0 }] });
      subject.harness.random = 0;
      expect(subject.pick).toBe(PICKED);
    });

    it('leaves calls alone that have to wait: they would be tested again and again', () => {
      const subject = serving({ drops: [{ category: 'x', perMillion: 1_000_000 }] });
      subject.child.report(CONNECTING, queuePicker);
      expect(subject.pick).toBe('QUEUE');
    });

    it('change without the child noticing', () => {
      const subject = serving();
      subject.update({ drops: [{ category: 'x', perMillion: 1_000_000 }] });
      expect(subject.pick).toBe(
        'DROP Call dropped by category "x" of cluster "c": see drop_overloads of its endpoints',
      );
      subject.update();
      expect(subject.pick).toBe(PICKED);
      expect(subject.child.updates).toHaveLength(1);
    });

    it('apply before the limit', () => {
      const subject = serving({
        maxRequests: 0,
        drops: [{ category: 'x', perMillion: 1_000_000 }],
      });
      expect(subject.pick).toContain('dropped by category');
    });
  });

  describe('limit', () => {
    const OVER =
      'DROP Cluster "c" has reached its limit of 2 concurrent requests: see max_requests of its circuit breakers';

    it('drops the call over the limit without picking from the child', () => {
      const subject = serving();
      expect([subject.pick, subject.pick, subject.pick]).toEqual([PICKED, PICKED, OVER]);
      expect(pick(subject.harness.last.picker).status?.code).toBe(14);
      expect(subject.picker.picks).toBe(2);
    });

    it('takes calls again when one has ended', () => {
      const subject = serving();
      subject.counter.start();
      subject.counter.start();
      expect(subject.pick).toBe(OVER);
      subject.counter.end();
      expect(subject.pick).toBe(PICKED);
    });

    it('is the same for every channel of the process', () => {
      const counters = new CallCounterMap(new FakeClock());
      const [one, another] = [serving({}, counters), serving({}, counters)];
      expect([one.pick, another.pick]).toEqual([PICKED, PICKED]);
      expect([one.pick, another.pick]).toEqual([OVER, OVER]);
    });

    it('does not count calls that wait or fail', () => {
      const subject = new Subject();
      subject.update();
      for (let i = 0; i < 5; i++) expect(subject.pick).toBe('QUEUE');
      subject.child.reportFailure('down');
      for (let i = 0; i < 5; i++) expect(subject.pick).toBe('TRANSIENT_FAILURE Cluster "c": down');
      expect(subject.counter.count).toBe(0);
    });

    it('changes without the child noticing, and leaves running calls alone', () => {
      const subject = serving({ maxRequests: 3 });
      subject.counter.start();
      subject.counter.start();
      subject.update({ maxRequests: 1 });
      expect(subject.counter.count).toBe(2);
      expect(subject.pick).toContain('limit of 1 concurrent');
      subject.counter.end();
      subject.counter.end();
      expect(subject.pick).toBe(PICKED);
      expect(subject.child.updates).toHaveLength(1);
    });

    it('counts anew under another EDS service name', () => {
      const subject = serving();
      subject.counter.start();
      subject.counter.start();
      expect(subject.pick).toBe(OVER);
      subject.update({ edsServiceName: 's' });
      expect(subject.pick).toBe(PICKED);
      // Only the counter in use is held, the other one is kept by its calls.
      expect(subject.counters.size).toBe(2);
      subject.counter.end();
      subject.counter.end();
      expect(subject.counters.size).toBe(1);
    });

    it('counts on where it was when it returns to an EDS service name', () => {
      const subject = serving();
      subject.counter.start();
      subject.counter.start();
      subject.update({ edsServiceName: 's' });
      subject.update();
      expect(subject.pick).toBe(OVER);
    });

    it('takes no call at all when it is 0', () => {
      expect(serving({ maxRequests: 0 }).pick).toContain('limit of 0 concurrent');
    });
  });

  it('publishes nothing when the config is the same object', () => {
    const subject = serving();
    const before = subject.harness.host.published.length;
    const { lastUpdate } = subject.child;
    const config = new ClusterImplConfig({
      cluster: 'c',
      edsServiceName: '',
      maxRequests: 2,
      drops: [],
      childPolicy: lastUpdate.config,
    });
    subject.harness.updateEndpoints(subject.policy, config, emptyEndpointSet);
    expect(subject.harness.host.published).toHaveLength(before + 1);
    subject.harness.updateEndpoints(subject.policy, config, emptyEndpointSet);
    expect(subject.harness.host.published).toHaveLength(before + 1);
  });

  it('releases the counter when it is destroyed', () => {
    const subject = serving();
    expect(subject.counters.size).toBe(1);
    subject.harness.batch.run(() => subject.policy.destroy());
    expect(subject.counters.size).toBe(0);
  });
});
