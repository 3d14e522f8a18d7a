import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { ConnectivityState, Metadata } from '../../../src/grpc-js';
import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { createMaglevPolicyType } from '../../../src/lb/maglev/balancer';
import { RingHashConfig } from '../../../src/lb/ring-hash/config';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import type { XxHash64 } from '../../../src/util/hashes';
import {
  describePick,
  LbHarness,
  makeEndpoint,
  pick,
  pickError,
  singleLocality,
} from '../../support/lb-harness';
import { createReadyHash } from '../../support/ready-hash';

const [A, B, C] = ['127.0.0.1:80', '127.0.0.2:80', '127.0.0.3:80'] as const;
const SIZE = 65_537;

let hash: XxHash64;
beforeAll(async () => {
  hash = await createReadyHash();
});

function setUp(set: EndpointSet, requestHashHeader = '') {
  const harness = new LbHarness();
  const flags = readFeatureFlags({});
  const policy = harness.create(createMaglevPolicyType({ hash, flags, limits: DEFAULT_LIMITS }));
  const sizes = { minRingSize: SIZE, maxRingSize: SIZE };
  const config = new RingHashConfig({ ...sizes, requestHashHeader }, 'maglev_experimental');
  harness.updateEndpoints(policy, config, set);
  return { harness, policy };
}

/** The hash of a call that belongs to an endpoint: the first position that it prefers is its own in any large table. */
const callFor = (key: string) => ({
  cluster: 'cluster:c',
  requestHash: () => hash.hash(key) % BigInt(SIZE),
});

describe('maglev', () => {
  it('is IDLE, connects to the endpoint of a call, and sends it there', async () => {
    const { harness } = setUp(singleLocality(A, B, C));
    expect(harness.last.state).toBe(ConnectivityState.IDLE);
    expect(describePick(pick(harness.last.picker, callFor(B)))).toBe('QUEUE');
    await harness.settle();
    expect(harness.host.subchannels.map((each) => each.getAddress())).toEqual([B]);
    harness.subchannel(B).connect();
    expect(describePick(pick(harness.last.picker, callFor(B)))).toBe(`COMPLETE ${B}`);
  });

  it('sends calls of a failed endpoint to another one, and fails them when all have failed', async () => {
    const { harness } = setUp(singleLocality(A, B));
    for (const address of [A, B]) pick(harness.last.picker, callFor(address));
    await harness.settle();
    harness.subchannel(A).fail('refused');
    await harness.settle();
    harness.subchannel(B).connect();
    expect(describePick(pick(harness.last.picker, callFor(A)))).toBe(`COMPLETE ${B}`);
    harness.subchannel(B).disconnect();
    await harness.settle();
    harness.subchannel(B).fail('refused');
    expect(pickError(harness.last.picker, callFor(A))).toContain('refused');
  });

  it('places endpoints by their hash keys', async () => {
    const { harness } = setUp(singleLocality(makeEndpoint(A, { hashKey: 'k' }), B));
    pick(harness.last.picker, callFor('k'));
    await harness.settle();
    expect(harness.host.subchannels.map((each) => each.getAddress())).toEqual([A]);
  });

  it('hashes a header, and sends calls without it to any endpoint', async () => {
    const { harness } = setUp(singleLocality(A, B, C), 'user');
    const metadata = new Metadata();
    metadata.set('user', C);
    pick(harness.last.picker, callFor(A), metadata);
    await harness.settle();
    expect(harness.host.subchannels.map((each) => each.getAddress())).toEqual([C]);
    harness.subchannel(C).connect();
    harness.random = 0.9;
    expect(describePick(pick(harness.last.picker, callFor(A)))).toBe(`COMPLETE ${C}`);
  });

  it('describes its endpoints and the size of its table, and says whose error a call without a hash is', () => {
    const { harness, policy } = setUp(singleLocality(A, B));
    expect(policy.describe?.()).toMatchObject({
      details: { endpoints: 2, tableSize: SIZE },
      endpoints: [{ addresses: [A] }, { addresses: [B] }],
    });
    expect(pickError(harness.last.picker, { cluster: 'cluster:c' })).toMatch(/^maglev: /);
  });
});
