import { DEFAULT_LIMITS, type Limits } from '../../../src/bootstrap/limits';
import { ConnectivityState, Metadata, Status } from '../../../src/grpc-js';
import { describeWait, waitOf } from '../../../src/lb/connectivity';
import { XxHash64 } from '../../../src/util/hashes';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { LbPolicy } from '../../../src/lb/lb-policy';
import { createRingHashPolicyType } from '../../../src/lb/ring-hash/balancer';
import { RingHashConfig, type RingHashOptions } from '../../../src/lb/ring-hash/config';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { err, ok } from '../../../src/util/result';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  makeEndpointSet,
  makeLocality,
  pick,
  pickAddress,
  pickError,
  singleLocality,
} from '../../support/lb-harness';
import { createBrokenHash, createReadyHash, whenReady } from '../../support/ready-hash';
import { SLICE_MS } from '../../../src/util/time-slices';
import { seededRandom } from '../../support/seeded-random';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

const A = '127.0.0.1:80';
const B = '127.0.0.2:80';
const C = '127.0.0.3:80';
const D = '127.0.0.4:80';

let hash: XxHash64;
beforeAll(async () => {
  hash = await createReadyHash();
});

function makeConfig(change: Partial<RingHashOptions> = {}): RingHashConfig {
  return new RingHashConfig({
    minRingSize: 1,
    maxRingSize: 4096,
    requestHashHeader: '',
    ...change,
  });
}

class Subject {
  readonly harness = new LbHarness();
  readonly policy: LbPolicy;

  constructor(
    private readonly config = makeConfig(),
    flags = readFeatureFlags({}),
    withHash = hash,
    limits: Pick<Limits, 'maxRingSize'> = DEFAULT_LIMITS,
  ) {
    const type = createRingHashPolicyType({ hash: withHash, flags, limits });
    this.policy = this.harness.create(type);
  }

  update(set: EndpointSet, config = this.config): void {
    this.harness.updateEndpoints(this.policy, config, set);
  }

  /** Picks for a call that goes to the first entry of the endpoint. */
  pickFor(key: string) {
    return describePick(pick(this.harness.last.picker, attributesFor(key)));
  }

  /** Picks for a call with the header. */
  pickWith(value?: string) {
    const metadata = new Metadata();
    if (value !== undefined) metadata.set('user', value);
    return describePick(pick(this.harness.last.picker, attributesFor('unused'), metadata));
  }

  async connect(...addresses: string[]): Promise<void> {
    for (const address of addresses) this.pickFor(address);
    await this.harness.settle();
    for (const address of addresses) this.harness.subchannel(address).connect();
    await this.harness.settle();
  }

  get attempted(): string[] {
    return this.harness.host.subchannels.map((subchannel) => subchannel.getAddress());
  }

  get states(): string[] {
    return this.harness.host.published.map(({ state }) => ConnectivityState[state]);
  }
}

function attributesFor(key: string): object {
  return { cluster: 'cluster:c', requestHash: () => hash.hash(`${key}_0`) };
}

