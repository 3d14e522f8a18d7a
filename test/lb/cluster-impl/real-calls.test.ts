import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { LbPolicyRegistry } from '../../../src/lb/registry/lb-policy-registry';
import { registerRegistry } from '../../support/register-registry';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { systemClock } from '../../../src/util/clock';
import { silentLogger } from '../../../src/util/logger';
import { systemRandom } from '../../../src/util/random';
import { echoMethod } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { withJson } from '../../support/internal-policy-json';
import { SlowServer } from '../../support/slow-server';

const { CANCELLED, DEADLINE_EXCEEDED, INTERNAL, OK, UNAVAILABLE } = status;

const counters = new CallCounterMap(systemClock);

interface Outcome {
  readonly code: status;
  readonly details: string;
}

/** A call under way. */
interface RunningCall {
  readonly outcome: Promise<Outcome>;
  cancel(): void;
}

/** A client whose only policy is cluster_impl. */
class LimitedClient {
  private readonly client: Client;

  constructor(port: number, config: object) {
    const policy = { cluster: 'c', childPolicy: [{ round_robin: {} }], ...config };
    this.client = new Client(`ipv4:127.0.0.1:${port}`, credentials.createInsecure(), {
      'grpc.service_config': JSON.stringify({
        loadBalancingConfig: [{ xds_cluster_impl_experimental: policy }],
      }),
      // One channel each, as different applications in a process would have.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  call(request: 'fast' | 'slow', metadata = new Metadata(), deadlineMs = 5000): RunningCall {
    const same = (buffer: Buffer) => buffer;
    let cancel = () => {};
    const outcome = new Promise<Outcome>((resolve) => {
      const call = this.client.makeUnaryRequest(
        echoMethod.path,
        same,
        same,
        Buffer.from(request),
        metadata,
        { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null) => resolve(error ?? { code: OK, details: '' }),
      );
      cancel = () => call.cancel();
    });
    return { outcome, cancel };
  }

  close(): void {
    this.client.close();
  }
}

/** How many calls the process has under way. */
function countCalls(): number {
  const hold = counters.acquire('c', '');
  hold.release();
  return hold.counter.count;
}

const OVER_LIMIT = {
  code: UNAVAILABLE,
  details:
    'Cluster "c" has reached its limit of 2 concurrent requests: see max_requests of its circuit breakers',
};

describe('cluster_impl with real calls', () => {
  const server = new SlowServer();
  const clients: LimitedClient[] = [];

  beforeAll(async () => {
    const registry = new LbPolicyRegistry({
      policies: [withJson(createClusterImplPolicyType({ counters })), roundRobinPolicy],
    });
    registerRegistry(registry, () => ({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      policies: registry,
    }));
    await server.start();
  });
  afterEach(async () => {
    server.answer();
    for (const client of clients.splice(0)) client.close();
    await eventually(countCalls, (count) => count === 0);
  });
  afterAll(() => server.stop());

  async function connect(config: object = { maxConcurrentRequests: 2 }): Promise<LimitedClient> {
    const client = new LimitedClient(server.port, config);
    clients.push(client);
    await client.call('fast').outcome;
    return client;
  }

  const arrived = (calls: number) =>
    eventually(
      () => server.waiting.length,
      (waiting) => waiting === calls,
    );

  it('drops the third call of two, and takes another when one has ended', async () => {
    const client = await connect();
    const running = [client.call('slow'), client.call('slow')];
    await arrived(2);
    expect(await client.call('slow').outcome).toMatchObject(OVER_LIMIT);
    server.answer();
    await Promise.all(running.map((call) => call.outcome));
    expect(await client.call('fast').outcome).toMatchObject({ code: OK });
  });

  it('keeps the limit when all calls are made in one turn', async () => {
    const client = await connect();
    const calls = Array.from({ length: 50 }, () => client.call('slow'));
    await arrived(2);
    server.answer();
    const outcomes = await Promise.all(calls.map((call) => call.outcome));
    expect(outcomes.filter(({ code }) => code === OK)).toHaveLength(2);
    expect(outcomes.filter(({ details }) => details === OVER_LIMIT.details)).toHaveLength(48);
  });

  it('does not keep a call waiting that would wait for ready', async () => {
    const client = await connect({ maxConcurrentRequests: 0 });
    const patient = new Metadata({ waitForReady: true });
    expect(await client.call('fast', patient).outcome).toMatchObject({
      code: UNAVAILABLE,
      details:
        'Cluster "c" has reached its limit of 0 concurrent requests: see max_requests of its circuit breakers',
    });
  });

  it('counts a call no more that was cancelled, or whose deadline has passed', async () => {
    const client = await connect();
    const cancelled = client.call('slow');
    await arrived(1);
    // It may be over before the server has it.
    const late = client.call('slow', new Metadata(), 100);
    cancelled.cancel();
    expect(await cancelled.outcome).toMatchObject({ code: CANCELLED });
    expect(await late.outcome).toMatchObject({ code: DEADLINE_EXCEEDED });
    await eventually(countCalls, (count) => count === 0);
  });

  it('counts a call no more that grpc-js starts after having failed it', async () => {
    const client = await connect();
    const metadata = new Metadata();
    metadata.add('authorization', 'one');
    metadata.add('authorization', 'two');
    for (let i = 0; i < 5; i++) {
      expect(await client.call('fast', metadata).outcome).toMatchObject({
        code: INTERNAL,
        details: '"authorization" metadata cannot have multiple values',
      });
      await eventually(countCalls, (count) => count === 0);
    }
  });

  it('keeps counting correctly when the channel is closed during a call', async () => {
    const client = await connect();
    client.call('slow');
    await arrived(1);
    client.close();
    expect(countCalls()).toBe(1);
    server.answer();
    await eventually(countCalls, (count) => count === 0);
    expect(counters.size).toBe(0);
  });
});
