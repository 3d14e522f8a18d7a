import {
  ConnectivityState,
  Metadata,
  PickResultType,
  Status,
  type Picker,
  type Subchannel,
} from '../../../src/grpc-js';
import type { CallListener } from '../../../src/grpc-js/subchannel-wrappers';
import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig, type ClusterImplOptions } from '../../../src/lb/cluster-impl/config';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { LrsHarness, SERVER } from '../../xds-client/lrs/harness';
import { LbHarness, makeEndpointSet, makeLocality, pick } from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';
import { FakeSubchannel } from '../../support/lb-subchannel';

const INTERVAL_MS = 1000;

/** A subchannel on which calls start, or do not. */
class CallingSubchannel extends FakeSubchannel {
  readonly listeners: CallListener[] = [];
  isBroken = false;

  override getRealSubchannel(): ReturnType<Subchannel['getRealSubchannel']> {
    const createCall = (_metadata: Metadata, _host: string, _method: string, l: CallListener) => {
      if (this.isBroken) throw new Error('The connection is gone');
      this.listeners.push(l);
    };
    // Of a connection, nothing else is used.
    return { createCall } as unknown as ReturnType<Subchannel['getRealSubchannel']>;
  }

  /** Ends the oldest call. */
  end(code: Status, metadata = new Metadata()): void {
    this.listeners.shift()?.onReceiveStatus({ code, details: '', metadata });
  }
}

/** A cluster_impl over one subchannel, and the server its load is reported to. */
class Subject {
  readonly lrs = new LrsHarness();
  readonly stubs = new StubPolicyType();
  readonly harness = new LbHarness([this.stubs]);
  readonly subchannel = new CallingSubchannel(1, { host: '10.0.0.1', port: 80 }, {}, () => {});
  private readonly policy = this.harness.create(
    createClusterImplPolicyType({ counters: new CallCounterMap(this.harness.clock) }),
  );
  readonly reporting = { reporter: this.lrs.reporter, server: SERVER, metrics: [] };
  private readonly childPolicy = { policyName: 'stub' };

  update(options: Partial<ClusterImplOptions> = {}, endpoints = inRegion('a')): void {
    const config = new ClusterImplConfig({
      cluster: 'c',
      edsServiceName: 's',
      maxRequests: 100,
      drops: [],
      childPolicy: this.childPolicy,
      loadReporting: this.reporting,
      ...options,
    });
    this.harness.updateEndpoints(this.policy, config, endpoints);
  }

  serve(): void {
    const picker: Picker = {
      pick: () => ({
        pickResultType: PickResultType.COMPLETE,
        subchannel: this.subchannel,
        status: null,
        onCallStarted: null,
        onCallEnded: null,
      }),
    };
    this.stubs.instance(0).report(ConnectivityState.READY, picker);
    this.lrs.clock.flush();
    this.lrs.order({ intervalMs: INTERVAL_MS });
  }

  /** Picks, and starts the call. */
  start(): void {
    const { subchannel } = pick(this.harness.last.picker);
    const listener: CallListener = {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: () => undefined,
      onReceiveStatus: () => undefined,
    };
    subchannel?.getRealSubchannel().createCall(new Metadata(), '', '', listener, 0);
  }

  get report(): string[] {
    this.lrs.clock.advance(INTERVAL_MS);
    return this.lrs.report;
  }

  destroy(): void {
    this.harness.batch.run(() => this.policy.destroy());
  }
}

function inRegion(region: string): EndpointSet {
  const locality = makeLocality(region, ['10.0.0.1:80']);
  return makeEndpointSet({ ...locality, locality: { ...locality.locality, zone: region } });
}

function serving(options: Partial<ClusterImplOptions> = {}): Subject {
  const subject = new Subject();
  subject.update(options);
  subject.serve();
  return subject;
}

const line = (interval: number, dropped = '0') => `c/s over ${interval} ms, dropped ${dropped}`;

