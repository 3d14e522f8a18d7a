import { ConnectivityState, Metadata, Status } from '../../../src/grpc-js';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../../src/lb/cluster-impl/config';
import type { LbPolicy } from '../../../src/lb/lb-policy';
import type { EndpointState, PolicyParts } from '../../../src/lb/tree/policy-state';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { OutlierDetectionLbConfig } from '../../../src/lb/outlier-detection/config';
import { ObservedEndpoint } from '../../../src/lb/outlier-detection/observed-endpoints';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import type { LbConfig } from '../../../src/resources/extension-points';
import type { OutlierDetectionConfig } from '../../../src/resources/cluster/cluster';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pick,
  pickError,
  singleLocality,
} from '../../support/lb-harness';
import { DiagnosticRecorder } from '../../support/diagnostic-recorder';
import { StubPolicyType } from '../../support/lb-stub-policy';
import { detectionWith, failurePercentage, successRate } from './detection';

const { READY, TRANSIENT_FAILURE } = ConnectivityState;

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const D = '10.0.0.4:80';
const B6 = '[::1]:80';
const INTERVAL_MS = 10_000;
const BASE_MS = 30_000;

/** outlier_detection over round_robin, unless told otherwise, with calls that end as the test says. */
class Subject {
  readonly harness = new LbHarness([
    createClusterImplPolicyType({ counters: new CallCounterMap(new LbHarness().clock) }),
    roundRobinPolicy,
  ]);
  readonly policy: LbPolicy;
  readonly failing = new Set<string>();

  constructor(
    private endpoints: readonly (string | XdsEndpoint)[],
    private detection: OutlierDetectionConfig = detectionWith({ failurePercentage }),
    private readonly childPolicy: LbConfig = new RoundRobinConfig(),
  ) {
    const [type] = outlierDetectionPolicies;
    if (type === undefined) throw new Error('No policy');
    this.policy = this.harness.create(type);
    this.update({});
    this.harness.batch.run(() => {
      for (const subchannel of this.harness.host.subchannels) subchannel.connect();
    });
  }

  update(change: {
    endpoints?: readonly (string | XdsEndpoint)[];
    detection?: Partial<OutlierDetectionConfig>;
  }): void {
    this.endpoints = change.endpoints ?? this.endpoints;
    if (change.detection !== undefined) this.detection = detectionWith(change.detection);
    const config = new OutlierDetectionLbConfig(this.detection, this.childPolicy);
    this.harness.updateEndpoints(this.policy, config, singleLocality(...this.endpoints));
  }

  /** Makes calls, which the failing endpoints fail. Returns who was called. */
  call(times = 60): Set<string> {
    const called = new Set<string>();
    for (let i = 0; i < times; i++) {
      const { subchannel, onCallEnded } = pick(this.harness.last.picker);
      const address = subchannel?.getAddress() ?? '';
      called.add(address);
      const status = this.failing.has(address) ? Status.UNAVAILABLE : Status.OK;
      onCallEnded?.(status, '', new Metadata());
    }
    return called;
  }

  /** Calls, then lets time pass until endpoints are judged. */
  sweep(times?: number): void {
    this.call(times);
    this.harness.clock.advance(INTERVAL_MS);
  }

  /** Who gets calls. */
  get used(): string[] {
    const used = new Set<string>();
    for (let i = 0; i < 20; i++) used.add(describePick(pick(this.harness.last.picker)));
    return [...used].map((text) => text.replace('COMPLETE ', '')).sort();
  }
}

function endpointsOf({
  endpoints = [],
  children = [],
}: PolicyParts = {}): readonly EndpointState[] {
  return [...endpoints, ...children.flatMap((child) => endpointsOf(child))];
}

