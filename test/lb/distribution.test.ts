// Where calls go, counted through the pickers of whole policies. The randomness is seeded, so that the counts are the
// same each time; the bounds are five standard deviations of what chance would do, which one seed in a million exceeds.

import { DEFAULT_LIMITS } from '../../src/bootstrap/limits';
import { OrcaLoadReport } from '../../src/wire/generated/xds/data/orca/v3/orca_load_report';
import { ConnectivityState, Metadata, Status } from '../../src/grpc-js';
import type { XxHash64 } from '../../src/util/hashes';
import { createClusterImplPolicyType } from '../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../src/lb/cluster-impl/circuit-breaker';
import { ClusterImplConfig } from '../../src/lb/cluster-impl/config';
import type { EndpointSet } from '../../src/lb/endpoints/endpoint-set';
import { leastRequestPolicy } from '../../src/lb/least-request/balancer';
import { LeastRequestConfig } from '../../src/lb/least-request/config';
import type { LbPolicyType } from '../../src/lb/lb-policy';
import { createPickFirstPolicyType } from '../../src/lb/pick-first/balancer';
import { PickFirstConfig } from '../../src/lb/pick-first/config';
import { createRandomSubsettingPolicyType } from '../../src/lb/random-subsetting/balancer';
import { RandomSubsettingConfig } from '../../src/lb/random-subsetting/config';
import { createRingHashPolicyType } from '../../src/lb/ring-hash/balancer';
import { RingHashConfig } from '../../src/lb/ring-hash/config';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../src/lb/round-robin/config';
import { createWeightedRoundRobinPolicyTypes } from '../../src/lb/weighted-round-robin/balancer';
import {
  DEFAULT_SETTINGS,
  WeightedRoundRobinConfig,
} from '../../src/lb/weighted-round-robin/config';
import { FULL_WEIGHT } from '../../src/lb/weighted-round-robin/stride-scheduler';
import { weightedTargetPolicy } from '../../src/lb/weighted-target/balancer';
import { wrrLocalityPolicy } from '../../src/lb/wrr-locality/balancer';
import { WrrLocalityConfig } from '../../src/lb/wrr-locality/config';
import type { LbConfig } from '../../src/resources/extension-points';
import { readFeatureFlags } from '../../src/util/feature-flags';
import { FakeClock } from '../support/fake-clock';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pick,
  singleLocality,
} from '../support/lb-harness';
import { createReadyHash } from '../support/ready-hash';
import { seededRandom } from '../support/seeded-random';
import { RecordingReportSource } from './weighted-round-robin/recording-report-source';

const A = '10.0.0.1:80';
const B = '10.0.0.2:80';
const C = '10.0.0.3:80';
const flags = readFeatureFlags({});

let hash: XxHash64;
beforeAll(async () => {
  hash = await createReadyHash();
});

interface Options {
  readonly policies?: readonly LbPolicyType[];
  readonly seed?: number;
  /** What the route says of the call of that number. */
  readonly attributes?: (call: number) => object;
}

/** A policy in use, to which calls are made. */
class Cluster {
  readonly harness: LbHarness;
  private readonly policy;
  private calls = 0;

  constructor(
    type: LbPolicyType,
    private readonly config: LbConfig,
    private readonly options: Options = {},
  ) {
    this.harness = new LbHarness(options.policies ?? []);
    this.harness.random = seededRandom(options.seed ?? 1);
    this.policy = this.harness.create(type);
  }

  /** Serves the endpoints, each connected as soon as that is tried. */
  async serve(set: EndpointSet): Promise<this> {
    this.harness.updateEndpoints(this.policy, this.config, set);
    for (let connected = -1; connected < this.connected;) {
      connected = this.connected;
      await this.harness.settle();
      this.harness.batch.run(() => {
        for (const subchannel of this.harness.host.held) {
          if (subchannel.getConnectivityState() === ConnectivityState.IDLE) subchannel.connect();
        }
      });
    }
    return this;
  }

  private get connected(): number {
    return this.harness.host.held.filter(
      (subchannel) => subchannel.getConnectivityState() === ConnectivityState.READY,
    ).length;
  }

  /**
   * Makes a call, which ends at once.
   *
   * @param trailersOf What the backend of that address ends it with.
   * @returns the address, or what became of it instead.
   */
  call(trailersOf?: (address: string) => Metadata): string {
    const attributes = this.options.attributes?.(this.calls++) ?? {};
    const result = pick(this.harness.last.picker, attributes);
    const outcome = describePick(result).replace('COMPLETE ', '');
    result.onCallStarted?.();
    result.onCallEnded?.(Status.OK, '', trailersOf?.(outcome) ?? new Metadata());
    return outcome;
  }

