// An update of the cluster switches outlier detection on, off and on again: what the policies below know survives.

import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { OrcaLoadReport } from '../../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { Metadata, Status, type PickResult } from '../../../src/grpc-js';
import type { XxHash64 } from '../../../src/util/hashes';
import { CdsConfig } from '../../../src/lb/cds/config';
import { createPolicyRegistry } from '../../../src/lb/registry/create-policy-registry';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { outlierDetectionPolicies } from '../../../src/lb/outlier-detection/balancer';
import { NO_DETECTION, OutlierDetectionLbConfig } from '../../../src/lb/outlier-detection/config';
import {
  ObservedSubchannel,
  OutlierDetectionPicker,
} from '../../../src/lb/outlier-detection/observed-subchannel';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../../src/lb/weighted-round-robin/config';
import type { HealthStatus, XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import type { LbConfig } from '../../../src/resources/extension-points';
import type { OutlierDetectionConfig } from '../../../src/resources/cluster/cluster';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { silentLogger } from '../../../src/util/logger';
import { ok } from '../../../src/util/result';
import { FakeClock } from '../../support/fake-clock';
import {
  LbHarness,
  makeAddress,
  makeEndpoint,
  makeLocality,
  pick,
  pickAddress,
  singleLocality,
} from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';
import { lbContext, leafOf } from '../../support/lb-xds-config';
import { createReadyHash } from '../../support/ready-hash';
import { edsCluster } from '../../support/xds-builders';
import { detectionWith, failurePercentage } from './detection';
import { cdsPolicy } from '../../support/lb-policies';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const INTERVAL_MS = 10_000;
/** As detection is switched by one update after the other. */
const SWITCHES = [
  ['off', detectionWith({})],
  ['on', detectionWith({ maxEjectionPercent: 100, failurePercentage })],
  ['off', undefined],
  ['on', detectionWith({ maxEjectionPercent: 100, failurePercentage })],
] as const;

let hash: XxHash64;
beforeAll(async () => {
  hash = await createReadyHash();
});

/** A cluster of endpoints, some of them connected to. */
class Scene {
  readonly harness: LbHarness;
  private readonly policy;
  private endpoints: readonly XdsEndpoint[] = [A, B, C].map((address) => makeEndpoint(address));
  private detection: OutlierDetectionConfig | undefined;

  constructor(private readonly lbConfig: LbConfig) {
    const registry = createPolicyRegistry({
      clock: new FakeClock(),
      random: () => 0,
      logger: silentLogger,
      flags: readFeatureFlags({}),
      hash,
      limits: DEFAULT_LIMITS,
    });
    this.harness = new LbHarness(registry);
    this.policy = this.harness.create(cdsPolicy);
    this.update();
  }

  switchDetection(detection: OutlierDetectionConfig | undefined): void {
    this.detection = detection;
    this.update();
  }

  replaceEndpoints(endpoints: readonly XdsEndpoint[]): void {
    this.endpoints = endpoints;
    this.update();
  }

  connect(...addresses: readonly string[]): void {
    this.harness.batch.run(() => {
      for (const address of addresses) this.harness.subchannel(address).connect();
    });
  }

  pick(attributes?: object): PickResult {
    return pick(this.harness.last.picker, attributes);
  }

  /** Calls fail at the address and succeed elsewhere; then the endpoints are judged. */
  sweep(failing: string, calls = 60): void {
    for (let i = 0; i < calls; i++) {
      const { subchannel, onCallEnded } = this.pick();
      const status = subchannel?.getAddress() === failing ? Status.UNAVAILABLE : Status.OK;
      onCallEnded?.(status, '', new Metadata());
    }
    this.harness.clock.advance(INTERVAL_MS);
  }

  /** The addresses that calls go to. */
  used(calls = 30): string[] {
    const addresses = new Set<string>();
    for (let i = 0; i < calls; i++) addresses.add(pickAddress(this.harness.last.picker));
    return [...addresses].sort();
  }

  private update(): void {
    const { lbConfig, detection, endpoints } = this;
    const cluster = {
      ...edsCluster('c', ''),
      lbConfig,
      outlierDetection: detection,
      // The calls of a test never end for cluster_impl.
      maxRequests: 1_000_000,
      overrideHostStatuses: new Set<HealthStatus>(['UNKNOWN', 'HEALTHY', 'DRAINING']),
    };
    const priorities = [{ localities: [makeLocality('r', endpoints)] }];
    this.harness.update(this.policy, {
      config: new CdsConfig('c', false),
      endpoints: ok(emptyEndpointSet),
      xds: lbContext({ c: leafOf(cluster, { priorities }) }),
    });
  }
}

/** A call of a session on the address, which notes the endpoint it got. */
function sessionOn(address: string) {
  const picked: (readonly string[])[] = [];
  const overrideHost = {
    addresses: [address],
    onPicked: (addresses: readonly string[]) => picked.push(addresses),
  };
  return { attributes: { cluster: 'cluster:c', overrideHost }, picked };
}

/** Trailers with a load report that gives the weight. */
function trailersFor(weight: number): Metadata {
  const report = OrcaLoadReport.create({ rpsFractional: weight, applicationUtilization: 1 });
  const trailers = new Metadata();
  trailers.set('endpoint-load-metrics-bin', Buffer.from(OrcaLoadReport.encode(report).finish()));
  return trailers;
}

describe('outlier_detection switched on and off', () => {
  it('keeps every connection, and calls never wait', () => {
    const scene = new Scene(new RoundRobinConfig());
    scene.connect(A, B, C);
    const { host } = scene.harness;
    for (const [, detection] of SWITCHES) {
      const before = host.published.length;
      scene.switchDetection(detection);
      for (const { picker } of host.published.slice(before))
        expect(pickAddress(picker)).toBeTruthy();
      expect(scene.used()).toEqual([A, B, C]);
    }
    expect(host.subchannels.map(({ closed, refs }) => ({ closed, refs }))).toEqual(
      [A, B, C].map(() => ({ closed: false, refs: 1 })),
    );
    expect(scene.harness.errors).toEqual([]);
  });

  it('looks up no subchannel again', () => {
    const scene = new Scene(new RoundRobinConfig());
    scene.connect(A, B, C);
    scene.pick(sessionOn(B).attributes);
    const created = scene.harness.host.created.length;
    for (const [, detection] of SWITCHES) scene.switchDetection(detection);
    expect(scene.harness.host.created.length).toBe(created);
  });

  it('ejects on the connections that were made while it was off', () => {
    const scene = new Scene(new RoundRobinConfig());
    scene.connect(A, B, C);
    for (const [state, detection] of SWITCHES) {
      scene.switchDetection(detection);
      scene.sweep(B);
      expect(scene.used()).toEqual(state === 'on' ? [A, C] : [A, B, C]);
    }
  });

  it('passes the picker of its child through unchanged while off, and its options at all times', () => {
    const stub = new StubPolicyType();
    const harness = new LbHarness([stub]);
    const [type] = outlierDetectionPolicies;
    if (type === undefined) throw new Error('No policy');
    const policy = harness.create(type);
    for (const [state, detection] of SWITCHES) {
      const config = new OutlierDetectionLbConfig(detection ?? NO_DETECTION, {
        policyName: 'stub',
      });
      harness.updateEndpoints(policy, config, singleLocality(A));
      const child = stub.instance(0);
      child.reportReady('picker');
      expect(child.lastUpdate.options).toBe(harness.options);
      if (state === 'off') expect(harness.last.picker).toMatchObject({ name: 'picker' });
      else expect(harness.last.picker).toBeInstanceOf(OutlierDetectionPicker);
    }
    expect(stub.instances).toHaveLength(1);
  });

  it('sends calls to an ejected endpoint once it is off, and does not eject it when it is on again', () => {
    const scene = new Scene(new RoundRobinConfig());
    scene.connect(A, B, C);
    scene.switchDetection(SWITCHES[1][1]);
    scene.sweep(B);
    expect(scene.used()).toEqual([A, C]);
    scene.switchDetection(undefined);
    expect(scene.used()).toEqual([A, B, C]);
    scene.switchDetection(SWITCHES[1][1]);
    expect(scene.used()).toEqual([A, B, C]);
    scene.sweep(C);
    expect(scene.used()).toEqual([A, B]);
  });

  it('observes connections when its first endpoints follow an update without any', () => {
    const scene = new Scene(new RoundRobinConfig());
    scene.connect(A, B, C);
    scene.replaceEndpoints([]);
    scene.switchDetection(SWITCHES[1][1]);
    scene.replaceEndpoints([A, B, C].map((address) => makeEndpoint(address)));
    scene.connect(A, B, C);
    scene.sweep(B);
    expect(scene.used()).toEqual([A, C]);
  });

  it('observes endpoints that have connections already, and stops when it is off', () => {
    const stub = new StubPolicyType();
    const harness = new LbHarness([stub]);
    const [type] = outlierDetectionPolicies;
    if (type === undefined) throw new Error('No policy');
    const policy = harness.create(type);
    const set = singleLocality(A, B);
    const switchTo = (detection: OutlierDetectionConfig) => {
      const config = new OutlierDetectionLbConfig(detection, { policyName: 'stub' });
      harness.updateEndpoints(policy, config, set);
    };
    switchTo(NO_DETECTION);
    const child = stub.instance(0);
    const subchannels = [A, B].map((address) =>
      child.host.createSubchannel(makeAddress(address), child.lastUpdate.options),
    );
    for (const subchannel of subchannels) subchannel.ref();
    const observed = () =>
      subchannels.map((each) => each instanceof ObservedSubchannel && each.endpoint !== undefined);
    switchTo(detectionWith({ failurePercentage }));
    expect(observed()).toEqual([true, true]);
    switchTo(NO_DETECTION);
    expect(observed()).toEqual([false, false]);
    expect(harness.clock.pendingTimers).toBe(0);
    for (const subchannel of subchannels) subchannel.unref();
    harness.batch.run(() => policy.destroy());
    expect(harness.host.held).toEqual([]);
    expect(harness.errors).toEqual([]);
  });

  it('keeps the weights of weighted_round_robin without another blackout period', () => {
    const scene = new Scene(new WeightedRoundRobinConfig({ ...DEFAULT_SETTINGS }));
    scene.connect(A, B, C);
    const weights = new Map([
      [A, 100],
      [B, 200],
      [C, 700],
    ]);
    const call = (times: number): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (let i = 0; i < times; i++) {
        const { subchannel, onCallEnded } = scene.pick();
        const address = subchannel?.getAddress() ?? '';
        counts[address] = (counts[address] ?? 0) + 1;
        onCallEnded?.(Status.OK, '', trailersFor(weights.get(address) ?? 0));
      }
      return counts;
    };
    call(30);
    scene.harness.clock.advance(DEFAULT_SETTINGS.blackoutPeriodMs);
    call(30);
    scene.harness.clock.advance(DEFAULT_SETTINGS.weightUpdatePeriodMs);
    const expected = call(1000);
    expect(expected).toEqual({ [A]: 100, [B]: 200, [C]: 700 });
    for (const [, detection] of SWITCHES) {
      scene.switchDetection(detection);
      expect(call(1000)).toEqual(expected);
      scene.harness.clock.advance(DEFAULT_SETTINGS.weightUpdatePeriodMs);
      expect(call(1000)).toEqual(expected);
    }
  });

  it('keeps sessions on a DRAINING endpoint, whose connection nothing else references', async () => {
    const scene = new Scene(new RoundRobinConfig());
    scene.connect(A, B, C);
    scene.pick(sessionOn(B).attributes);
    scene.replaceEndpoints([
      makeEndpoint(A),
      makeEndpoint(B, { health: 'DRAINING' }),
      makeEndpoint(C),
    ]);
    for (const [, detection] of SWITCHES) {
      scene.switchDetection(detection);
      await scene.harness.settle();
      const session = sessionOn(B);
      expect(scene.pick(session.attributes).subchannel?.getAddress()).toBe(B);
      expect(session.picked).toEqual([[B]]);
    }
    expect(scene.harness.subchannel(B)).toMatchObject({ closed: false, refs: 1 });
  });
});
