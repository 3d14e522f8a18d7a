import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { ConnectivityState, Metadata, Status } from '../../../src/grpc-js';
import type { PickResult } from '../../../src/grpc-js';
import type { LbPolicy } from '../../../src/lb/lb-policy';
import { createWeightedRoundRobinPolicyTypes } from '../../../src/lb/weighted-round-robin/balancer';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
  type WeightedRoundRobinSettings,
} from '../../../src/lb/weighted-round-robin/config';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  pick,
  pickAddress,
  pickError,
  singleLocality,
} from '../../support/lb-harness';
import { RecordingReportSource } from './recording-report-source';

const { CONNECTING } = ConnectivityState;

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const BLACKOUT_MS = 10_000;
const UPDATE_MS = 1000;

/** Endpoints that report with the calls, and how they are used. */
class Subject {
  readonly oobReports = new RecordingReportSource();
  readonly harness = new LbHarness();
  readonly policy: LbPolicy;
  private config: WeightedRoundRobinConfig;

  constructor(
    private readonly addresses: string[],
    settings: Partial<WeightedRoundRobinSettings> = {},
  ) {
    const [type] = createWeightedRoundRobinPolicyTypes({
      oobReports: this.oobReports,
      customMetrics: true,
    });
    if (type === undefined) throw new Error('No policy');
    this.policy = this.harness.create(type);
    this.config = configWith(settings);
    this.update(addresses);
  }

  update(addresses: readonly string[], settings?: Partial<WeightedRoundRobinSettings>): void {
    if (settings !== undefined) this.config = configWith(settings);
    this.harness.updateEndpoints(this.policy, this.config, singleLocality(...addresses));
  }

  connectAll(): this {
    this.harness.batch.run(() => {
      for (const address of this.addresses) this.harness.subchannel(address).connect();
    });
    return this;
  }

  pick(): PickResult {
    return pick(this.harness.last.picker);
  }

  /** Picks, and ends each call with the load of whom was picked. */
  call(times: number, loads: ReadonlyMap<string, Partial<OrcaLoadReport>>): Map<string, number> {
    const counts = new Map<string, number>();
    for (let i = 0; i < times; i++) {
      const result = this.pick();
      const address = result.subchannel?.getAddress() ?? describePick(result);
      counts.set(address, (counts.get(address) ?? 0) + 1);
      result.onCallEnded?.(Status.OK, '', trailersWith(loads.get(address)));
    }
    return counts;
  }

  /** Has everybody report until weights count. */
  warmUp(loads: ReadonlyMap<string, Partial<OrcaLoadReport>>): void {
    this.call(this.addresses.length * 2, loads);
    this.harness.clock.advance(BLACKOUT_MS);
    this.call(this.addresses.length * 2, loads);
    this.harness.clock.advance(UPDATE_MS);
  }
}

function configWith(settings: Partial<WeightedRoundRobinSettings>): WeightedRoundRobinConfig {
  return new WeightedRoundRobinConfig({ ...DEFAULT_SETTINGS, ...settings });
}

function trailersWith(load: Partial<OrcaLoadReport> | undefined): Metadata {
  const trailers = new Metadata();
  if (load !== undefined) {
    const bytes = OrcaLoadReport.encode(OrcaLoadReport.create(load)).finish();
    trailers.set('endpoint-load-metrics-bin', Buffer.from(bytes));
  }
  return trailers;
}

/** Loads that make for the given weights. */
function loadsFor(weights: Record<string, number>): Map<string, Partial<OrcaLoadReport>> {
  return new Map(
    Object.entries(weights).map(([address, weight]) => [
      address,
      { rpsFractional: weight, applicationUtilization: 1 },
    ]),
  );
}

function shares(counts: ReadonlyMap<string, number>): Record<string, number> {
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  return Object.fromEntries(
    [...counts].map(([address, count]) => [address, Math.round((count / total) * 100)]),
  );
}