  /** How many of the calls ended up where. */
  tally(calls: number): ReadonlyMap<string, number> {
    return count(Array.from({ length: calls }, () => this.call()));
  }
}

function count(items: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

/** Expects shares in proportion to the weights, as far as chance lets them be. */
function expectShares(
  counts: ReadonlyMap<string, number>,
  weights: Readonly<Record<string, number>>,
): void {
  const total = [...counts.values()].reduce((a, b) => a + b, 0);
  const sum = Object.values(weights).reduce((a, b) => a + b, 0);
  expect([...counts.keys()].sort()).toEqual(Object.keys(weights).sort());
  for (const [key, weight] of Object.entries(weights)) {
    const share = weight / sum;
    const deviation = Math.abs((counts.get(key) ?? 0) - total * share);
    expect(deviation).toBeLessThan(5 * Math.sqrt(total * share * (1 - share)));
  }
}

describe('the calls to a cluster', () => {
  it('go to each endpoint in turn by round_robin', async () => {
    const cluster = new Cluster(roundRobinPolicy, new RoundRobinConfig());
    await cluster.serve(singleLocality(A, B, C));
    expect([...cluster.tally(3000).values()]).toEqual([1000, 1000, 1000]);
  });

  it('go anywhere by least_request while no endpoint is busy', async () => {
    const cluster = new Cluster(leastRequestPolicy, new LeastRequestConfig(2));
    await cluster.serve(singleLocality(A, B, C));
    expectShares(cluster.tally(10_000), { [A]: 1, [B]: 1, [C]: 1 });
  });

  it.each([[{ [A]: 1, [B]: 2, [C]: 3 }], [{ [A]: 1, [B]: 4, [C]: 10 }]])(
    'go in exact proportion to %j in a cycle of weighted_round_robin',
    async (weights) => {
      const [type] = createWeightedRoundRobinPolicyTypes({
        oobReports: new RecordingReportSource(),
        customMetrics: false,
      });
      if (type === undefined) throw new Error('no policy');
      const cluster = new Cluster(type, new WeightedRoundRobinConfig(DEFAULT_SETTINGS));
      await cluster.serve(singleLocality(A, B, C));
      // 1. Every endpoint reports, twice because the first 10 seconds do not count, until weights are made of that.
      const report = (address: string): Metadata => {
        const rpsFractional = new Map(Object.entries(weights)).get(address) ?? 0;
        const load = OrcaLoadReport.create({ rpsFractional, applicationUtilization: 1 });
        const trailers = new Metadata();
        const bytes = OrcaLoadReport.encode(load).finish();
        trailers.set('endpoint-load-metrics-bin', Buffer.from(bytes));
        return trailers;
      };
      for (const waitMs of [10_000, 1000]) {
        for (let i = 0; i < 6; i++) cluster.call(report);
        cluster.harness.clock.advance(waitMs);
      }
      // 2. A cycle is over when the heaviest has had all of its turns.
      const heaviest = Math.max(...Object.values(weights));
      const turns = Object.fromEntries(
        Object.entries(weights).map(([key, weight]) => [
          key,
          Math.round((weight / heaviest) * FULL_WEIGHT),
        ]),
      );
      const cycle = Object.values(turns).reduce((a, b) => a + b, 0);
      expect(Object.fromEntries(cluster.tally(cycle))).toEqual(turns);
    },
  );

  it('go to localities by weight with xds_wrr_locality, and to each endpoint in turn there', async () => {
    const config = new WrrLocalityConfig(new RoundRobinConfig());
    const policies = [weightedTargetPolicy, roundRobinPolicy];
    const cluster = new Cluster(wrrLocalityPolicy, config, { policies });
    await cluster.serve(
      makeEndpointSet(makeLocality('near', [A, B], 7), makeLocality('far', [C], 3)),
    );
    expectShares(cluster.tally(10_000), { [A]: 3.5, [B]: 3.5, [C]: 3 });
  });

  it('go to one endpoint by pick_first, each client to another by weight', async () => {
    const type = createPickFirstPolicyType({ flags });
    const endpoints = [
      makeEndpoint(A),
      makeEndpoint(B, { weight: 2 }),
      makeEndpoint(C, { weight: 7 }),
    ];
    const clients: string[] = [];
    for (let seed = 0; seed < 300; seed++) {
      const cluster = new Cluster(type, new PickFirstConfig(true), { seed });
      await cluster.serve(singleLocality(...endpoints));
      const calls = cluster.tally(3);
      expect(calls.size).toBe(1);
      clients.push(...calls.keys());
    }
    expectShares(count(clients), { [A]: 1, [B]: 2, [C]: 7 });
  });

  it('go to as many endpoints as random_subsetting selects, different ones for each client', async () => {
    const type = createRandomSubsettingPolicyType({ hash });
    const config = new RandomSubsettingConfig(2, new RoundRobinConfig());
    const addresses = Array.from({ length: 10 }, (_, i) => `10.0.1.${i}:80`);
    const seen: string[] = [];
    for (let seed = 0; seed < 200; seed++) {
      const cluster = new Cluster(type, config, { policies: [roundRobinPolicy], seed });
      await cluster.serve(singleLocality(...addresses));
      const calls = cluster.tally(10);
      expect([...calls.values()]).toEqual([5, 5]);
      seen.push(...calls.keys());
    }
    expectShares(count(seen), Object.fromEntries(addresses.map((address) => [address, 1])));
  });

  it('are dropped by category as often as configured', async () => {
    const type = createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) });
    const config = new ClusterImplConfig({
      cluster: 'c',
      edsServiceName: '',
      // No calls come of these picks, and so none ends.
      maxRequests: Number.MAX_SAFE_INTEGER,
      drops: [
        { category: 'lb', perMillion: 200_000 },
        { category: 'throttle', perMillion: 500_000 },
      ],
      childPolicy: new RoundRobinConfig(),
    });
    const cluster = new Cluster(type, config, { policies: [roundRobinPolicy] });
    await cluster.serve(singleLocality(A));
    // The second category applies to what the first lets through.
    expectShares(cluster.tally(10_000), {
      'DROP Call dropped by category "lb" of cluster "c": see drop_overloads of its endpoints': 0.2,
      'DROP Call dropped by category "throttle" of cluster "c": see drop_overloads of its endpoints': 0.4,
      [A]: 0.4,
    });
  });
});

