import { ConnectivityState } from '../../../src/grpc-js';
import { XxHash64 } from '../../../src/util/hashes';
import { allEndpoints, type EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { firstAddress } from '../../../src/lb/endpoints/endpoint-key';
import type { LbPolicy } from '../../../src/lb/lb-policy';
import { createPickFirstPolicyType } from '../../../src/lb/pick-first/balancer';
import { PickFirstConfig } from '../../../src/lb/pick-first/config';
import { createRandomSubsettingPolicyType } from '../../../src/lb/random-subsetting/balancer';
import { RandomSubsettingConfig } from '../../../src/lb/random-subsetting/config';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { err, ok } from '../../../src/util/result';
import { stubConfig } from '../../support/lb-config-parser';
import {
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pickError,
  singleLocality,
} from '../../support/lb-harness';
import { StubPolicyType } from '../../support/lb-stub-policy';
import { createBrokenHash, createReadyHash, whenReady } from '../../support/ready-hash';
import { seededRandom } from '../../support/seeded-random';

let hash: XxHash64;
beforeAll(async () => {
  hash = await createReadyHash();
});

// The same object in every update, as when a parser shares what did not change.
const HERE = { region: 'r', zone: '', subZone: '' };

/** A policy over a child that the test plays. */
class Subject {
  readonly stub = new StubPolicyType();
  readonly harness = new LbHarness([this.stub]);
  readonly policy: LbPolicy;

  constructor(seed: number, withHash = hash) {
    this.harness.random = seededRandom(seed);
    this.policy = this.harness.create(createRandomSubsettingPolicyType({ hash: withHash }));
  }

  update(endpoints: readonly XdsEndpoint[], size = 20): void {
    const config = new RandomSubsettingConfig(size, stubConfig);
    const set = makeEndpointSet({ locality: HERE, weight: 1, endpoints });
    this.harness.updateEndpoints(this.policy, config, set);
  }

  /** What the child was last told. */
  get subset(): EndpointSet {
    const { endpoints } = this.stub.instance(0).lastUpdate;
    if (!endpoints.ok) throw new Error(endpoints.error);
    return endpoints.value;
  }

  get members(): Set<XdsEndpoint> {
    return new Set(allEndpoints(this.subset));
  }

  get childUpdates(): number {
    return this.stub.instance(0).updates.length;
  }
}

function makeEndpoints(count: number): XdsEndpoint[] {
  return Array.from({ length: count }, (_, i) => makeEndpoint(`10.0.${i >> 8}.${i & 255}:80`));
}

/** The addresses in the order of a policy whose random numbers have a seed. */
function byRank(addresses: readonly string[], seedOfRandom: number): readonly string[] {
  const random = seededRandom(seedOfRandom);
  const half = () => BigInt(Math.floor(random() * 2 ** 32));
  const seed = (half() << 32n) | half();
  const ranked = addresses.map((address) => ({ address, rank: hash.hash(address, seed) }));
  return ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1)).map(({ address }) => address);
}

function countMissing(from: ReadonlySet<unknown>, other: ReadonlySet<unknown>): number {
  return [...from].filter((member) => !other.has(member)).length;
}