describe('outlier_detection', () => {
  it.each([
    ['failure percentage', { failurePercentage }],
    ['success rate', { successRate }],
    ['both', { failurePercentage, successRate }],
  ])('ejects an endpoint that fails, by %s', (_, algorithms) => {
    const subject = new Subject([A, B, C], detectionWith(algorithms));
    subject.failing.add(B);
    subject.call();
    expect(subject.used).toEqual([A, B, C]);
    subject.harness.clock.advance(INTERVAL_MS - 1);
    expect(subject.used).toEqual([A, B, C]);
    subject.harness.clock.advance(1);
    expect(subject.used).toEqual([A, C]);
  });

  it.each([
    ['IPv6', B6, [A, B6, C]],
    ['several addresses', B, [A, makeEndpoint([B, B6]), C]],
  ])('describes an ejected endpoint as ejected, with %s', (_, failing, endpoints) => {
    const subject = new Subject(endpoints);
    subject.failing.add(failing);
    subject.sweep();
    const described = endpointsOf(subject.policy.describe?.());
    expect(described.filter(({ ejected }) => ejected).map(({ addresses }) => addresses[0])).toEqual(
      [failing],
    );
    subject.harness.clock.advance(BASE_MS);
    subject.failing.clear();
    subject.sweep();
    expect(endpointsOf(subject.policy.describe?.()).some(({ ejected }) => ejected)).toBe(false);
  });

  it.each<[string, (subject: Subject) => void]>([
    ['time', ({ harness }) => harness.clock.advance(BASE_MS + INTERVAL_MS)],
    ['the removal of the endpoint', (subject) => subject.update({ endpoints: [A, C] })],
    ['a config without detection', (subject) => subject.update({ detection: {} })],
    ['the end of the policy', ({ policy }) => policy.destroy()],
  ])('publishes an ejection, and its end by %s', (_, end) => {
    const recorder = new DiagnosticRecorder(
      'grpc-xds:endpoint-ejected',
      'grpc-xds:endpoint-unejected',
    );
    const subject = new Subject([A, B, C]);
    subject.failing.add(B);
    subject.sweep();
    const endpoint = { nodeId: '', target: '', cluster: '', address: B };
    const text = '0 calls succeeded, 20 failed';
    expect(recorder.take()).toEqual([
      ['grpc-xds:endpoint-ejected', { ...endpoint, method: 'failure_percentage', text }],
    ]);
    end(subject);
    expect(recorder.take()).toEqual([['grpc-xds:endpoint-unejected', endpoint]]);
    expect(subject.used).not.toEqual([]);
  });

  it('leaves the connection of an ejected endpoint alone', () => {
    const subject = new Subject([A, B, C]);
    subject.failing.add(B);
    subject.sweep();
    expect(subject.used).toEqual([A, C]);
    expect(subject.harness.subchannel(B).getConnectivityState()).toBe(READY);
    expect(subject.harness.subchannel(B).refs).toBeGreaterThan(0);
    expect(subject.harness.host.created.length).toBe(3);
  });

  it('counts only calls since the last time', () => {
    const subject = new Subject([A, B, C]);
    subject.failing.add(B);
    subject.call(15);
    subject.harness.clock.advance(INTERVAL_MS);
    subject.call(15);
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, B, C]);
  });

  it('counts calls that end after a sweep for the next one', () => {
    const subject = new Subject([A, B, C]);
    const results = Array.from({ length: 60 }, () => pick(subject.harness.last.picker));
    subject.harness.clock.advance(INTERVAL_MS);
    for (const { subchannel, onCallEnded } of results) {
      const status = subchannel?.getAddress() === B ? Status.INTERNAL : Status.OK;
      onCallEnded?.(status, '', new Metadata());
    }
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, C]);
  });

  it('unejects an endpoint after the base time', () => {
    const subject = new Subject([A, B, C]);
    subject.failing.add(B);
    subject.sweep();
    subject.harness.clock.advance(BASE_MS);
    // Judged at the very end of the time, and it has to be over.
    expect(subject.used).toEqual([A, C]);
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, B, C]);
  });

  it('ejects for longer each time, up to the limit', () => {
    const times = { baseEjectionTimeMs: 25_000, maxEjectionTimeMs: 60_000 };
    const subject = new Subject([A, B, C], detectionWith({ failurePercentage, ...times }));
    subject.failing.add(B);
    const durations: number[] = [];
    for (let i = 0; i < 4; i++) {
      subject.sweep();
      let ms = 0;
      while (!subject.used.includes(B)) {
        subject.harness.clock.advance(INTERVAL_MS);
        ms += INTERVAL_MS;
      }
      durations.push(ms);
    }
    expect(durations).toEqual([30_000, 60_000, 70_000, 70_000]);
  });

  it('never ejects for less than the base time', () => {
    const times = { baseEjectionTimeMs: 25_000, maxEjectionTimeMs: 1000 };
    const subject = new Subject([A, B, C], detectionWith({ failurePercentage, ...times }));
    subject.failing.add(B);
    subject.sweep();
    subject.harness.clock.advance(2 * INTERVAL_MS);
    expect(subject.used).toEqual([A, C]);
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, B, C]);
  });

  it('forgives an ejection with every interval without', () => {
    const times = { baseEjectionTimeMs: 5000 };
    const subject = new Subject([A, B, C], detectionWith({ failurePercentage, ...times }));
    subject.failing.add(B);
    subject.sweep();
    subject.harness.clock.advance(INTERVAL_MS);
    subject.sweep();
    // Ejected for the second time, for 10 s, and so let in only at the second sweep after.
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, C]);
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, B, C]);
    subject.harness.clock.advance(3 * INTERVAL_MS);
    subject.sweep();
    subject.harness.clock.advance(INTERVAL_MS);
    expect(subject.used).toEqual([A, B, C]);
  });

  it('ejects no more endpoints than the max ejection percent allows', () => {
    const subject = new Subject([A, B, C, D]);
    for (const address of [A, B, C]) subject.failing.add(address);
    subject.sweep(80);
    expect(subject.used).toHaveLength(2);
    subject.sweep(80);
    expect(subject.used).toHaveLength(2);
  });

  it('ejects for real only as often as configured', () => {
    const gate = { ...failurePercentage, enforcementPercentage: 40 };
    const subject = new Subject([A, B, C], detectionWith({ failurePercentage: gate }));
    subject.failing.add(B);
    subject.harness.random = 0.4;
    subject.sweep();
    expect(subject.used).toEqual([A, B, C]);
    subject.harness.random = 0.39;
    subject.sweep();
    expect(subject.used).toEqual([A, C]);
  });

  it('publishes nothing as long as some endpoint is left', () => {
    const subject = new Subject([A, B, C, D]);
    for (const address of [A, B]) subject.failing.add(address);
    const before = subject.harness.host.published.length;
    subject.sweep(80);
    expect(subject.used).toEqual([C, D]);
    expect(subject.harness.host.published.length).toBe(before);
  });

  it('fails calls when all endpoints are ejected, and publishes that once', () => {
    const subject = new Subject(
      [A, B, C],
      detectionWith({ failurePercentage, maxEjectionPercent: 100 }),
    );
    for (const address of [A, B, C]) subject.failing.add(address);
    const before = subject.harness.host.published.length;
    subject.sweep();
    expect(subject.harness.host.published.length).toBe(before + 1);
    expect(subject.harness.last.state).toBe(TRANSIENT_FAILURE);
    expect(pickError(subject.harness.last.picker)).toMatch(
      /^No endpoint can be used\. Last error: ejected by outlier detection \(10\.0\.0\.\d:80 in /,
    );
    subject.harness.clock.advance(BASE_MS + INTERVAL_MS);
    expect(subject.used).toEqual([A, B, C]);
  });

  it('traces its verdicts under the name for GRPC_TRACE', () => {
    const traced: string[] = [];
    const subject = new Subject([A, B, C]);
    Object.assign(subject.harness.environment, {
      logger: {
        trace: (tracer: string, text: () => string) => traced.push(`${tracer}: ${text()}`),
        info() {},
        error() {},
      },
    });
    subject.failing.add(B);
    subject.sweep();
    subject.harness.clock.advance(BASE_MS + INTERVAL_MS);
    expect(traced).toEqual([
      `outlier_detection: ${B} had 0 successes, 20 failures: ejected`,
      `outlier_detection: ${B} is unejected`,
    ]);
  });

  describe('over cluster_impl', () => {
    const clusterImpl = new ClusterImplConfig({
      cluster: 'c',
      edsServiceName: '',
      maxRequests: 1024,
      drops: [],
      childPolicy: new RoundRobinConfig(),
    });

    it('counts the calls of subchannels that are wrapped once more', () => {
      const detection = detectionWith({ failurePercentage });
      const subject = new Subject([A, B, C], detection, clusterImpl);
      subject.failing.add(B);
      subject.sweep();
      expect(subject.used).toEqual([A, C]);
    });
  });

  describe('and its subchannels', () => {
    it('are not seen by policies above', () => {
      const subject = new Subject([A, B, C]);
      const { subchannel } = pick(subject.harness.last.picker);
      expect(subject.harness.host.subchannels).toContain(subchannel);
    });

    it('are not observed where the address is of no endpoint', () => {
      const stub = new StubPolicyType();
      const harness = new LbHarness([stub]);
      const [type] = outlierDetectionPolicies;
      const policy = type?.create(harness.host);
      const config = new OutlierDetectionLbConfig(detectionWith({ failurePercentage }), {
        policyName: 'stub',
      });
      if (policy === undefined) throw new Error('No policy');
      harness.updateEndpoints(policy, config, singleLocality(A));
      const { host } = stub.instance(0);
      const strange = host.createSubchannel({ host: '10.9.9.9', port: 80 }, {});
      const result = {
        ...pick(harness.last.picker),
        pickResultType: 0,
        subchannel: strange,
      };
      stub.instance(0).report(READY, { pick: () => result });
      expect(pick(harness.last.picker)).toBe(result);
    });

    it('are ejected from the start if their endpoint is', async () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.sweep();
      subject.harness.subchannel(B).disconnect();
      await subject.harness.settle();
      expect(subject.harness.subchannel(B).connectRequests).toBeGreaterThan(0);
      subject.harness.subchannel(B).connect();
      expect(subject.used).toEqual([A, C]);
      subject.harness.clock.advance(BASE_MS + INTERVAL_MS);
      expect(subject.used).toEqual([A, B, C]);
    });
  });

  describe('when endpoints change', () => {
    it('keeps an endpoint ejected that stays', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.sweep();
      subject.update({ endpoints: [makeEndpoint(B, { weight: 2 }), A, C] });
      expect(subject.used).toEqual([A, C]);
    });

    it('starts again with an endpoint that was removed', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.sweep();
      subject.update({ endpoints: [A, C] });
      subject.update({ endpoints: [A, B, C] });
      subject.harness.subchannel(B).connect();
      expect(subject.used).toEqual([A, B, C]);
    });

    it('keeps the counts of an endpoint that moves to another locality', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.call();
      const config = new OutlierDetectionLbConfig(
        detectionWith({ failurePercentage }),
        new RoundRobinConfig(),
      );
      const set = makeEndpointSet(makeLocality('x', [A]), makeLocality('y', [B, C]));
      subject.harness.updateEndpoints(subject.policy, config, set);
      subject.harness.clock.advance(INTERVAL_MS);
      expect(subject.used).toEqual([A, C]);
    });

    it('judges the addresses of one endpoint together', () => {
      const subject = new Subject([makeEndpoint([A, D]), B, C]);
      subject.failing.add(A);
      subject.call(30);
      subject.failing.clear();
      expect(subject.used).toContain(A);
      subject.harness.clock.advance(INTERVAL_MS);
      expect(subject.used).toEqual([B, C]);
    });
  });

  describe('when the config changes', () => {
    it('keeps the phase', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.call();
      subject.harness.clock.advance(8000);
      subject.update({ detection: { failurePercentage, intervalMs: 9000 } });
      subject.harness.clock.advance(999);
      expect(subject.used).toEqual([A, B, C]);
      subject.harness.clock.advance(1);
      expect(subject.used).toEqual([A, C]);
    });

    it('judges at once if that is overdue by the new interval', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.call();
      subject.harness.clock.advance(8000);
      subject.update({ detection: { failurePercentage, intervalMs: 5000 } });
      subject.harness.clock.advance(0);
      expect(subject.used).toEqual([A, C]);
    });

    it('leaves the time of the next judgement if the interval stays', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.call();
      for (let i = 0; i < 9; i++) {
        subject.harness.clock.advance(1000);
        subject.update({ detection: { failurePercentage, baseEjectionTimeMs: i } });
      }
      subject.harness.clock.advance(1000);
      expect(subject.used).toEqual([A, C]);
    });

    it('unejects all endpoints, counts nothing and sets no timer without an algorithm', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.sweep();
      subject.update({ detection: {} });
      expect(subject.used).toEqual([A, B, C]);
      expect(subject.harness.clock.pendingTimers).toBe(0);
      expect(pick(subject.harness.last.picker).onCallEnded).toBeNull();
    });

    it('starts anew when there is an algorithm again', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      const picker = subject.harness.last.picker;
      const late = Array.from({ length: 60 }, () => pick(picker));
      subject.update({ detection: {} });
      // Calls that began before still end, and are not to count.
      for (const { onCallEnded } of late) onCallEnded?.(Status.INTERNAL, '', new Metadata());
      subject.harness.clock.advance(8000);
      subject.update({ detection: { failurePercentage } });
      expect(subject.harness.clock.pendingTimers).toBe(1);
      subject.harness.clock.advance(9999);
      subject.call(30);
      subject.harness.clock.advance(1);
      expect(subject.used).toEqual([A, C]);
    });

    it('ejects for the base time after detection was off', () => {
      const subject = new Subject([A, B, C]);
      subject.failing.add(B);
      subject.sweep();
      subject.update({ detection: {} });
      subject.update({ detection: { failurePercentage } });
      subject.sweep();
      expect(subject.used).toEqual([A, C]);
      subject.harness.clock.advance(BASE_MS + INTERVAL_MS);
      expect(subject.used).toEqual([A, B, C]);
    });

    it('publishes nothing if calls are counted as before', () => {
      const subject = new Subject([A, B, C]);
      const before = subject.harness.host.published.length;
      subject.update({ detection: { successRate, intervalMs: 1000 } });
      expect(subject.harness.host.published.length).toBe(before);
    });

    it.each([
      [0, '0s'],
      [1e-6, '0.000000001s'],
      [1, '0.001s'],
      [99, '0.099s'],
    ])('sweeps every 100 ms with an interval of %d ms, which it logs once', (intervalMs, text) => {
      const subject = new Subject([A, B, C]);
      const log = jest.spyOn(subject.harness.environment.logger, 'error');
      subject.update({ detection: { failurePercentage, intervalMs } });
      subject.update({ endpoints: [A, B, C] });
      expect(log.mock.calls.map(([line]) => line())).toEqual([
        `Cluster "": outlier detection uses an interval of 0.1s, because ${text} is shorter`,
      ]);
      log.mockRestore();
      subject.failing.add(B);
      subject.call();
      subject.harness.clock.advance(99);
      expect(subject.used).toEqual([A, B, C]);
      subject.harness.clock.advance(1);
      expect(subject.used).toEqual([A, C]);
    });
  });

  describe('of many endpoints', () => {
    const MANY = Array.from({ length: 200 }, (_, i) => `10.1.0.${i}:80`);
    const visits = jest.spyOn(ObservedEndpoint.prototype, 'takeCalls');
    const settled = jest.spyOn(ObservedEndpoint.prototype, 'settle');
    const visitsOf = (sweeps: number, subject: Subject) => {
      visits.mockClear();
      settled.mockClear();
      subject.harness.clock.advance(sweeps * INTERVAL_MS);
      return [visits.mock.calls.length, settled.mock.calls.length];
    };

    it('sweeps those with calls, and no others', () => {
      const subject = new Subject(MANY);
      expect(visitsOf(1, subject)).toEqual([0, 0]);
      subject.call(3);
      expect(visitsOf(1, subject)).toEqual([3, 3]);
      expect(visitsOf(10, subject)).toEqual([0, 0]);
    });

    it('sweeps those that are ejected, until their ejection is forgiven', () => {
      const gate = { ...failurePercentage, minimumHosts: 1, requestVolume: 1 };
      const subject = new Subject(MANY, detectionWith({ failurePercentage: gate }));
      for (const address of MANY) subject.failing.add(address);
      subject.call(2);
      expect(visitsOf(1, subject)).toEqual([2, 2]);
      // Ejected for 30 s, then swept once more, which forgives the ejection.
      expect(visitsOf(3, subject)).toEqual([6, 6]);
      expect(visitsOf(2, subject)).toEqual([4, 4]);
      expect(visitsOf(10, subject)).toEqual([0, 0]);
    });

    it('does not sweep those that are listed no more, whose calls still end', () => {
      const subject = new Subject(MANY);
      const { onCallEnded } = pick(subject.harness.last.picker);
      subject.update({ endpoints: [] });
      onCallEnded?.(Status.UNAVAILABLE, '', new Metadata());
      expect(visitsOf(2, subject)).toEqual([0, 0]);
    });
  });

  it('keeps serving after a config of another policy', () => {
    const subject = new Subject([A]);
    subject.harness.updateEndpoints(
      subject.policy,
      { policyName: 'pick_first' },
      singleLocality(B),
    );
    expect(subject.used).toEqual([A]);
  });
});
