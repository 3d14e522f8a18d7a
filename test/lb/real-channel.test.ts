// A tree of ours under a plain channel of grpc-js, over real sockets.

import { Status, type Subchannel } from '../../src/grpc-js';
import { isReferenced } from '../../src/grpc-js/host-internals';
import { grpcJsPolicyLookup } from '../../src/lb/registry/create-policy-registry';
import type { LbPolicyType } from '../../src/lb/lb-policy';
import { LbPolicyRegistry } from '../../src/lb/registry/lb-policy-registry';
import { registerRegistry } from '../support/register-registry';
import { roundRobinPolicy } from '../../src/lb/round-robin/balancer';
import { weightedTargetPolicy } from '../../src/lb/weighted-target/balancer';
import { wrrLocalityPolicy } from '../../src/lb/wrr-locality/balancer';
import { systemClock } from '../../src/util/clock';
import { systemRandom } from '../../src/util/random';
import { EchoBackend, EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';

const errors: string[] = [];
/** The subchannels of all round_robin policies. */
const created: Subchannel[] = [];
const watchedRoundRobin: LbPolicyType = {
  ...roundRobinPolicy,
  create(host) {
    const create = host.createSubchannel;
    const createSubchannel: typeof create = (...args) => {
      const subchannel = create(...args);
      created.push(subchannel);
      return subchannel;
    };
    return roundRobinPolicy.create(Object.assign(host, { createSubchannel }));
  },
};
const registry = new LbPolicyRegistry({
  policies: [watchedRoundRobin, weightedTargetPolicy, wrrLocalityPolicy],
  fallback: grpcJsPolicyLookup,
});
registerRegistry(registry, () => ({
  clock: systemClock,
  random: systemRandom,
  logger: { trace() {}, info() {}, error: (text) => errors.push(text()) },
  policies: registry,
}));

// pick_first comes from grpc-js here: it is not in the registry.
const childPolicies = ['round_robin', 'pick_first'];

function createClient(ports: readonly number[], childPolicy: string): EchoClient {
  const serviceConfig = {
    loadBalancingConfig: [
      { xds_wrr_locality_experimental: { childPolicy: [{ [childPolicy]: {} }] } },
    ],
  };
  return new EchoClient(`ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(',')}`, {
    'grpc.service_config': JSON.stringify(serviceConfig),
    'grpc.initial_reconnect_backoff_ms': 100,
  });
}

async function answers(client: EchoClient, calls: number): Promise<Set<string>> {
  const names = new Set<string>();
  for (let i = 0; i < calls; i++) names.add(await client.say());
  return names;
}

describe('our policies under a channel of grpc-js', () => {
  let backends: EchoBackend[];
  let client: EchoClient;

  beforeEach(async () => {
    backends = await Promise.all([EchoBackend.start('a'), EchoBackend.start('b')]);
  });

  afterEach(() => {
    client.close();
    for (const backend of backends) backend.stop();
    expect(errors).toEqual([]);
  });

  const ports = () => backends.map((backend) => backend.port);

  it('reach every backend', async () => {
    client = createClient(ports(), 'round_robin');
    await eventually(
      () => answers(client, 4),
      (names) => names.size === 2,
    );
    expect(backends.map((backend) => backend.peers.size)).toEqual([1, 1]);
  });

  it('see which subchannels are in use, and which have been released', async () => {
    client = createClient(ports(), 'round_robin');
    await eventually(
      () => answers(client, 4),
      (names) => names.size === 2,
    );
    const inUse = () => created.filter(isReferenced).length;
    expect(inUse()).toBe(2);
    client.close();
    expect(inUse()).toBe(0);
  });

  it('make use of a policy registered with grpc-js', async () => {
    client = createClient(ports(), 'pick_first');
    expect(await answers(client, 4)).toEqual(new Set(['a']));
  });

  it.each(childPolicies)('continue with the remaining backend, with %s', async (childPolicy) => {
    client = createClient(ports(), childPolicy);
    await client.say();
    backends[0]?.stop();
    await eventually(
      () => answers(client, 4).catch(() => new Set<string>()),
      (names) => names.size === 1 && names.has('b'),
    );
  });

  it.each(childPolicies)('fail calls with the cause, and recover, with %s', async (childPolicy) => {
    const [backend] = backends;
    const port = backend?.port ?? 0;
    backend?.stop();
    client = createClient([port], childPolicy);
    const { code, details } = await client.failure();
    expect(code).toBe(Status.UNAVAILABLE);
    expect(details).toContain('connect ECONNREFUSED');
    expect(details).toContain(`127.0.0.1:${port}`);
    await backend?.listen();
    await eventually(
      () => client.say().catch(() => ''),
      (name) => name === 'a',
    );
  });
});