describe('random_subsetting', () => {
  it('has the child use so many endpoints', () => {
    const subject = new Subject(1);
    subject.update(makeEndpoints(100));
    expect(subject.members.size).toBe(20);
    subject.update(makeEndpoints(100), 30);
    expect(subject.members.size).toBe(30);
    expect(subject.stub.instance(0).lastUpdate.config).toBe(stubConfig);
  });

  it('has the child use all if they are not more', () => {
    const subject = new Subject(1);
    const endpoints = makeEndpoints(20);
    subject.update(endpoints);
    expect([...subject.members]).toEqual(endpoints);
  });

  it('ranks by XXH64 of the first address with its seed', () => {
    const subject = new Subject(9);
    const endpoints = makeEndpoints(50);
    subject.update(endpoints, 7);
    const expected = byRank(endpoints.map(firstAddress), 9).slice(0, 7);
    expect(Array.from(allEndpoints(subject.subset), firstAddress)).toEqual(expected);
  });

  it.each([1, 2, 3])(
    'has pick_first try the endpoint of lowest rank first, with seed %s',
    async (seed) => {
      const harness = new LbHarness([
        createPickFirstPolicyType({ flags: { weightedShuffling: true } }),
      ]);
      harness.random = seededRandom(seed);
      const policy = harness.create(createRandomSubsettingPolicyType({ hash }));
      const addresses = Array.from({ length: 20 }, (_, i) => `127.0.0.${i + 1}:80`);
      const set = makeEndpointSet(
        makeLocality('x', addresses.slice(0, 10)),
        makeLocality('y', addresses.slice(10)),
      );
      const config = new RandomSubsettingConfig(5, new PickFirstConfig(false));
      harness.updateEndpoints(policy, config, set);
      await harness.settle();
      const [first = ''] = byRank(addresses, seed);
      expect(harness.subchannel(first).connectRequests).toBe(1);
    },
  );

  it('does not update the child when an unused endpoint is replaced by one that weighs the same', () => {
    const subject = new Subject(2);
    const endpoints = makeEndpoints(100);
    subject.update(endpoints);
    const { members, subset, childUpdates } = subject;
    const other = makeEndpoint('127.0.9.9:80');
    subject.update(endpoints.map((endpoint) => (members.has(endpoint) ? endpoint : other)));
    expect(subject.subset).toBe(subset);
    expect(subject.childUpdates).toBe(childUpdates);
  });

  it('keeps the endpoints of the child when an unused one is removed', () => {
    const subject = new Subject(2);
    const endpoints = makeEndpoints(100);
    subject.update(endpoints);
    const { members, subset } = subject;
    const unused = endpoints.find((endpoint) => !members.has(endpoint));
    subject.update(endpoints.filter((endpoint) => endpoint !== unused));
    expect(subject.subset.localities).toBe(subset.localities);
  });

  it('replaces one removed endpoint by one other', () => {
    const subject = new Subject(3);
    const endpoints = makeEndpoints(100);
    subject.update(endpoints);
    const { members } = subject;
    const [gone] = members;
    subject.update(endpoints.filter((endpoint) => endpoint !== gone));
    expect(countMissing(members, subject.members)).toBe(1);
    expect(countMissing(subject.members, members)).toBe(1);
  });

  it('changes by one endpoint at most when one is added, and back when it is removed', () => {
    const subject = new Subject(4);
    const endpoints = makeEndpoints(100);
    subject.update(endpoints);
    const { members } = subject;
    for (let i = 0; i < 50; i++) {
      subject.update([...endpoints, makeEndpoint(`10.9.0.${i}:80`)]);
      expect(countMissing(members, subject.members)).toBeLessThanOrEqual(1);
      subject.update(endpoints);
      expect(subject.members).toEqual(members);
    }
  });

  it('spreads clients evenly over the endpoints', () => {
    const endpoints = makeEndpoints(50);
    const clients = new Map<XdsEndpoint, number>();
    for (let client = 0; client < 500; client++) {
      const subject = new Subject(1000 + client);
      subject.update(endpoints, 10);
      for (const member of subject.members) clients.set(member, (clients.get(member) ?? 0) + 1);
    }
    expect(clients.size).toBe(50);
    // 100 each, with a standard deviation of 9.
    for (const count of clients.values()) expect(Math.abs(count - 100)).toBeLessThan(45);
  });

  it('passes on state, picker and error of the child', () => {
    const subject = new Subject(1);
    subject.update(makeEndpoints(3));
    subject.stub.instance(0).reportReady('one');
    expect(subject.harness.last.state).toBe(ConnectivityState.READY);
    subject.stub.instance(0).reportFailure('connection refused');
    expect(subject.harness.last.errorMessage).toBe('connection refused');
    subject.harness.batch.run(() => subject.policy.exitIdle());
    subject.harness.batch.run(() => subject.policy.resetBackoff());
    const { exitIdleCalls, resetBackoffCalls } = subject.stub.instance(0);
    expect([exitIdleCalls, resetBackoffCalls]).toEqual([1, 1]);
  });

  it('leaves it to the child what an error does', () => {
    const subject = new Subject(1);
    const config = new RandomSubsettingConfig(2, stubConfig);
    const endpoints = err('no such name');
    subject.harness.update(subject.policy, { config, endpoints });
    expect(subject.stub.instance(0).lastUpdate.endpoints).toEqual(endpoints);
    subject.update(makeEndpoints(5), 2);
    subject.harness.update(subject.policy, { config, endpoints });
    expect(subject.stub.instance(0).lastUpdate.endpoints).toEqual(endpoints);
  });

  it('traces how many endpoints it uses', () => {
    const subject = new Subject(1);
    const traced: string[] = [];
    const trace = jest
      .spyOn(subject.harness.environment.logger, 'trace')
      .mockImplementation((tracer, text) => void traced.push(`${tracer}: ${text()}`));
    subject.update(makeEndpoints(100));
    subject.update(makeEndpoints(5));
    trace.mockRestore();
    expect(traced).toEqual([
      'random_subsetting: using 20 of 100 endpoints',
      'random_subsetting: using 5 of 5 endpoints',
    ]);
  });
});

describe('random_subsetting before its hash function is ready', () => {
  it('has calls wait, then uses the last endpoints', async () => {
    const late = new XxHash64();
    const subject = new Subject(1, late);
    subject.update(makeEndpoints(10), 3);
    subject.update(makeEndpoints(100), 3);
    expect(subject.harness.last.state).toBe(ConnectivityState.CONNECTING);
    // Bad news changes nothing about the endpoints there are.
    subject.harness.update(subject.policy, {
      config: new RandomSubsettingConfig(3, stubConfig),
      endpoints: err('no such name'),
    });
    expect(subject.stub.instances.length).toBe(0);
    await whenReady(late);
    expect(subject.members.size).toBe(3);
    expect(subject.childUpdates).toBe(1);
    expect(subject.stub.instance(0).lastUpdate.endpoints.ok).toBe(true);
  });

  it('does nothing when it is ready after the policy was destroyed', async () => {
    const late = new XxHash64();
    const subject = new Subject(1, late);
    subject.update(makeEndpoints(10));
    subject.harness.batch.run(() => subject.policy.destroy());
    await whenReady(late);
    expect(subject.stub.instances.length).toBe(0);
    expect(subject.harness.errors).toEqual([]);
  });

  it('fails calls with the reason if it never will be', async () => {
    const subject = new Subject(1, await createBrokenHash());
    subject.harness.update(subject.policy, {
      config: new RandomSubsettingConfig(3, stubConfig),
      endpoints: ok(singleLocality('10.0.0.1:80')),
    });
    expect(pickError(subject.harness.last.picker)).toBe(
      'random_subsetting cannot work without a hash function: WebAssembly is not defined',
    );
  });
});