describe('the calls to a cluster with ring_hash', () => {
  const KEYS = 2000;

  /** Where the call with each key goes. */
  async function placesOfKeys(
    addresses: readonly string[],
    minRingSize: number,
  ): Promise<readonly string[]> {
    const config = new RingHashConfig({ minRingSize, maxRingSize: 4096, requestHashHeader: '' });
    const attributes = (call: number) => ({
      cluster: 'c',
      requestHash: () => hash.hash(`key ${call % KEYS}`),
    });
    const cluster = new Cluster(
      createRingHashPolicyType({ hash, flags, limits: DEFAULT_LIMITS }),
      config,
      { attributes },
    );
    // Endpoints are connected to when a call is to go there. Some may never be.
    for (;;) {
      await cluster.serve(singleLocality(...addresses));
      const places = Array.from({ length: KEYS }, () => cluster.call());
      if (!places.includes('QUEUE')) return places;
    }
  }

  const addressesOf = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}:80`);

  it('go to one endpoint for one key, and about as many to each', async () => {
    const addresses = addressesOf(10);
    const places = await placesOfKeys(addresses, 4000);
    expect(await placesOfKeys([...addresses].reverse(), 4000)).toEqual(places);
    // 400 entries each make for 5 % more or less by themselves, and so many keys for 7 %.
    for (const calls of count(places).values())
      expect(Math.abs(calls - 200)).toBeLessThan(5 * 17.3);
  });

  it.each([
    [4, 4],
    [10, 10],
    [20, 400],
  ])(
    'move only if theirs leaves, which makes one in %d when each has as many entries as before',
    async (n, entries) => {
      const addresses = addressesOf(n);
      const before = await placesOfKeys(addresses, entries);
      let moved = 0;
      for (const gone of addresses) {
        const others = addresses.filter((address) => address !== gone);
        const after = await placesOfKeys(others, entries - entries / n);
        const movers = before.filter((place, key) => place !== after[key]);
        expect(new Set(movers)).toEqual(new Set(before.filter((place) => place === gone)));
        moved += movers.length;
      }
      expect(moved / (n * KEYS)).toBe(1 / n);
    },
  );

  it('move by no more than as much again when the others get more entries for it', async () => {
    const addresses = addressesOf(10);
    const before = await placesOfKeys(addresses, 1024);
    let moved = 0;
    for (const gone of addresses) {
      const after = await placesOfKeys(
        addresses.filter((address) => address !== gone),
        1024,
      );
      moved += before.filter((place, key) => place !== after[key]).length;
    }
    expect(moved / (10 * KEYS)).toBeLessThan(2.2 / 10);
  });
});
