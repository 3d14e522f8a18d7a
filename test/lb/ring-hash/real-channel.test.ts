// ring_hash under a plain channel of grpc-js, over real sockets.

import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { XxHash64 } from '../../../src/util/hashes';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { registerRegistry } from '../../support/register-registry';
import { createRingHashPolicyType } from '../../../src/lb/ring-hash/balancer';
import { systemClock } from '../../../src/util/clock';
import { readFeatureFlags } from '../../../src/util/feature-flags';
import { systemRandom } from '../../../src/util/random';
import { EchoBackend, EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';

const errors: string[] = [];
const registry = new LbPolicyRegistry({
  // Not ready yet: the first calls wait for it.
  policies: [
    createRingHashPolicyType({
      hash: new XxHash64(),
      flags: readFeatureFlags({}),
      limits: DEFAULT_LIMITS,
    }),
  ],
});
registerRegistry(registry, () => ({
  clock: systemClock,
  random: systemRandom,
  logger: { trace() {}, info() {}, error: (text) => errors.push(text()) },
  policies: registry,
}));

const options = {
  'grpc.service_config': JSON.stringify({
    loadBalancingConfig: [{ ring_hash_experimental: { requestHashHeader: 'user' } }],
  }),
  'grpc.initial_reconnect_backoff_ms': 100,
};

function byUser(user: string): { metadata: Metadata } {
  const metadata = new Metadata();
  metadata.set('user', user);
  return { metadata };
}

describe('ring_hash under a channel of grpc-js', () => {
  let backends: EchoBackend[];
  let target: string;
  let client: EchoClient;

  beforeEach(async () => {
    backends = await Promise.all(['a', 'b', 'c', 'd'].map((name) => EchoBackend.start(name)));
    target = `ipv4:${backends.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
    client = new EchoClient(target, options);
  });

  afterEach(() => {
    client.close();
    for (const backend of backends) backend.stop();
    expect(errors).toEqual([]);
  });

  const users = Array.from({ length: 60 }, (_, i) => `user ${i}`);

  async function answers(): Promise<string[]> {
    return Promise.all(users.map((user) => client.say(byUser(user))));
  }

  it('sends each user to a backend of its own, again and again', async () => {
    const first = await answers();
    expect(await answers()).toEqual(first);
    // 15 users each, with a standard deviation of 4: none of the four is left out.
    expect(new Set(first)).toEqual(new Set(['a', 'b', 'c', 'd']));
    expect(backends.map(({ peers }) => peers.size)).toEqual([1, 1, 1, 1]);
  });

  it('connects only to the backend that is called', async () => {
    const name = await client.say(byUser('one'));
    for (let i = 0; i < 10; i++) expect(await client.say(byUser('one'))).toBe(name);
    expect(backends.filter(({ calls }) => calls > 0).map((backend) => backend.name)).toEqual([
      name,
    ]);
    expect(backends.reduce((sum, { peers }) => sum + peers.size, 0)).toBe(1);
  });

  it('moves only the users of a removed backend, and moves them back', async () => {
    const before = await answers();
    const gone = backends.find(({ name }) => name === before[0]);
    gone?.stop();
    // Calls on the connection that breaks may fail; those after it find another backend.
    const during = await eventually(
      () => answers().catch((): string[] => []),
      (names) => names.length > 0 && !names.includes(before[0] ?? ''),
    );
    for (const [i, name] of before.entries()) {
      if (name !== gone?.name) expect(during[i]).toBe(name);
    }
    await gone?.listen();
    const after = await eventually(answers, (names) => names[0] === before[0]);
    expect(after).toEqual(before);
  });

  it('sends calls without a user to all backends in time', async () => {
    const names = new Set<string>();
    await eventually(
      async () => names.add(await client.say()).size,
      (size) => size === 4,
    );
  });

  it('fails calls with the reason when no backend can be reached', async () => {
    for (const backend of backends) backend.stop();
    const { code, details } = await client.failure(byUser('one'));
    expect(code).toBe(status.UNAVAILABLE);
    expect(details).toContain('ECONNREFUSED');
  });

  it('becomes READY for an application that waits without a call', async () => {
    const waiting = new Client(target, credentials.createInsecure(), options);
    const error = await new Promise((resolve) =>
      waiting.waitForReady(Date.now() + 20_000, resolve),
    );
    waiting.close();
    expect(error).toBeUndefined();
  });
});