describe('the load that cluster_impl reports', () => {
  it('is each call, by locality and outcome', () => {
    const subject = serving();
    for (let i = 0; i < 4; i++) subject.start();
    subject.subchannel.end(Status.OK);
    subject.subchannel.end(Status.CANCELLED);
    subject.subchannel.end(Status.OK);
    expect(subject.report).toEqual([line(1000), '  a: 4 issued, 2 ok, 1 failed, 1 running']);
  });

  it('is not a call that was picked for and never started, nor one that could not start', () => {
    const subject = serving();
    pick(subject.harness.last.picker);
    subject.subchannel.isBroken = true;
    expect(() => subject.start()).toThrow('The connection is gone');
    expect(subject.report).toEqual([]);
  });

  it('is calls dropped by category, and those that were too many', () => {
    const half = { category: 'half', perMillion: 500_000 };
    const subject = serving({ drops: [half], maxRequests: 1 });
    for (const random of [0.1, 0.4, 0.6, 0.7, 0.8]) {
      subject.harness.random = random;
      subject.start();
    }
    expect(subject.report).toEqual([
      line(1000, '4 (half 2)'),
      '  a: 1 issued, 0 ok, 0 failed, 1 running',
    ]);
  });

  it('is counted for the new locality of an endpoint on the same connection', () => {
    const subject = serving();
    subject.start();
    subject.update({}, inRegion('b'));
    subject.start();
    subject.subchannel.end(Status.OK);
    subject.subchannel.end(Status.OK);
    expect(subject.report).toEqual([
      line(1000),
      '  a: 1 issued, 1 ok, 0 failed, 0 running',
      '  b: 1 issued, 1 ok, 0 failed, 0 running',
    ]);
  });

  it('continues when the rest of the config changes', () => {
    const subject = serving();
    subject.start();
    subject.update({ maxRequests: 50 });
    subject.start();
    expect(subject.report).toEqual([line(1000), '  a: 2 issued, 0 ok, 0 failed, 2 running']);
    expect(subject.lrs.streamCount).toBe(1);
  });

  it('starts when it is requested, and ends when it is not any more', () => {
    const subject = new Subject();
    subject.update({ loadReporting: undefined });
    subject.lrs.clock.flush();
    expect(subject.lrs.streamCount).toBe(0);
    subject.update();
    subject.serve();
    subject.start();
    subject.subchannel.end(Status.OK);
    subject.update({ loadReporting: undefined });
    subject.start();
    subject.lrs.clock.flush();
    expect(subject.lrs.report).toEqual([line(0), '  a: 1 issued, 1 ok, 0 failed, 0 running']);
    expect(subject.lrs.stream.isHalfClosed).toBe(true);
  });

  it('is that of the old service and the new one, when the name of the service changes', () => {
    const subject = serving();
    subject.start();
    subject.update({ edsServiceName: 'new' });
    subject.start();
    subject.subchannel.end(Status.OK);
    subject.subchannel.end(Status.OK);
    expect(subject.report).toEqual([
      line(1000),
      '  a: 1 issued, 1 ok, 0 failed, 0 running',
      'c/new over 1000 ms, dropped 0',
      '  a: 1 issued, 1 ok, 0 failed, 0 running',
    ]);
  });

  it('includes what backends report with calls, if the cluster requests it', () => {
    const subject = new Subject();
    const { reporting } = subject;
    subject.update({ loadReporting: { ...reporting, metrics: ['named_metrics.queue'] } });
    subject.serve();
    const trailers = new Metadata();
    const report = OrcaLoadReport.create({ namedMetrics: new Map([['queue', 3]]) });
    trailers.set('endpoint-load-metrics-bin', Buffer.from(OrcaLoadReport.encode(report).finish()));
    for (const [code, metadata] of [
      [Status.OK, trailers],
      [Status.ABORTED, trailers],
      [Status.OK, new Metadata()],
    ] as const) {
      subject.start();
      subject.subchannel.end(code, metadata);
    }
    subject.update({ loadReporting: reporting });
    subject.start();
    subject.subchannel.end(Status.OK, trailers);
    subject.lrs.clock.advance(INTERVAL_MS);
    expect(subject.lrs.metrics).toEqual(['a named_metrics.queue: 2 calls, 6']);
    expect(subject.lrs.report).toEqual([line(1000), '  a: 4 issued, 3 ok, 1 failed, 0 running']);
  });

  it('leaves nothing when the policy is destroyed', () => {
    const subject = serving();
    subject.start();
    subject.destroy();
    subject.subchannel.end(Status.OK);
    subject.lrs.clock.flush();
    expect(subject.lrs.report).toEqual([line(0), '  a: 1 issued, 1 ok, 0 failed, 0 running']);
    subject.lrs.stream.end(0, '');
    expect(subject.lrs.clock.pendingTimers).toBe(0);
    expect(subject.lrs.network.openConnections).toBe(0);
  });
});
