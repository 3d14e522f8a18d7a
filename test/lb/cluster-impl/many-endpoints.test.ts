import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import { FakeLbHost } from '../../../src/testing/fake-lb-host';
import { ok } from '../../../src/util/result';
import { TimeSlices } from '../../../src/util/time-slices';
import { LrsHarness, SERVER } from '../../xds-client/lrs/harness';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness, makeEndpointSet, makeLocality } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';

/** A clock on which each look at it takes so long that there is one step in a turn. */
class SlowerClock extends FakeClock {
  private looks = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + ++this.looks;
  }
}

function setUp() {
  const { reporter } = new LrsHarness();
  const releases: jest.SpyInstance[] = [];
  const acquire = reporter.acquire.bind(reporter);
  jest.spyOn(reporter, 'acquire').mockImplementation((source) => {
    const reference = acquire(source);
    releases.push(jest.spyOn(reference, 'release'));
    return reference;
  });
  const stub = new StubPolicyType();
  const harness = new LbHarness([stub]);
  const clock = new SlowerClock();
  const host = new FakeLbHost({
    ...harness.environment,
    clock,
    timeSlices: new TimeSlices(clock),
  });
  const counters = new CallCounterMap(harness.clock);
  const policy = createClusterImplPolicyType({ counters }).create(host);
  const update = (region: string, count: number, cluster = 'c') => {
    const addresses = Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}:80`);
    const config = new ClusterImplConfig({
      cluster,
      edsServiceName: 's',
      maxRequests: 100,
      drops: [],
      childPolicy: { policyName: 'stub' },
      loadReporting: { reporter, server: SERVER, metrics: [] },
    });
    const endpoints = ok(makeEndpointSet(makeLocality(region, addresses)));
    harness.send(policy, harness.completeUpdate({ config, endpoints }));
  };
  const regions = () =>
    stub.instances.flatMap(({ updates }) =>
      updates.map(({ endpoints }) =>
        endpoints.ok ? endpoints.value.localities[0]?.locality.region : undefined,
      ),
    );
  const settle = () => {
    for (let turn = 0; turn < 200; turn++) clock.advance(1);
  };
  const destroy = () => harness.batch.run(() => policy.destroy());
  const released = () => releases.map((each) => each.mock.calls.length);
  return { harness, stub, update, regions, settle, destroy, released };
}

describe('cluster_impl with load reports', () => {
  it('updates its child at once if there are few endpoints', () => {
    const { update, regions } = setUp();
    update('a', 200);
    update('b', 200);
    expect(regions()).toEqual(['a', 'b']);
  });

  it('updates its child when the localities of many endpoints are known, and with the newest of several updates', () => {
    const { update, regions, settle } = setUp();
    update('a', 5000);
    expect(regions()).toEqual([]);
    update('b', 10);
    update('c', 10);
    settle();
    expect(regions()).toEqual(['a', 'c']);
  });

  it('counts for the cluster before until then', () => {
    const { update, settle, released } = setUp();
    update('a', 10);
    update('a', 5000, 'other');
    expect(released()).toEqual([0, 0]);
    settle();
    expect(released()).toEqual([1, 0]);
  });

  it('releases what it counts with when it is destroyed in between', () => {
    const { harness, update, regions, settle, destroy, released } = setUp();
    update('a', 10);
    update('b', 5000, 'other');
    destroy();
    expect(released()).toEqual([1, 1]);
    settle();
    expect(regions()).toEqual(['a']);
    expect(harness.errors).toEqual([]);
  });
});