/** The addresses as they follow each other on a ring with one entry each. */
function ringOrder(...addresses: string[]): string[] {
  const place = (address: string) => hash.hash(`${address}_0`);
  return addresses.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

describe('ring_hash', () => {
  it('is IDLE and does not connect until a call is picked', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    await subject.harness.settle();
    subject.harness.clock.advance(60_000);
    expect(subject.states).toEqual(['IDLE']);
    expect(subject.attempted).toEqual([]);
  });

  it('connects to the endpoint of a call, and sends it there', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    expect(subject.pickFor(B)).toBe('QUEUE');
    expect(subject.pickFor(B)).toBe('QUEUE');
    await subject.harness.settle();
    expect(subject.attempted).toEqual([B]);
    expect(subject.harness.last.state).toBe(CONNECTING);
    subject.harness.subchannel(B).connect();
    expect(subject.harness.last.state).toBe(READY);
    expect(subject.pickFor(B)).toBe(`COMPLETE ${B}`);
  });

  it('says of a call that waits which endpoint has been connecting for how long', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    for (const address of [A, B]) subject.pickFor(address);
    await subject.harness.settle();
    subject.harness.clock.advance(3000);
    subject.harness.subchannel(B).fail('connection refused');
    await subject.harness.settle();
    const { picker } = subject.harness.last;
    const where = 'in {region="r", zone="", sub_zone=""}';
    const text =
      `no endpoint is connected (1 of 3 connecting); ${A} ${where} has been connecting for 3.0 s: check the network, and that it serves gRPC; ` +
      `Last error: connection refused (${B} ${where})`;
    expect(waitOf(pick(picker, attributesFor(A)))).toBe(text);
    expect(describeWait(picker)).toBe(text);
  });

  it('names the endpoint of a call that waits while another is READY', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A);
    subject.pickFor(B);
    await subject.harness.settle();
    subject.harness.clock.advance(3000);
    expect(waitOf(pick(subject.harness.last.picker, attributesFor(B)))).toBe(
      `the endpoint of the call's hash is not connected; ${B} in {region="r", zone="", sub_zone=""} has been connecting for ` +
        '3.0 s: check the network, and that it serves gRPC',
    );
  });

  it('connects to each endpoint with calls', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    await subject.connect(A, C);
    expect(subject.attempted.sort()).toEqual([A, C]);
    expect([subject.pickFor(A), subject.pickFor(C)]).toEqual([`COMPLETE ${A}`, `COMPLETE ${C}`]);
  });

  it('has a call wait for its endpoint although others are READY', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A);
    const before = subject.harness.host.published.length;
    expect(subject.pickFor(B)).toBe('QUEUE');
    await subject.harness.settle();
    expect(subject.pickFor(B)).toBe('QUEUE');
    // One picker, when there is something new for the call, not when the attempt begins.
    expect(subject.harness.host.published.length).toBe(before);
    subject.harness.subchannel(B).connect();
    expect(subject.harness.host.published.length).toBe(before + 1);
    expect(subject.pickFor(B)).toBe(`COMPLETE ${B}`);
  });

  it('publishes nothing for connections that no call waits for', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A, B);
    const before = subject.harness.host.published.length;
    subject.harness.subchannel(B).disconnect();
    expect(subject.harness.host.published.length).toBe(before);
    expect(subject.pickFor(B)).toBe('QUEUE');
  });

  it('uses the next endpoint on the ring when one has failed', async () => {
    const [first, second, third] = ringOrder(A, B, C);
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    subject.pickFor(first ?? '');
    await subject.harness.settle();
    subject.harness.subchannel(first ?? '').fail('connection refused');
    await subject.harness.settle();
    // By itself, it begins to connect to another one; the harness draws 0, the first on the ring.
    expect(subject.attempted).toEqual([first, second]);
    expect(subject.harness.last.state).toBe(CONNECTING);
    expect(subject.pickFor(first ?? '')).toBe('QUEUE');
    subject.harness.subchannel(second ?? '').connect();
    expect(subject.pickFor(first ?? '')).toBe(`COMPLETE ${second}`);
    expect(subject.pickFor(third ?? '')).toBe('QUEUE');
    subject.harness.subchannel(first ?? '').setState(READY);
    expect(subject.pickFor(first ?? '')).toBe(`COMPLETE ${first}`);
  });

  it('tries one endpoint after the other without calls once two have failed', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C, D));
    subject.pickFor(A);
    const order: string[] = [];
    for (let i = 0; i < 4; i++) {
      await subject.harness.settle();
      expect(subject.attempted.length).toBe(i + 1);
      const address = subject.attempted.at(-1) ?? '';
      order.push(address);
      subject.harness.subchannel(address).fail(`no way to ${address}`);
    }
    await subject.harness.settle();
    expect(order.sort()).toEqual([A, B, C, D]);
    expect(subject.states).toEqual([
      'IDLE',
      // Also after the first failure: one is none yet.
      'CONNECTING',
      'TRANSIENT_FAILURE',
      'TRANSIENT_FAILURE',
      'TRANSIENT_FAILURE',
    ]);
  });

  it('fails calls with the error of their endpoint when all have failed', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    subject.pickFor(A);
    await subject.harness.settle();
    subject.harness.subchannel(A).fail('certificate expired');
    await subject.harness.settle();
    subject.harness.subchannel(B).fail('connection refused');
    const where = (address: string) => `(${address} in {region="r", zone="", sub_zone=""})`;
    const expired = `certificate expired ${where(A)}`;
    const refused = `connection refused ${where(B)}`;
    const failed = 'TRANSIENT_FAILURE No connection established. Last error: ';
    expect(subject.pickFor(A)).toBe(failed + expired);
    expect(subject.pickFor(B)).toBe(failed + refused);
    expect(subject.harness.last.errorMessage).toBe(
      `No connection established. Last errors: ${refused}; ${expired}`,
    );
  });

  it('hands a new picker to calls that wait for ready while all have failed', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    for (const address of [A, B, C]) subject.pickFor(address);
    await subject.harness.settle();
    for (const address of [A, B, C]) subject.harness.subchannel(address).fail('refused');
    expect(subject.harness.last.state).toBe(TRANSIENT_FAILURE);
    const before = subject.harness.host.published.length;
    subject.pickFor(A);
    subject.harness.subchannel(B).setState(READY);
    expect(subject.harness.host.published.length).toBe(before + 1);
  });

  it('becomes IDLE when its only connection is lost, and requests re-resolution', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A));
    await subject.connect(A);
    const { host } = subject.harness;
    expect(host.reresolutionRequests).toBe(0);
    subject.harness.subchannel(A).disconnect();
    await subject.harness.settle();
    expect(subject.states).toEqual(['IDLE', 'CONNECTING', 'READY', 'IDLE']);
    expect(host.reresolutionRequests).toBe(1);
    expect(host.held.length).toBe(0);
    await subject.connect(A);
    expect(subject.pickFor(A)).toBe(`COMPLETE ${A}`);
  });

  it('fails calls on a channel that has no hash for them', () => {
    const subject = new Subject();
    subject.update(singleLocality(A));
    const result = pick(subject.harness.last.picker);
    expect(result.status?.code).toBe(Status.INTERNAL);
    expect(describePick(result)).toBe(
      'TRANSIENT_FAILURE ring_hash: the request has no hash: ' +
        'the config has no requestHashHeader, and the channel has no xds target',
    );
    expect(subject.attempted).toEqual([]);
  });
});