describe('weighted_round_robin', () => {
  it('uses all in turn as long as none reports', () => {
    const subject = new Subject([A, B, C]).connectAll();
    expect(subject.call(300, new Map())).toEqual(
      new Map([
        [A, 100],
        [B, 100],
        [C, 100],
      ]),
    );
  });

  it('begins at random', () => {
    const subject = new Subject([A, B, C]);
    subject.harness.random = 0.99;
    subject.connectAll();
    expect([1, 2, 3].map(() => pickAddress(subject.harness.last.picker))).toEqual([C, A, B]);
  });

  it('uses the weights after the blackout period', () => {
    const subject = new Subject([A, B]).connectAll();
    const loads = loadsFor({ [A]: 100, [B]: 300 });
    subject.call(10, loads);
    subject.harness.clock.advance(BLACKOUT_MS - 1);
    expect(shares(subject.call(100, loads))).toEqual({ [A]: 50, [B]: 50 });
    subject.harness.clock.advance(UPDATE_MS);
    expect(shares(subject.call(1000, loads))).toEqual({ [A]: 25, [B]: 75 });
  });

  it('takes all in turn again when reports cease', () => {
    const subject = new Subject([A, B]).connectAll();
    subject.warmUp(loadsFor({ [A]: 100, [B]: 300 }));
    subject.harness.clock.advance(DEFAULT_SETTINGS.weightExpirationPeriodMs - UPDATE_MS - 1);
    expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 25, [B]: 75 });
    subject.harness.clock.advance(UPDATE_MS);
    expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 50, [B]: 50 });
  });

  it('counts errors as load', () => {
    const subject = new Subject([A, B], { errorUtilizationPenalty: 2 }).connectAll();
    subject.warmUp(
      new Map([
        [A, { rpsFractional: 100, eps: 50, applicationUtilization: 1 }],
        [B, { rpsFractional: 100, applicationUtilization: 1 }],
      ]),
    );
    expect(shares(subject.call(3000, new Map()))).toEqual({ [A]: 33, [B]: 67 });
  });

  it('uses the configured metrics', () => {
    const metricNamesForComputingUtilization = ['named_metrics.queue'];
    const subject = new Subject([A, B], { metricNamesForComputingUtilization }).connectAll();
    const load = (queue: number) => ({
      rpsFractional: 100,
      applicationUtilization: 1,
      namedMetrics: new Map([['queue', queue]]),
    });
    subject.warmUp(
      new Map([
        [A, load(4)],
        [B, load(1)],
      ]),
    );
    expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 20, [B]: 80 });
  });

  it('applies new weights every update period, and not before', () => {
    const subject = new Subject([A, B], { weightUpdatePeriodMs: 5000 }).connectAll();
    subject.warmUp(loadsFor({ [A]: 100, [B]: 300 }));
    subject.harness.clock.advance(5000);
    expect(shares(subject.call(1000, loadsFor({ [A]: 300, [B]: 100 })))).toEqual({
      [A]: 25,
      [B]: 75,
    });
    subject.harness.clock.advance(5000);
    expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 75, [B]: 25 });
  });

  it('publishes nothing when weights change', () => {
    const subject = new Subject([A, B]).connectAll();
    const { published } = subject.harness.host;
    const before = published.length;
    subject.warmUp(loadsFor({ [A]: 100, [B]: 300 }));
    expect(published.length).toBe(before);
  });

  it('keeps the weight of an endpoint over updates', () => {
    const subject = new Subject([A, B]).connectAll();
    subject.warmUp(loadsFor({ [A]: 100, [B]: 300 }));
    subject.update([B, C, A]);
    subject.harness.clock.advance(UPDATE_MS);
    expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 25, [B]: 75 });
  });

  it('keeps the weight of an endpoint whose addresses are listed in another order', () => {
    const harness = new LbHarness();
    const [type] = createWeightedRoundRobinPolicyTypes({
      oobReports: new RecordingReportSource(),
      customMetrics: true,
    });
    const policy = type?.create(harness.host);
    if (policy === undefined) throw new Error('No policy');
    const config = configWith({ blackoutPeriodMs: 0 });
    harness.updateEndpoints(policy, config, singleLocality(makeEndpoint([A, C]), B));
    for (const address of [A, B]) harness.subchannel(address).connect();
    const loads = loadsFor({ [A]: 100, [B]: 300 });
    for (let i = 0; i < 4; i++) {
      const result = pick(harness.last.picker);
      const trailers = trailersWith(loads.get(result.subchannel?.getAddress() ?? ''));
      result.onCallEnded?.(Status.OK, '', trailers);
    }
    harness.updateEndpoints(policy, config, singleLocality(makeEndpoint([C, A]), B));
    harness.clock.advance(UPDATE_MS);
    const counts = new Map([A, B].map((address) => [address, 0]));
    for (let i = 0; i < 400; i++) {
      const address = pickAddress(harness.last.picker);
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
    expect(shares(counts)).toEqual({ [A]: 25, [B]: 75 });
  });

  it('drops the weight of a removed endpoint', () => {
    const subject = new Subject([A, B], { blackoutPeriodMs: 0 }).connectAll();
    subject.warmUp(loadsFor({ [A]: 100, [B]: 300 }));
    subject.update([A]);
    subject.update([A, B]);
    subject.harness.subchannel(B).connect();
    subject.harness.clock.advance(UPDATE_MS);
    expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 50, [B]: 50 });
  });

  it('imposes another blackout on an endpoint that was reconnected', async () => {
    const subject = new Subject([A, B]).connectAll();
    const loads = loadsFor({ [A]: 100, [B]: 300 });
    subject.warmUp(loads);
    subject.harness.subchannel(A).disconnect();
    await subject.harness.settle();
    subject.harness.subchannel(A).connect();
    subject.harness.clock.advance(UPDATE_MS);
    expect(shares(subject.call(100, loads))).toEqual({ [A]: 50, [B]: 50 });
    subject.harness.clock.advance(BLACKOUT_MS);
    expect(shares(subject.call(1000, loads))).toEqual({ [A]: 25, [B]: 75 });
  });

  it('uses only endpoints that are READY, with one picker', () => {
    const subject = new Subject([A, B]);
    expect(describePick(subject.pick())).toBe('QUEUE');
    subject.harness.subchannel(A).connect();
    const { picker } = subject.harness.last;
    subject.harness.subchannel(B).connect();
    expect(shares(subject.call(10, new Map()))).toEqual({ [A]: 50, [B]: 50 });
    subject.harness.subchannel(A).disconnect();
    expect(shares(subject.call(10, new Map()))).toEqual({ [B]: 100 });
    expect(subject.harness.last.picker).toBe(picker);
    subject.harness.subchannel(B).disconnect();
    expect(describePick(pick(picker))).toBe('QUEUE');
    expect(subject.harness.last.state).toBe(CONNECTING);
  });

  it('sets no timer while nothing is READY', () => {
    const subject = new Subject([A]);
    const { clock } = subject.harness;
    expect(clock.pendingTimers).toBe(0);
    subject.connectAll();
    expect(clock.pendingTimers).toBe(1);
    subject.harness.subchannel(A).disconnect();
    expect(clock.pendingTimers).toBe(0);
  });

  it('fails calls with the last connection errors', () => {
    const subject = new Subject([A, B]);
    subject.harness.subchannel(A).fail('connection refused');
    subject.harness.subchannel(B).fail('no route to host');
    expect(pickError(subject.harness.last.picker)).toBe(
      'No connection established. Last errors: ' +
        `no route to host (${B} in {region="r", zone="", sub_zone=""}); ` +
        `connection refused (${A} in {region="r", zone="", sub_zone=""})`,
    );
  });

  it('traces weights under the name for GRPC_TRACE', () => {
    const traced: string[] = [];
    const harness = new LbHarness();
    const environment = {
      ...harness.environment,
      logger: {
        trace: (tracer: string, text: () => string) => traced.push(`${tracer}: ${text()}`),
        info() {},
        error() {},
      },
    };
    const [type] = createWeightedRoundRobinPolicyTypes({
      oobReports: new RecordingReportSource(),
      customMetrics: true,
    });
    if (type === undefined) throw new Error('No policy type');
    const policy = type.create(Object.assign(harness.host, { environment }));
    harness.updateEndpoints(policy, configWith({}), singleLocality(A, B));
    for (const address of [A, B]) harness.subchannel(address).connect();
    harness.clock.advance(UPDATE_MS);
    expect(traced).toEqual([`weighted_round_robin: weights ${A}=0, ${B}=0`]);
  });

  describe('when settings change', () => {
    it('measures blackout and expiration anew at once', () => {
      const subject = new Subject([A, B]).connectAll();
      subject.call(10, loadsFor({ [A]: 100, [B]: 300 }));
      subject.update([A, B], { blackoutPeriodMs: 0 });
      expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 25, [B]: 75 });
    });

    it('takes over the update period', () => {
      const subject = new Subject([A, B], { blackoutPeriodMs: 0 }).connectAll();
      subject.update([A, B], { blackoutPeriodMs: 0, weightUpdatePeriodMs: 60_000 });
      subject.call(10, loadsFor({ [A]: 100, [B]: 300 }));
      subject.harness.clock.advance(59_999);
      expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 50, [B]: 50 });
      subject.harness.clock.advance(1);
      expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 25, [B]: 75 });
    });

    it('does not put the next update off if the period stays', () => {
      const subject = new Subject([A, B], { blackoutPeriodMs: 0 }).connectAll();
      subject.harness.clock.advance(UPDATE_MS - 1);
      subject.update([A, B], { blackoutPeriodMs: 0 });
      subject.call(10, loadsFor({ [A]: 100, [B]: 300 }));
      subject.harness.clock.advance(1);
      expect(shares(subject.call(1000, new Map()))).toEqual({ [A]: 25, [B]: 75 });
    });

    it('opens no connection', () => {
      const subject = new Subject([A, B]).connectAll();
      const { created } = subject.harness.host;
      const before = created.length;
      subject.update([A, B], { enableOobLoadReport: true });
      subject.update([A, B], { blackoutPeriodMs: 1 });
      expect(created.length).toBe(before);
    });
  });

  describe('reports out of band', () => {
    const oob = { enableOobLoadReport: true, blackoutPeriodMs: 0 };

    it('are requested from every backend that is READY', () => {
      const subject = new Subject([A, B, C], oob);
      expect(subject.oobReports.summary).toEqual([]);
      for (const address of [A, B]) subject.harness.subchannel(address).connect();
      expect(subject.oobReports.summary).toEqual([`${A} every 10000 ms`, `${B} every 10000 ms`]);
    });

    it('are used instead of those that come with calls', () => {
      const subject = new Subject([A, B], oob).connectAll();
      for (const [address, load] of loadsFor({ [A]: 100, [B]: 300 })) {
        subject.oobReports.report(address, OrcaLoadReport.create(load));
      }
      expect(subject.pick().onCallEnded).toBeNull();
      subject.harness.clock.advance(UPDATE_MS);
      const loads = loadsFor({ [A]: 300, [B]: 100 });
      expect(shares(subject.call(1000, loads))).toEqual({ [A]: 25, [B]: 75 });
    });

    it('end when a connection is lost, or the endpoint or the policy is destroyed', () => {
      const subject = new Subject([A, B, C], oob).connectAll();
      subject.harness.subchannel(A).disconnect();
      expect(subject.oobReports.summary).toEqual([`${B} every 10000 ms`, `${C} every 10000 ms`]);
      subject.update([A, B]);
      expect(subject.oobReports.summary).toEqual([`${B} every 10000 ms`]);
      subject.harness.batch.run(() => subject.policy.destroy());
      expect(subject.oobReports.summary).toEqual([]);
    });

    it('follow changes of the config', () => {
      const subject = new Subject([A]).connectAll();
      expect(subject.oobReports.summary).toEqual([]);
      subject.update([A], oob);
      expect(subject.oobReports.summary).toEqual([`${A} every 10000 ms`]);
      subject.update([A], { ...oob, oobReportingPeriodMs: 5000 });
      expect(subject.oobReports.summary).toEqual([`${A} every 5000 ms`]);
      subject.update([A], { ...oob, oobReportingPeriodMs: 5000, errorUtilizationPenalty: 2 });
      expect(subject.oobReports.subscribed).toBe(2);
      subject.update([A], {});
      expect(subject.oobReports.summary).toEqual([]);
      expect(subject.pick().onCallEnded).not.toBeNull();
    });
  });
});