describe('ring_hash and an update', () => {
  it('keeps connections to endpoints that stay and drops those to others', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A, B);
    const [a, b] = [subject.harness.subchannel(A), subject.harness.subchannel(B)];
    subject.update(singleLocality(C, makeEndpoint(A, { weight: 3 })));
    expect([a.closed, b.closed]).toEqual([false, true]);
    expect(subject.pickFor(A)).toBe(`COMPLETE ${A}`);
    expect(subject.pickFor(C)).toBe('QUEUE');
  });

  it('keeps the connection of an endpoint whose hash key changes', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A);
    subject.update(singleLocality(makeEndpoint(A, { hashKey: 'pod-1' }), B));
    expect(subject.pickFor('pod-1')).toBe(`COMPLETE ${A}`);
    expect(subject.harness.subchannel(A).closed).toBe(false);
  });

  it('sends a pending call elsewhere when its endpoint is removed', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A);
    expect(subject.pickFor(B)).toBe('QUEUE');
    const before = subject.harness.host.published.length;
    subject.update(singleLocality(A));
    expect(subject.harness.host.published.length).toBe(before + 1);
    expect(subject.pickFor(B)).toBe(`COMPLETE ${A}`);
    await subject.harness.settle();
    expect(subject.attempted).toEqual([A]);
  });

  it('publishes nothing when endpoints are added and removed and no call waits', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B));
    await subject.connect(A);
    const before = subject.harness.host.published.length;
    subject.update(singleLocality(A, C, D));
    expect(subject.harness.host.published.length).toBe(before);
    expect(subject.pickFor(C)).toBe('QUEUE');
  });

  it('releases an endpoint that has no entry any more', async () => {
    const subject = new Subject(makeConfig({ maxRingSize: 2 }));
    subject.update(singleLocality(A, B));
    await subject.connect(A, B);
    subject.update(singleLocality(A, B), makeConfig({ maxRingSize: 1 }));
    expect(subject.harness.host.held.length).toBe(1);
    const [left] = subject.harness.host.held;
    const address = left?.getAddress() ?? '';
    expect([subject.pickFor(A), subject.pickFor(B)]).toEqual([
      `COMPLETE ${address}`,
      `COMPLETE ${address}`,
    ]);
    // With its entry it comes back, not connected.
    subject.update(singleLocality(A, B));
    const other = address === A ? B : A;
    expect(subject.pickFor(other)).toBe('QUEUE');
    await subject.connect(other);
    expect(subject.pickFor(other)).toBe(`COMPLETE ${other}`);
  });

  it.each([
    ['4096 entries by default', DEFAULT_LIMITS, 4096],
    ['the entries of a lower limit', { maxRingSize: 100 }, 100],
    ['the entries of a higher limit', { maxRingSize: 20_000 }, 20_000],
  ])('never has more than %s', (_case, limits, size) => {
    const config = makeConfig({ minRingSize: 100_000, maxRingSize: 8_388_608 });
    const subject = new Subject(config, undefined, undefined, limits);
    const traced: string[] = [];
    const { logger } = subject.harness.environment;
    jest.spyOn(logger, 'trace').mockImplementation((tracer, text) => {
      traced.push(`${tracer}: ${text()}`);
    });
    subject.update(singleLocality(A, B));
    jest.restoreAllMocks();
    expect(traced).toEqual([`ring_hash: ring of ${size} entries for 2 of 2 endpoints`]);
  });

  it('updates a connection with other channel options', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A));
    await subject.connect(A);
    subject.harness.update(subject.policy, {
      config: makeConfig(),
      endpoints: ok(singleLocality(A)),
      options: { 'grpc.primary_user_agent': 'other' },
    });
    await subject.harness.settle();
    expect(subject.harness.subchannel(A).options['grpc.primary_user_agent']).toBe('other');
  });

  it('names what is missing', () => {
    const subject = new Subject();
    subject.update(singleLocality());
    expect(pickError(subject.harness.last.picker)).toBe('No endpoints to connect to');
    const endpoints = err('no such name');
    const config = makeConfig();
    subject.harness.update(subject.policy, { config, endpoints });
    expect(pickError(subject.harness.last.picker)).toBe('no such name');
  });
});

describe('the weights of a ring', () => {
  it.each([
    ['shares of the locality and of all', 'true', 5],
    ['products of the weights if they are not normalized', 'false', 1],
  ])('are %s (gRFC A113)', async (_what, normalized, entries) => {
    const config = makeConfig({ minRingSize: 10, maxRingSize: 10 });
    const flags = readFeatureFlags({ GRPC_EXPERIMENTAL_PF_WEIGHTED_SHUFFLING: normalized });
    const subject = new Subject(config, flags);
    const heavy = makeEndpoint(B, { weight: 9 });
    subject.update(makeEndpointSet(makeLocality('x', [A]), makeLocality('y', [heavy])));
    await subject.connect(A, B);
    const own = (address: string, ordinal: number) => {
      const attributes = {
        cluster: 'cluster:c',
        requestHash: () => hash.hash(`${address}_${ordinal}`),
      };
      return describePick(pick(subject.harness.last.picker, attributes)) === `COMPLETE ${address}`;
    };
    const ordinals = Array.from({ length: 5 }, (_, i) => i);
    expect(ordinals.map((ordinal) => own(A, ordinal))).toEqual(
      ordinals.map((ordinal) => ordinal < entries),
    );
  });
});

describe('ring_hash woken up without a call', () => {
  it('connects to a random endpoint', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    subject.harness.random = 0.5;
    for (let i = 0; i < 3; i++) subject.harness.batch.run(() => subject.policy.exitIdle());
    await subject.harness.settle();
    expect(subject.attempted).toEqual([ringOrder(A, B, C)[1]]);
    expect(subject.states).toEqual(['IDLE', 'CONNECTING']);
  });

  it('leaves it at the connection there is', async () => {
    const subject = new Subject();
    subject.update(singleLocality(A, B, C));
    await subject.connect(A);
    subject.harness.batch.run(() => subject.policy.exitIdle());
    await subject.harness.settle();
    expect(subject.attempted).toEqual([A]);
  });
});

describe('ring_hash by a header', () => {
  const byHeader = makeConfig({ requestHashHeader: 'user' });

  it('sends calls with one value to one endpoint', async () => {
    const subject = new Subject(makeConfig({ requestHashHeader: 'user', minRingSize: 1024 }));
    subject.update(singleLocality(A, B, C));
    const { harness } = subject;
    const seen = new Map<string, Set<string>>();
    for (let round = 0; round < 3; round++) {
      for (let user = 0; user < 20; user++) {
        subject.pickWith(`user ${user}`);
        await harness.settle();
        for (const subchannel of harness.host.held) {
          if (subchannel.getConnectivityState() === IDLE) subchannel.connect();
        }
        const places = seen.get(`user ${user}`) ?? new Set();
        seen.set(`user ${user}`, places.add(subject.pickWith(`user ${user}`)));
      }
    }
    expect([...seen.values()].map(({ size }) => size)).toEqual(Array(20).fill(1));
    expect(new Set([...seen.values()].flatMap((places) => [...places])).size).toBe(3);
  });

  it('joins several values', async () => {
    const subject = new Subject(byHeader);
    subject.update(singleLocality(...Array.from({ length: 50 }, (_, i) => `127.1.0.${i}:80`)));
    const metadata = new Metadata();
    metadata.add('user', 'a');
    metadata.add('user', 'b');
    pick(subject.harness.last.picker, {}, metadata);
    subject.pickWith('a,b');
    await subject.harness.settle();
    expect(subject.attempted.length).toBe(1);
  });

  it('hashes the header of a call that waits once, however often it is picked', async () => {
    const counted = await createReadyHash();
    const hashed = jest.spyOn(counted, 'hash');
    const subject = new Subject(byHeader, undefined, counted);
    const metadata = new Metadata();
    metadata.set('user', 'u'.repeat(1_000_000));
    for (const last of [1, 2, 3]) {
      subject.update(singleLocality(A, B, C, `127.0.1.${last}:80`));
      for (let i = 0; i < 20; i++) {
        expect(describePick(pick(subject.harness.last.picker, {}, metadata))).toBe('QUEUE');
      }
      await subject.harness.settle();
    }
    expect(hashed.mock.calls.filter(([text]) => text.length === 1_000_000)).toHaveLength(1);
  });

  it('takes up a change of the header at once', async () => {
    const subject = new Subject();
    const set = singleLocality(A, B);
    subject.update(set);
    expect(pickError(subject.harness.last.picker)).toContain('no requestHashHeader');
    subject.update(set, byHeader);
    expect(subject.pickWith('a')).toBe('QUEUE');
  });

  it('sends calls without a value to any endpoint that is READY, and connects to one more', async () => {
    const subject = new Subject(byHeader);
    subject.update(singleLocality(A, B, C));
    const [first, second, third] = ringOrder(A, B, C);
    expect(subject.pickWith()).toBe('QUEUE');
    expect(subject.pickWith('')).toBe('QUEUE');
    await subject.harness.settle();
    expect(subject.attempted).toEqual([first]);
    // No second attempt while there is one.
    subject.harness.random = 0.9999;
    expect(subject.pickWith()).toBe('QUEUE');
    await subject.harness.settle();
    expect(subject.attempted).toEqual([first]);
    subject.harness.subchannel(first ?? '').connect();
    // Nothing idle comes before the one that is READY.
    expect(subject.pickWith()).toBe(`COMPLETE ${first}`);
    await subject.harness.settle();
    expect(subject.attempted).toEqual([first]);
    // From after the first on, the two others come before it.
    subject.harness.random = (Number(hash.hash(`${first}_0`)) + 2 ** 33) / 2 ** 64;
    expect(subject.pickWith()).toBe(`COMPLETE ${first}`);
    expect(subject.pickWith()).toBe(`COMPLETE ${first}`);
    await subject.harness.settle();
    expect(subject.attempted).toEqual([first, second]);
    expect(third).toBeDefined();
  });

  it('fails calls without a value when all endpoints have failed', async () => {
    const subject = new Subject(byHeader);
    subject.update(singleLocality(A));
    subject.pickWith();
    await subject.harness.settle();
    subject.harness.subchannel(A).fail('connection refused');
    expect(subject.pickWith()).toBe(
      'TRANSIENT_FAILURE No connection established. Last error: connection refused ' +
        `(${A} in {region="r", zone="", sub_zone=""})`,
    );
    expect(subject.pickWith('some')).toBe(subject.pickWith());
  });

  it('spreads calls without a value evenly', async () => {
    const subject = new Subject(makeConfig({ requestHashHeader: 'user', minRingSize: 4096 }));
    subject.update(singleLocality(A, B, C, D));
    const random = seededRandom(5);
    const { harness } = subject;
    const counts = new Map<string, number>();
    for (let i = 0; i < 8000; i++) {
      harness.random = random();
      const metadata = new Metadata();
      const result = pick(harness.last.picker, {}, metadata);
      if (result.subchannel === null || i < 100) {
        await harness.settle();
        for (const held of harness.host.held) {
          if (held.getConnectivityState() === IDLE) held.connect();
        }
      } else {
        const address = result.subchannel.getAddress();
        counts.set(address, (counts.get(address) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(4);
    // 1,024 entries each: 3 % more or less, and 2 % from the draws. Three times that.
    for (const count of counts.values()) expect(Math.abs(count / 1975 - 1)).toBeLessThan(0.12);
  });
});

describe('ring_hash before its hash function is ready', () => {
  it('has calls wait, then connects', async () => {
    const late = new XxHash64();
    const subject = new Subject(makeConfig(), readFeatureFlags({}), late);
    subject.update(singleLocality(A, B));
    expect(subject.states).toEqual(['CONNECTING']);
    expect(subject.pickFor(A)).toBe('QUEUE');
    subject.update(singleLocality(A, C));
    expect(subject.states).toEqual(['CONNECTING']);
    await whenReady(late);
    expect(subject.states).toEqual(['CONNECTING', 'IDLE']);
    await subject.connect(C);
    expect(pickAddress(subject.harness.last.picker, attributesFor(C))).toBe(C);
  });

  it('does nothing when it is ready after the policy was destroyed', async () => {
    const late = new XxHash64();
    const subject = new Subject(makeConfig(), readFeatureFlags({}), late);
    subject.update(singleLocality(A));
    subject.harness.batch.run(() => subject.policy.destroy());
    await whenReady(late);
    expect(subject.states).toEqual(['CONNECTING']);
    expect(subject.harness.errors).toEqual([]);
  });

  it('fails calls with the reason if it never will be', async () => {
    const subject = new Subject(makeConfig(), readFeatureFlags({}), await createBrokenHash());
    for (const address of [A, B]) {
      subject.update(singleLocality(address));
      expect(pickError(subject.harness.last.picker)).toBe(
        'ring_hash cannot work without a hash function: WebAssembly is not defined',
      );
    }
  });
});

describe('ring_hash with thousands of new endpoints', () => {
  const many = Array.from({ length: 6000 }, (_, i) => `127.1.${i >> 8}.${i & 255}:80`);

  /** Every look at the clock takes half of a slice, as a few hundred entries might. */
  function setUp() {
    const subject = new Subject(makeConfig({ minRingSize: 200 }));
    let timeMs = 0;
    jest
      .spyOn(subject.harness.clock, 'monotonicMs')
      .mockImplementation(() => (timeMs += SLICE_MS / 2));
    return subject;
  }

  /** @returns How many turns of the event loop it took. */
  function finish({ harness }: Subject): number {
    let turns = 0;
    for (; harness.clock.pendingTimers > 0; turns++) harness.clock.advance(1);
    return turns;
  }

  it('makes calls wait while it builds its first ring, some milliseconds at a time', () => {
    const subject = setUp();
    subject.update(singleLocality(...many));
    expect(subject.harness.last.state).toBe(CONNECTING);
    expect(subject.pickFor(many[0] ?? '')).toBe('QUEUE');
    expect(subject.attempted).toEqual([]);
    expect(finish(subject)).toBeGreaterThan(3);
    expect(subject.harness.last.state).toBe(IDLE);
  });

  it('uses the previous ring until the next one is complete', async () => {
    const subject = setUp();
    subject.update(singleLocality(A));
    await subject.connect(A);
    const published = subject.harness.host.published.length;
    subject.update(singleLocality(...many));
    expect(subject.pickFor(A)).toBe(`COMPLETE ${A}`);
    subject.harness.clock.advance(1);
    expect(subject.pickFor(A)).toBe(`COMPLETE ${A}`);
    expect(subject.harness.host.published.length).toBe(published);
    finish(subject);
    expect(subject.harness.last.state).toBe(IDLE);
    expect(subject.harness.subchannel(A).closed).toBe(true);
  });

  it('finishes a ring although newer updates arrive, and then builds that of the newest', () => {
    const subject = setUp();
    subject.update(singleLocality(...many));
    subject.update(singleLocality(B));
    subject.harness.clock.advance(1);
    subject.update(singleLocality(A));
    expect(subject.states).toEqual(['CONNECTING']);
    finish(subject);
    expect(subject.states).toEqual(['CONNECTING', 'IDLE']);
    for (const key of [...many.slice(0, 20), B]) subject.pickFor(key);
    subject.harness.clock.flush();
    expect(subject.attempted).toEqual([A]);
    // Nothing of the others is left behind.
    subject.update(singleLocality());
    finish(subject);
    expect(subject.harness.last.errorMessage).toContain('No endpoints');
  });

  it('gets a ring although updates never stop arriving', () => {
    const subject = setUp();
    for (let i = 0; i < 20; i++) {
      subject.update(singleLocality(...many.slice(i)));
      subject.harness.clock.advance(1);
    }
    expect(subject.harness.last.state).toBe(IDLE);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'comes to the same ring as if it had been built at once, by updates at any step (seed %s)',
    (seed) => {
      const random = seededRandom(seed);
      const [inSteps, atOnce] = [setUp(), new Subject(makeConfig({ minRingSize: 200 }))];
      const take = () => {
        const start = Math.floor(random() * many.length);
        const end = start + Math.floor(random() * (many.length - start));
        return singleLocality(...many.slice(start, end), A);
      };
      for (let round = 0; round < 6; round++) {
        const set = take();
        inSteps.update(set);
        atOnce.update(set);
        inSteps.harness.clock.advance(Math.floor(random() * 8));
      }
      finish(inSteps);
      const picks = [inSteps, atOnce].map((subject) => {
        for (let i = 0; i < 100; i++) subject.pickFor(`key ${i}`);
        subject.harness.clock.flush();
        // Connections are begun some at a time, too.
        finish(subject);
        return subject.attempted;
      });
      expect(picks[0]).toEqual(picks[1]);
      expect(inSteps.harness.errors).toEqual([]);
    },
  );

  it('applies the header and the channel options of an update together with its ring', async () => {
    const subject = setUp();
    subject.update(singleLocality(A));
    await subject.connect(A);
    const config = makeConfig({ minRingSize: 200, requestHashHeader: 'user' });
    subject.update(singleLocality(A, ...many), config);
    expect(subject.pickFor(A)).toBe(`COMPLETE ${A}`);
    finish(subject);
    for (let i = 0; i < 20; i++) subject.pickWith(`user ${i}`);
    subject.harness.clock.flush();
    expect(subject.attempted.length).toBeGreaterThan(10);
  });

  it('releases the connection of an endpoint that is gone with the next ring, whose calls are picked again', async () => {
    const subject = setUp();
    subject.update(singleLocality(A, B));
    await subject.connect(A);
    subject.update(singleLocality(A, ...many));
    const { picker } = subject.harness.last;
    expect(subject.pickFor(B)).toBe('QUEUE');
    expect(subject.pickFor(A)).toBe(`COMPLETE ${A}`);
    subject.harness.clock.flush();
    finish(subject);
    expect(subject.harness.host.subchannels.map(({ closed }) => closed)).toEqual([false, true]);
    expect(subject.harness.last.picker).not.toBe(picker);
    expect(subject.pickFor(B)).toBe('QUEUE');
    subject.harness.clock.flush();
    expect(subject.attempted).toEqual([A, B, expect.stringMatching(/^127\.1\./)]);
  });

  it('keeps the connection to an endpoint that is gone until the next ring is complete', async () => {
    const subject = setUp();
    subject.update(singleLocality(A, B));
    await subject.connect(A, B);
    subject.update(singleLocality(...many));
    subject.harness.clock.advance(1);
    expect(subject.pickFor(B)).toBe(`COMPLETE ${B}`);
    finish(subject);
    expect(subject.harness.host.subchannels.map(({ closed }) => closed)).toEqual([true, true]);
  });

  it.each([0, 1, 2, 3, 4])(
    'releases everything when it is destroyed after %s turns of building the next ring',
    async (turns) => {
      const subject = setUp();
      subject.update(singleLocality(A, B));
      await subject.connect(A, B);
      subject.update(singleLocality(B, ...many));
      subject.harness.clock.advance(turns);
      subject.update(singleLocality(A));
      expect(subject.harness.clock.pendingTimers).toBe(1);
      subject.harness.batch.run(() => subject.policy.destroy());
      expect(subject.harness.clock.pendingTimers).toBe(0);
      expect(subject.harness.host.subchannels.map(({ refs }) => refs)).toEqual([0, 0]);
      subject.harness.clock.advance(100);
      expect(subject.harness.errors).toEqual([]);
    },
  );
});
